"""The inner loops of questions about groups that are nested deeply."""
