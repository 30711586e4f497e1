"""Result caching: the way of an answered query is remembered at the nodes along it.

Loo (2006), section 8.2. Parts of best paths are best, so a later search for the same destination
ends wherever a node remembers the rest of the way. The paper remembers what passes on its way back
to the source; but not all of that turns out best. Here an answer that has not changed for a second
is told to the nodes on its path.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from whence.network.rewrite.moved import Moved
from whence.network.rewrite.places import fresh
from whence.network.rewrite.terms import substituted
from whence.syntax.ndlog import parse_ndlog
from whence.syntax.nodes import Constant, Program, Rule, Term, Variable

SETTLED: Final = 1
"""Seconds after which an answer that did not change is taken to be the best."""

_TEXT: Final = """
materialize({query}, infinity, infinity, keys(1,2)).
materialize({seen}, {life}, infinity, keys(1,2,3)).
materialize({replied}, {life}, infinity, keys(1,2,3)).
materialize({known}, {life}, infinity, keys(1,2)).
materialize({cache}, {life}, infinity, keys(1,2)).

// the search, along all links from the source, as far as the destination or one who knows the rest
rc1 {search}(@D,S,T,P,C) :- {query}(@S,T), !{cache}(@S,T,_,_), #{link}(@S,D,{first}),
    P = f_init(S,D).
rc2 {better}(@Z,S,T,P,C) :- {search}(@Z,S,T,P,C), !{seen}(@Z,S,T,_).
rc3 {better}(@Z,S,T,P,C) :- {search}(@Z,S,T,P,C), {seen}(@Z,S,T,C0), C < C0.
rc4 {seen}(@Z,S,T,C) :- {better}(@Z,S,T,P,C).
rc5 {search}(@D,S,T,P,C) :- {better}(@Z,S,T,P1,C1), Z != T, !{cache}(@Z,T,_,_),
    #{link}(@Z,D,{metrics}), f_inPath(P1,D) = false, C = C1 + C2, P = f_concatPath(P1,D).
// what is found goes back the way it came, unless something better has
rc6 {reply}(@T,S,T,P,C,P) :- {better}(@T,S,T,P,C).
rc7 {reply}(@Z,S,T,P,C,P1) :- {better}(@Z,S,T,P1,C1), Z != T, {cache}(@Z,T,P2,C2), C = C1 + C2,
    R = f_tail(P2), P = f_concat(P1,R).
rc8 {good}(@X,S,T,P,C,R) :- {reply}(@X,S,T,P,C,R), !{replied}(@X,S,T,_).
rc9 {good}(@X,S,T,P,C,R) :- {reply}(@X,S,T,P,C,R), {replied}(@X,S,T,C0), C < C0.
rc10 {replied}(@X,S,T,C) :- {good}(@X,S,T,P,C,R).
rc11 {reply}(@Y,S,T,P,C,R) :- {good}(@X,S,T,P,C,R1), X != S, #{link}(@X,Y,{any}),
    R = f_removeLast(R1), Y = f_last(R).
rc12 {known}(@S,T,P,C,N) :- {good}(@S,S,T,P,C,R), N = f_now().
rc13 {known}(@S,T,P,C,N) :- {query}(@S,T), {cache}(@S,T,P,C), N = f_now().
// an answer that has settled is told along its way
rc14 {tell}(@S,T,P,C) :- periodic(@S,E,1), {known}(@S,T,P,C,N), f_now() - N > {settled},
    !{cache}(@S,T,_,_).
rc15 {cache}(@X,T,P,C) :- {tell}(@X,T,P,C).
rc16 {tell}(@Y,T,R,C) :- {tell}(@X,T,P,C1), X != T, R = f_tail(P), Y = f_head(R),
    #{link}(@X,Y,{metrics}), C = C1 - C2.
