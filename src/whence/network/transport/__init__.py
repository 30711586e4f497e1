"""Transports: bytes between processors, simulated or over UDP, in order, once, authenticated."""
