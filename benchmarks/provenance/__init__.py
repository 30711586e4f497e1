"""Benchmarks of annotations and explanations."""
