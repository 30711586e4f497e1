"""Networks as a whole: a program on a topology, run until it is quiet, and what came of it."""
