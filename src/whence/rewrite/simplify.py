"""Compute what is constant, replace what is equal, drop what is true or false.

A functor that would fault is left in place: the fault belongs to the run, and only if the rule
gets that far.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from whence.functor import COMPARISONS, FUNCTORS, FunctorFault
from whence.rewrite.terms import (
    as_rule,
    as_subsumption,
    is_deterministic,
    level_aggregates,
    names,
    substitute_rule,
    transform,
)
from whence.syntax.nodes import (
    Atom,
    Call,
    Constant,
    Constraint,
    Kind,
    Literal,
    Nil,
    Program,
    Rule,
    Subsumption,
    Term,
    Truth,
    Variable,
    Wildcard,
)

_SIMPLE = (Variable, Constant, Wildcard, Nil)
_FOLDED = ("=", "!=", "<", "<=", ">", ">=", "contains", "not_contains")


def simplify(program: Program, *, derivations: bool = False) -> Program:
    """Fold constants, merge equal variables, and drop literals and rules that say nothing.

    With `derivations` every fact keeps its derivations too: a literal or rule that is repeated
    is not dropped, nor one that derives a fact from itself, and no rule becomes a fact.

    >>> from whence.syntax.souffle import parse
    >>> program = parse("a(x, z) :- b(x, y), x = 3, y = z, b(3, z), true. a(1, 2) :- false.")
    >>> print(simplify(program))
    a(3, y) :- b(3, y).
    >>> print(simplify(program, derivations=True))
    a(3, y) :- b(3, y), b(3, y).
    """
    kept = (s for r in program.rules if (s := simplify_rule(r, derivations=derivations)))
    rules = tuple(kept) if derivations else _without_repeats(kept)
    subsumptions: list[Subsumption] = []
    for subsumption in program.subsumptions:
        simpler = simplify_rule(as_rule(subsumption))
        if simpler is not None:
            subsumptions.append(as_subsumption(simpler))
    return replace(program, rules=rules, subsumptions=tuple(subsumptions))


def simplify_rule(rule: Rule, *, derivations: bool = False) -> Rule | None:
    """Return a simpler rule with the same answers, or None if it never gives any."""
    original = rule
    while True:
        rule = _fold_rule(rule)
        if any(isinstance(literal, Truth) for literal in rule.body):
            if any(isinstance(o, Truth) and not o.value for o in rule.body):
                return None
            body = tuple(o for o in rule.body if not isinstance(o, Truth))
            rule = replace(rule, body=body)
        merged = _merge_equal(rule)
        if merged is rule:
            break
        rule = merged
    if not derivations:
        rule = _drop_repeats(rule)
    elif original.body and not rule.body:
        rule = replace(rule, body=(Truth(True, span=original.span),))
    if rule is original or not rule.orders:
        return None if not derivations and rule.body and rule.heads[0] in rule.body else rule
    # A `.plan` counts the atoms.
    return rule if _atom_count(rule) == _atom_count(original) else replace(rule, orders=())


def _atom_count(rule: Rule) -> int:
    return sum(isinstance(literal, Atom) for literal in rule.body)


def _without_repeats(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Keep the first of equal rules; facts are left to the duplicate check of their relation."""
    seen: set[Rule] = set()
    kept = []
    for rule in rules:
        if rule.body:
            if rule in seen and is_deterministic(*rule.heads, *rule.body):
                continue
            seen.add(rule)
        kept.append(rule)
    return tuple(kept)


def _drop_repeats(rule: Rule) -> Rule:
    if len(rule.body) < 2 or rule.heads[0].relation == "@subsumes":
        return rule
    body = tuple(dict.fromkeys(rule.body))
    if len(body) == len(rule.body) or not is_deterministic(*rule.body):
        return rule
    return replace(rule, body=body)


# ── constants ────────────────────────────────────────────────────────────────────────


def _fold_rule(rule: Rule) -> Rule:
    heads = tuple([_fold_atom(head) for head in rule.heads])
    body = tuple([_fold_literal(literal) for literal in rule.body])
    if all(a is b for a, b in zip((*heads, *body), (*rule.heads, *rule.body), strict=True)):
        return rule
    return replace(rule, heads=heads, body=body)


def _fold_atom(atom: Atom) -> Atom:
    for arg in atom.args:
        if type(arg) not in _SIMPLE:
            return transform(atom, _fold)
    return atom


def _fold_literal(literal: Literal) -> Literal:
    if not isinstance(literal, Constraint):
        return literal
    if type(literal.left) not in _SIMPLE or type(literal.right) not in _SIMPLE:
        literal = transform(literal, _fold)
    holds = _truth(literal)
    return literal if holds is None else Truth(holds, span=literal.span)


def _fold(node: Term | Literal) -> Term | Literal:
    if not isinstance(node, Call) or node.kind is None:
        return node
    values = [arg.value for arg in node.args if isinstance(arg, Constant)]
    functor = FUNCTORS.get((node.functor, node.kind))
    if len(values) < len(node.args) or functor is None or functor.codes:
        return node
    try:
        return Constant(functor.scalar(*values), functor.result, span=node.span)
    except FunctorFault:
        return node


def _truth(literal: Constraint) -> bool | None:
    """Return whether a constraint holds, if that does not depend on any variable."""
    match literal.left, literal.right:
        case Constant(value=left, kind=kind), Constant(value=right) if literal.op in _FOLDED:
            comparison = COMPARISONS.get((literal.op, literal.kind or kind or Kind.NUMBER))
            return None if comparison is None else comparison.scalar(left, right)
        case Variable(name=left), Variable(name=right) if left == right:
            if literal.op in ("=", "!=", "<", ">"):
                return literal.op == "="
        case Nil(), Nil() if literal.op in ("=", "!="):
            return literal.op == "="
    return None


# ── equal variables ──────────────────────────────────────────────────────────────────


def _merge_equal(rule: Rule) -> Rule:
    """Replace one variable that equals a constant or another variable; the rule itself if none.

    What an aggregate ranges over stays an atom of distinct variables, so its names stay too.
    """
    by: dict[str, Term] = {}
    kept: set[str] | None = None
    body: list[Literal] = []
    for literal in rule.body:
        found = _replacement(literal)
        if found is None:
            body.append(literal)
            continue
        if kept is None:
            kept = set(names(*level_aggregates(*rule.heads, *rule.body)))
        name, term = found
        if name in kept and isinstance(term, Variable):
            name, term = term.name, Variable(name, span=term.span)
        # Chains wait for the next turn, so that one substitution never feeds another.
        if name in kept or name in by or (isinstance(term, Variable) and term.name in by):
            body.append(literal)
            continue
        if any(isinstance(other, Variable) and other.name == name for other in by.values()):
            body.append(literal)
            continue
        by[name] = term
    if not by:
        return rule
    return substitute_rule(replace(rule, body=tuple(body)), by)


def _replacement(literal: Literal) -> tuple[str, Term] | None:
    if not isinstance(literal, Constraint) or literal.op != "=":
        return None
    match literal.left, literal.right:
        case Variable(name=name), Constant() as term:
            return name, term
        case Constant() as term, Variable(name=name):
            return name, term
        case Variable() as left, Variable() as right:
            # The name that a pass made up goes first.
            if left.name.startswith("_") and not right.name.startswith("_"):
                return left.name, right
            return right.name, left
        case _:
            return None
