"""The experiments of the papers on networks, as functions that measure and say what they found."""
