"""What holds of a program; changes nothing."""
