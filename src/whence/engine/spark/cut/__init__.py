"""Cutting a plan for Spark: which tuples are where, who sends what, and which jobs that takes."""
