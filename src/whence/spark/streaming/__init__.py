"""Views of streams: batches of updates in, exact changes and current views out."""
