"""Rules as strands: what starts at a changed tuple, joins tables, and ends at a head."""
