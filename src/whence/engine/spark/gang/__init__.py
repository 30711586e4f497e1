"""Tasks that run together: each holds its share, and new tuples go from task to task."""
