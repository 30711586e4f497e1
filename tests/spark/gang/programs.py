"""Groups written by hand, as cutting a program makes them."""

from __future__ import annotations

from spark.gang.threads import copy, hand_made
from whence.engine.spark.model import Ship

CLOSURE = hand_made(
    """
    .decl edge_0(x: number, y: number)
    .decl path_out(x: number, y: number)
    .decl path_0(x: number, y: number)
    .decl path_1(x: number, y: number)
    path_out(x, y) :- edge_0(x, y).
    path_out(x, z) :- path_1(x, y), path_0(y, z).
    path_0(x, y) :- path_out(x, y).
    path_1(x, y) :- path_0(x, y).
    """,
    reads=[copy("edge", 0)],
    writes=[copy("path", 0)],
    ships=[Ship("path", "path_out", copy("path", 0), (copy("path", 1),))],
)
"""Non-linear closure: each tuple at two tasks."""

SAME_GENERATION = hand_made(
    """
    .decl parent_all(c: number, p: number)
    .decl parent_1(c: number, p: number)
    .decl sg_out(x: number, y: number)
    .decl sg_0(x: number, y: number)
    sg_out(x, y) :- parent_1(x, p), parent_all(y, p), x != y.
    sg_out(x, y) :- parent_all(x, a), sg_0(a, b), parent_all(y, b).
    sg_0(x, y) :- sg_out(x, y).
    """,
    reads=[copy("parent", "all"), copy("parent", 1)],
    writes=[copy("sg", 0)],
    ships=[Ship("sg", "sg_out", copy("sg", 0))],
)

CSPA = hand_made(
    """
    .decl assign_all(d: number, s: number)
    .decl assign_1(d: number, s: number)
    .decl dereference_all(d: number, s: number)
    .decl vf_out(x: number, y: number)
    .decl vf_0(x: number, y: number)
    .decl vf_1(x: number, y: number)
    .decl ma_out(x: number, y: number)
    .decl ma_0(x: number, y: number)
    .decl va_out(x: number, y: number)
    .decl va_0(x: number, y: number)
    .decl vm_out(x: number, w: number)
    .decl vm_1(x: number, w: number)
    vf_out(y, x) :- assign_1(y, x).
    vf_out(x, y) :- assign_all(x, z), ma_0(z, y).
    vf_out(x, y) :- vf_1(x, z), vf_0(z, y).
    ma_out(x, w) :- dereference_all(y, x), va_0(y, z), dereference_all(z, w).
    va_out(x, y) :- vf_0(z, x), vf_0(z, y).
    vm_out(x, w) :- vf_0(z, x), ma_0(z, w).
    va_out(x, y) :- vm_1(x, w), vf_0(w, y).
    vf_out(x, x) :- assign_1(x, _).
    vf_out(x, x) :- assign_1(_, x).
    ma_out(x, x) :- assign_1(_, x).
    ma_out(x, x) :- assign_1(x, _).
    vf_0(x, y) :- vf_out(x, y).
    vf_1(x, y) :- vf_0(x, y).
    ma_0(x, y) :- ma_out(x, y).
    va_0(x, y) :- va_out(x, y).
    vm_1(x, y) :- vm_out(x, y).
    """,
    reads=[copy("assign", "all"), copy("assign", 1), copy("dereference", "all")],
    writes=[copy("vf", 0), copy("va", 0), copy("ma", 0)],
    ships=[
        Ship("vf", "vf_out", copy("vf", 0), (copy("vf", 1),)),
        Ship("ma", "ma_out", copy("ma", 0)),
        Ship("va", "va_out", copy("va", 0)),
        Ship("vm", "vm_out", copy("vm", 1)),
    ],
)

EVERYWHERE_CLOSURE = hand_made(
    """
    .decl edge_0(x: number, y: number)
    .decl path_out(x: number, y: number)
    .decl path_all(x: number, y: number)
    path_out(x, y) :- edge_0(x, y).
    path_out(x, z) :- edge_0(x, y), path_all(y, z).
    path_all(x, y) :- path_out(x, y).
    """,
    reads=[copy("edge", 0)],
    writes=[copy("path", "all")],
    ships=[Ship("path", "path_out", copy("path", "all"))],
)
"""Closure whose every tuple is at every task."""

SHORTEST = hand_made(
    """
    .decl edge_0(x: number, y: number, d: number)
    .decl path_out(x: number, y: number, d: number)
    .decl path_0(x: number, y: number, d: number)
    .decl path_1(x: number, y: number, d: number)
    path_out(x, y, d) :- edge_0(x, y, d).
    path_out(x, z, d + e) :- path_1(x, y, d), path_0(y, z, e).
    path_0(x, y, d) :- path_out(x, y, d).
    path_1(x, y, d) :- path_0(x, y, d).
    path_out(x, y, d) <= path_out(x, y, e) :- e < d.
    path_0(x, y, d) <= path_0(x, y, e) :- e < d.
    path_1(x, y, d) <= path_1(x, y, e) :- e < d.
    """,
    reads=[copy("edge", 0)],
    writes=[copy("path", 0)],
    ships=[Ship("path", "path_out", copy("path", 0), (copy("path", 1),))],
)
