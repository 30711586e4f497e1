"""Benchmarks of networks: firings of rules, and what provenance costs."""
