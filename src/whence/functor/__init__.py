"""Functors: the operations inside terms, each with a scalar and an array form, in one table."""
