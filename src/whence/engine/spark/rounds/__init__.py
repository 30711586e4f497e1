"""Evaluation by rounds: every relation is a frame, and every round a Spark job over frames."""
