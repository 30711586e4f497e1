"""Whence on Spark: the same programs over frames, and views of streams."""
