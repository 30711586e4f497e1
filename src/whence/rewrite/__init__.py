"""Programs to programs with the same answers: one file per pass, listed in pipeline.py."""
