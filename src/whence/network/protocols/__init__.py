"""Protocols and queries of networks as programs of NDlog: one file each, listed in `library.py`."""
