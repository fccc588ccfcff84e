"""Networks for point clouds, of operations that are chosen one by one (HGNAS)."""
