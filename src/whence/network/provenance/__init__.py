"""Provenance of tuples spread over processors: schemes of annotations, and how they ship."""
