"""Why a fact does not hold: for each rule that could derive it, the instances that fail least.

Values come from the fact and from what holds; no other values are thought of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations, groupby, islice, zip_longest
from sys import maxsize
from typing import TypeAlias

from whence.analysis.traverse import level, level_names
from whence.engine.solver import Bindings, Body, Names, is_ready, names_of
from whence.explain.model import Fact, Failed, Missing, Value, WhyNot
from whence.explain.premises import is_of_head, literal_text, pattern_of
from whence.explain.rules import HeadRule
from whence.explain.search import Exhausted, Search
from whence.syntax.nodes import Aggregate, Atom, Constraint, Literal, Negation
from whence.syntax.printer import print_literal
from whence.syntax.tuples import value_text

_SETS = 10_000
"""Sets of literals of one rule that are left out, at most."""

_SHARE = 8
"""Each set may take so small a part of the tuples that a rule may look at."""


_Found: TypeAlias = list[tuple[Failed, list[Fact | None]]]
"""Failed instances, each with the facts that it lacks where they are known."""

_Cost: TypeAlias = tuple[bool, int]
"""Whether an instance would derive another fact, and how many literals it lacks."""

_NONE: tuple[_Cost, list[_Found]] = (True, maxsize), []


@dataclass(slots=True)
class _Asking:
    """What one question shares with those about what is missing."""

    search: Search
    nearest: int
    limit: int
    above: set[Fact] = field(default_factory=set)
    """The facts whose absence is being explained: going round in a circle explains nothing."""


@dataclass(frozen=True, slots=True)
class _Left:
    """A rule's body without some literals: what can be solved, and what waits for the others."""

    out: Body
    solved: Body
    open: Body


def why_not(search: Search, fact: Fact, *, depth: int, nearest: int, limit: int) -> WhyNot:
    """Return the nearest failures of each rule; each rule looks at `limit` tuples at most."""
    return _why_not(_Asking(search, nearest, limit), fact, depth)


def _why_not(asking: _Asking, fact: Fact, depth: int) -> WhyNot:
    rules = asking.search.rules.of(fact.relation)
    failed: list[Failed] = []
    reasons: list[str] = []
    if not rules or asking.search.tuples.has_base(fact.relation):
        instead = _in_its_place(asking.search, fact)
        if instead is not None:
            reasons.append(f"whether or not it was given, `{instead}` takes its place")
        elif rules:
            reasons.append("it was not given")
        else:
            reasons.append(f"`{fact.relation}` has no rules, and the fact was not given")
    if fact.relation in asking.search.tuples.selected:
        reasons.append(f"only the best tuples of `{fact.relation}` are followed")
    asking.above.add(fact)
    for _, alternatives in groupby(rules, lambda rule: rule.number):
        found = [_failures(asking, rule, fact, reasons) for rule in alternatives]
        nearest = min(cost for cost, _ in found)
        by_set = [lacking for cost, sets in found if cost == nearest for lacking in sets]
        for failure, facts in _in_turn(by_set, asking.nearest):
            failed.append(_gone_into(asking, failure, facts, depth))
    asking.above.discard(fact)
    return WhyNot(fact, tuple(failed), tuple(dict.fromkeys(reasons)))


def _gone_into(
    asking: _Asking, failure: Failed, facts: Sequence[Fact | None], depth: int
) -> Failed:
    """Explain what is missing in turn, where it is one fact of a relation that has rules."""
    if depth <= 0:
        return failure
    missing = []
    for item, fact in zip(failure.missing, facts, strict=True):
        derived = fact is not None and asking.search.rules.of(fact.relation)
        if fact is not None and derived and fact not in asking.above:
            item = replace(item, why=_why_not(asking, fact, depth - 1))
        missing.append(item)
    return replace(failure, missing=tuple(missing))


# ── one rule ──


