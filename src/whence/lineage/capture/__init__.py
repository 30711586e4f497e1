"""Capture of row-level lineage from PySpark jobs: `trace` gives a session that records it."""

from whence.lineage.capture.tracer import trace

__all__ = ["trace"]
