"""NDlog programs to NDlog programs with the same answers and less traffic: one file per pass.

`passes.py` lists them in the order they run.
"""