"""


_NAMES: Final = (
    "search", "seen", "better", "reply", "good", "replied", "known", "cache", "tell",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Asked:
    """The columns of the relation that is asked for."""

    width: int
    source: int
    destination: int
    path: int
    cost: int


def cache_results(program: Program, moved: Moved, seconds: float) -> Program | str:
    """Return a program that answers queries by searches that remember; or why there is none.

    Queries are rows (source, destination) of `magicQuery`. What is known is soft state, for so many
    seconds; a search is made of events.
    """
    asked = _columns(moved)
    if isinstance(asked, str):
        return asked
    paths = moved.paths
    fold = next(c for c in paths.columns if c.kind == "fold")
    words = {name: fresh(program, f"{moved.asked}{name.capitalize()}") for name in _NAMES}
    metrics = len(paths.link.args) - 2
    at = fold.metric - 2 if isinstance(fold.metric, int) else -1
    words |= {
        "query": fresh(program, "magicQuery"),
        "link": paths.link.relation,
        "life": f"{seconds:g}",
        "settled": str(SETTLED),
        "first": _listed(metrics, at, "C"),
        "metrics": _listed(metrics, at, "C2"),
        "any": _listed(metrics, -1, ""),
    }
    made = parse_ndlog(_TEXT.format(**words).replace(",)", ")"))
    rules = [_per_link(rule, fold.metric) for rule in made.rules]
    rules.append(_answer(moved, asked, words["known"]))
    rules.extend(_facts(program, moved, asked, words["query"]))
    gone = {rule.head.relation for rule in (*moved.rules, paths.base)}
    kept = [rule for rule in program.rules if rule.head.relation not in gone]
    tables = [
        replace(table, lifetime=seconds, keys=(asked.source + 1, asked.destination + 1))
        if table.relation == moved.asked
        else table
        for table in program.tables
        if table.relation == moved.asked or table.relation not in gone
    ]
    return replace(program, rules=(*kept, *rules), tables=(*tables, *made.tables))


def _columns(moved: Moved) -> _Asked | str:
    pair = moved.columns[moved.asked]
    folds = [i for i, c in enumerate(moved.paths.columns) if c.kind == "fold"]
    if pair.path is None or len(folds) != 1 or moved.paths.bounds:
        return f"`{moved.asked}` is not a path with one cost"
    if moved.paths.columns[folds[0]].functor not in ("+", "f_sum"):
        return "the cost of a path is not the sum of its links, and the rest of it is not known"
    head = next(r.head for r in moved.rules if r.head.relation == moved.asked)
    taken = {pair.source, pair.destination, pair.path}
    cost = [i for i in range(len(head.args)) if i not in taken]
    if len(cost) != 1:
        return f"`{moved.asked}` is not a path with one cost"
    return _Asked(len(head.args), pair.source, pair.destination, pair.path, cost[0])


def _listed(count: int, at: int, name: str) -> str:
    return ",".join(name if i == at else "_" for i in range(count))


def _per_link(rule: Rule, metric: int | Constant | None) -> Rule:
    """Return a rule in which each link counts the same, if that is how walks are measured."""
    if not isinstance(metric, Constant):
        return rule
    name = {"rc1": "C", "rc5": "C2", "rc16": "C2"}.get(rule.name)
    return rule if name is None else substituted(rule, {name: metric})


def _answer(moved: Moved, asked: _Asked, known: str) -> Rule:
    head = next(r.head for r in moved.rules if r.head.relation == moved.asked)
    args: list[Term] = [Variable("C")] * asked.width
    args[asked.source], args[asked.destination] = Variable("S"), Variable("T")
    args[asked.path] = Variable("P")
    made = parse_ndlog(f"rc17 x(@S) :- {known}(@S,T,P,C,N).").rules[0]
    return replace(made, heads=(replace(head, args=tuple(args), location=asked.source),))


def _facts(program: Program, moved: Moved, asked: _Asked, query: str) -> Iterable[Rule]:
    for one in program.queries:
        if one.atom.relation == moved.asked:
            ends = one.atom.args[asked.source], one.atom.args[asked.destination]
            if all(isinstance(end, Constant) for end in ends):
                (rule,) = parse_ndlog(f"{query}(@x,y).").rules
                yield replace(rule, heads=(replace(rule.head, args=ends),))
