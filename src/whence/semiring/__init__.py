"""Semirings: what annotations of facts are, and how they combine."""
