"""Experiments of papers, done again with Whence: `python -m experiments`."""
