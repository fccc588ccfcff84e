"""Networks of points on an array: a cloud enters, its nearest points are found, logits leave."""
