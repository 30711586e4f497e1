"""Measurements beside other systems: `python -m benchmarks`; see docs/howto/benchmark.md."""
