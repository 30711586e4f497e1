"""How fast views follow changes: `python -m benchmarks views`. Each section is its own process."""
