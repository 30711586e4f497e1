"""Networks of nodes that run NDlog rules and keep distributed views with provenance."""