def _failures(
    asking: _Asking, rule: HeadRule, fact: Fact, reasons: list[str]
) -> tuple[_Cost, list[_Found]]:
    """Return the instances that lack the fewest literals, by the set of literals they lack.

    Ever larger sets of literals are left out, until the rest holds: what was left out is missing
    then. That the head is another fact counts for more than any literal of the body.
    """
    given, body = _from_head(asking.search, rule, fact)
    if given is None:
        reasons.append(f"rule {rule.number} derives other facts: {print_literal(_head(rule))}")
        return _NONE
    try:
        whole = asking.search.limited(asking.limit)
        if any(True for _ in whole.solve(body, given, rule.scope)):
            reasons.append(f"rule {rule.number} derives it, but {_dropped(asking.search, fact)}")
            return _NONE
    except Exhausted:
        pass
    found: list[_Found] = []
    spent, cost = 0, _NONE[0]
    for tried, (others, places) in enumerate(_sets(body)):
        if any(found) and (others, len(places)) > cost:
            break
        cost = others, len(places)
        if tried == _SETS or spent > asking.limit:
            reasons.append(f"the search of rule {rule.number} was cut short")
            break
        search = asking.search.limited(max(asking.limit // _SHARE, 1))
        lacking: _Found = []
        try:
            left = _left(body, places, given, rule.scope)
            for failure in islice(_lacking(search, rule, left, given), asking.nearest):
                lacking.append(failure)
        except Exhausted:
            reasons.append(f"the search of rule {rule.number} was cut short")
        spent += search.steps
        found.append(lacking)
    return (cost, found) if any(found) else _NONE


def _sets(body: Body) -> Iterator[tuple[bool, tuple[int, ...]]]:
    """Yield sets of literals to leave out, small ones first; last those with parts of the head."""
    for with_head in (False, True):
        for size in range(1, len(body) + 1):
            for places in combinations(range(len(body)), size):
                if any(is_of_head(body[place]) for place in places) is with_head:
                    yield with_head, places


def _in_turn(by_set: list[_Found], nearest: int) -> _Found:
    """Return one failure of each set of literals, then another of each with other values."""
    turns = chain.from_iterable(zip_longest(*by_set))
    return list(islice((found for found in turns if found is not None), nearest))


def _from_head(search: Search, rule: HeadRule, fact: Fact) -> tuple[Bindings | None, Body]:
    """Return what the fact says of the variables, None if it cannot be the head, and the rest."""
    given: Bindings | None = rule.given(fact.row)
    if given is None:
        return None, ()
    body: list[Literal] = []
    for literal in rule.body:
        aggregates = any(isinstance(node, Aggregate) for node in level(literal))
        if aggregates or not is_of_head(literal):
            body.append(literal)
        elif is_ready(literal, given.keys(), rule.scope):
            matched = next(search.satisfy(literal, given, rule.scope), None)
            if matched is None:
                return None, ()
            given = matched
        else:
            body.append(literal)
    return given, tuple(body)


def _head(rule: HeadRule) -> Atom:
    return next(head for head in rule.source.heads if head.relation == rule.relation)


def _left(body: Body, places: Sequence[int], given: Bindings, scope: Names) -> _Left:
    """Leave literals out; what the rest binds does not depend on values."""
    bound = set(given)
    waiting = [i for i in range(len(body)) if i not in places]
    solved: list[int] = []
    while ready := {i for i in waiting if is_ready(body[i], bound, scope)}:
        for i in ready:
            if not isinstance(body[i], Negation):
                bound |= level_names(body[i]).keys()
        solved += ready
        waiting = [i for i in waiting if i not in ready]
    out, rest, later = ([body[i] for i in some] for some in (places, sorted(solved), waiting))
    return _Left(tuple(out), tuple(rest), tuple(later))


def _lacking(
    search: Search, rule: HeadRule, left: _Left, given: Bindings
) -> Iterator[tuple[Failed, list[Fact | None]]]:
    """Yield the instances in which all literals left out are missing; wildcards tell none apart."""
    scope = rule.scope
    told: set[tuple[object, ...]] = set()
    for found in search.solve(left.solved, given, scope):
        if not all(_is_missing(search, literal, found, scope) for literal in left.out):
            continue
        holds = [o for o in left.solved if not is_of_head(o)]
        failed = Failed(
            rule.source,
            rule.number,
            tuple([(name, found[name]) for name in rule.names if name in found]),
            tuple([literal_text(search, o, found, scope) for o in holds]),
            tuple([_missing(search, o, found, scope) for o in left.out]),
            tuple([literal_text(search, o, found, scope) for o in left.open]),
        )
        if (failed.bindings, failed.missing) not in told:
            told.add((failed.bindings, failed.missing))
            yield failed, [_lacked(search, o, found, scope) for o in left.out]


def _is_missing(search: Search, literal: Literal, found: Bindings, scope: Names) -> bool:
    """Say whether a literal is known not to hold."""
    if not is_ready(literal, found.keys(), scope):
        return False
    return not any(True for _ in search.satisfy(literal, found, scope))


def _lacked(search: Search, literal: Literal, found: Bindings, scope: Names) -> Fact | None:
    """Return the fact that an atom is, None where some of its values are not known."""
    if not isinstance(literal, Atom):
        return None
    known = search.known(literal, found, scope)
    if known is None or len(known) < len(literal.args):
        return None
    return Fact(literal.relation, tuple([known[c] for c in range(len(literal.args))]))


def _missing(search: Search, literal: Literal, found: Bindings, scope: Names) -> Missing:
    text = literal_text(search, literal, found, scope)
    match literal:
        case Atom():
            pattern = pattern_of(search, literal, found, scope)
            return Missing("fact", text, literal.relation, pattern)
        case Negation(literal=Atom() as atom):
            pattern = pattern_of(search, atom, found, scope)
            return Missing("negation", text, atom.relation, pattern)
        case _:
            return Missing("constraint", text + _results(search, literal, found, scope))


def _results(search: Search, literal: Literal, found: Bindings, scope: Names) -> str:
    """Return what the aggregates of a constraint come to, in words."""
    if not isinstance(literal, Constraint):
        return ""
    aggregates = [node for node in level(literal) if isinstance(node, Aggregate)]
    values: list[Value] = [
        value for term in aggregates for value in search.values(term, found, scope)
    ]
    if not aggregates:
        return ""
    if len(values) < len(aggregates):
        return ", which has no value"
    return f", which is {' and '.join(map(value_text, values))}"


def _dropped(search: Search, fact: Fact) -> str:
    """Return why a fact is not there though a rule derives it."""
    instead = _in_its_place(search, fact)
    if instead is not None:
        return f"`{instead}` takes its place"
    return "it was not kept: only some tuples of the relation are"


def _in_its_place(search: Search, fact: Fact) -> Fact | None:
    """Return a fact that dominates this one."""
    for rule in search.rules.subsumptions:
        if rule.dominated.relation != fact.relation:
            continue
        scope = names_of(rule.dominated, rule.dominating, *rule.body)
        for given in search.unify(rule.dominated.args, fact.row, {}, scope):
            for row in search.tuples.matching(fact.relation, {}):
                for found in search.unify(rule.dominating.args, row, given, scope):
                    if any(True for _ in search.solve(rule.body, found, scope)):
                        return Fact(fact.relation, row)
    return None
