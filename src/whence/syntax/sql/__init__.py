"""Recursive SQL: statements that sqlglot parses become the same tree as rules do."""
