"""Views: the relations of a program kept current while base facts come, go and expire."""
