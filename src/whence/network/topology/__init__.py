"""Topologies: who has a link with whom, at which cost, latency and bandwidth; made or read."""
