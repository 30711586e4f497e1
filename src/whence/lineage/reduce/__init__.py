"""Reduction of PROV streams to what outputs and inputs have to do with each other."""
