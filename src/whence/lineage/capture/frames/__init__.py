"""Traced DataFrames: Spark's own, with hidden columns that say where rows come from."""
