"""Explanations: why a fact holds, why one does not, and what a change would do."""
