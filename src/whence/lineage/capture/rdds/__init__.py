"""Traced RDDs: Spark's own, with the number of the element that each comes from at hand."""
