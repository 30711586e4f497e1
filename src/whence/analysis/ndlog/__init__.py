"""What is known of an NDlog program before it runs: its mistakes, its kinds of state and rules."""
