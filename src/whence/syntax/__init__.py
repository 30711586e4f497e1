"""Dialects, their parsers and printers, and the one syntax tree they share."""
