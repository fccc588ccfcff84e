"""Back ends: a delivered design becomes a project folder of HLS C++, RTL and test vectors."""
