"""The inner loops, generic in arity: rows are 2-D int64 arrays, columns are named by small arrays.

Nothing here allocates. A kernel that can run out of room or range says how far it got, and its
caller makes room and calls it again from there.
"""
