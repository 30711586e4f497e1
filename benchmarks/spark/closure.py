"""The case `tc_random` on Spark beside the embedded engine."""

from __future__ import annotations

from benchmarks.measured import tell
from benchmarks.spark.beside import measure
from benchmarks.spark.sessions import asked

if __name__ == "__main__":
    tell(measure("tc_random", asked()))
