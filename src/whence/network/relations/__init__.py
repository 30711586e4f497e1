"""What a node does with the tuples of a relation: streams, soft state, base tables, views."""
