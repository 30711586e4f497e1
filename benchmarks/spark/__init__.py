"""What the engine on Spark costs: beside the embedded one, beside loops by hand, beside GraphX."""
