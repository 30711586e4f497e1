"""Benchmarks of lineage: capture, the log, reduction, questions."""
