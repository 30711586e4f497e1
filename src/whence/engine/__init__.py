"""How plans are evaluated."""
