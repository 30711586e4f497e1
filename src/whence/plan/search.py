"""Linear recursions that are a search: states, weighted steps between them, and the best way.

In `path(x, y, a + b) :- path(x, z, a), edge(z, y, b)`, where the least value of each (x, y) stays,
`x` is carried along and the rest of the body says from which state to which a step goes and what
it costs, whatever `x` is. So the steps are one graph, and each value of the carried columns is a
search of its own in it, from the states that other rules give.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whence.plan.keyed import recognise_keyed
from whence.plan.nodes import Combine, Keyed, Search, Stratum
from whence.plan.products import bounded_sum
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Call,
    Constant,
    Constraint,
    Counter,
    Kind,
    Literal,
    Negation,
    Rule,
    Term,
    UserCall,
    Variable,
    variables,
    walk,
)

STEP = "@step:"
SEED = "@seed:"


def find_search(stratum: Stratum) -> Search | None:
    """Return a recursion that keeps the best value of each key as a search, None if it is none."""
    if len(stratum.relations) != 1 or len(stratum.subsumptions) != 1:
        return None
    (subsumption,) = stratum.subsumptions
    keyed = recognise_keyed(subsumption)
    arity = len(subsumption.dominated.args)
    if keyed is None or len(keyed.key) + 1 != arity or keyed.kind is Kind.UNSIGNED:
        return None
    return _search(stratum, keyed, keyed.key)


def find_reach(stratum: Stratum) -> Search | None:
    """Return a recursion without subsumption as a search for what steps reach, if it is one."""
    if len(stratum.relations) != 1 or stratum.subsumptions or stratum.selections:
        return None
    (name,) = stratum.relations
    arities = [len(r.head.args) for r in stratum.rules if r.head.relation == name]
    return _search(stratum, None, range(arities[0])) if arities else None


def _search(stratum: Stratum, keyed: Keyed | None, key: Sequence[int]) -> Search | None:
    (name,) = stratum.relations
    seeds, recursive = [], []
    for rule in stratum.rules:
        own = [a for a in rule.body if isinstance(a, Atom) and a.relation == name]
        if len(own) > 1:
            return None
        if own:
            recursive.append((rule, own[0]))
        else:
            seeds.append(rule)
    pivot = [c for c in key if all(_carried(rule, atom, c) for rule, atom in recursive)]
    state = [c for c in key if c not in pivot]
    if not recursive or not state:
        return None
    found = [_step(rule, atom, keyed, state) for rule, atom in recursive]
    steps = [step for step in found if step is not None]
    ways = {combine for _, combine in steps if combine is not None}
    if len(steps) < len(found) or len(ways) > 1:
        return None
    combine = ways.pop() if ways else Combine.SUM
    rules = [rule for rule, _ in steps]
    if combine is Combine.BOUNDED and any(way is None for _, way in steps):
        return None  # no weight leaves the value as it is: a + 1 - 1 is rounded
    if keyed is not None:
        rules = [_weighed(rule, combine, keyed.kind) for rule in rules]
    return Search(name, keyed, tuple(pivot), tuple(state), combine, tuple(rules), tuple(seeds))


def _carried(rule: Rule, own: Atom, column: int) -> bool:
    """Say whether the column is the same variable in head and premise, and nowhere else."""
    term = rule.head.args[column]
    if not isinstance(term, Variable) or own.args[column] != term:
        return False
    others = [a for c, a in enumerate(rule.head.args) if c != column]
    inside = [a for c, a in enumerate(own.args) if c != column]
    rest = [literal for literal in rule.body if literal is not own]
    return term.name not in variables(*others, *inside, *rest)


def _step(
    rule: Rule, own: Atom, keyed: Keyed | None, state: Sequence[int]
) -> tuple[Rule, Combine | None] | None:
    """Return the rule of the steps that a recursive rule makes, and how they combine."""
    rest = [literal for literal in rule.body if literal is not own]
    if not _plain(rest):
        return None
    combine: Combine | None = None
    last: tuple[Term, ...] = ()
    if keyed is not None:
        weighed = _weight(rule, own, keyed, rest)
        if weighed is None:
            return None
        combine, last, rest = weighed
    leaves = tuple(own.args[c] for c in state)
    reaches = tuple(rule.head.args[c] for c in state)
    atoms = [literal for literal in rest if isinstance(literal, Atom)]
    if any(not isinstance(a, Variable | Constant) for a in (*leaves, *reaches)):
        return None
    if not set(variables(*leaves, *reaches, *last)) <= set(variables(*atoms)) or len(atoms) != 1:
        return None
    head = Atom(STEP + rule.head.relation, (*leaves, *reaches, *last))
    return Rule((head,), tuple(rest), span=rule.span), combine


def _weight(
    rule: Rule, own: Atom, keyed: Keyed, rest: list[Literal]
) -> tuple[Combine | None, tuple[Term, ...], list[Literal]] | None:
    """Return how a rule combines the value with a weight, the weight, and the other literals."""
    value, weight = own.args[keyed.value], rule.head.args[keyed.value]
    if not isinstance(value, Variable):
        return None
    if isinstance(weight, Variable) and weight != value:
        weight, rest = _defined(weight, rest)
    others = [a for c, a in enumerate(own.args) if c != keyed.value]
    others += [a for c, a in enumerate(rule.head.args) if c != keyed.value]
    if value.name in variables(*rest, *others):
        return None
    found = _split(weight, value)
    if found is None or (found[1] is not None and value.name in variables(found[1])):
        return None
    return found[0], () if found[1] is None else (found[1],), rest


def _plain(rest: Iterable[Literal]) -> bool:
    """Say whether the literals do without aggregates and what is different at each call."""
    nodes = [node for literal in rest for node in walk(literal)]
    return not any(isinstance(node, Aggregate | Counter | UserCall) for node in nodes) and all(
        isinstance(literal, Atom | Constraint)
        or (isinstance(literal, Negation) and isinstance(literal.literal, Atom))
        for literal in rest
    )


def _defined(name: Variable, rest: list[Literal]) -> tuple[Term, list[Literal]]:
    """Return the term that an equation gives to the variable, and the other literals."""
    for at, literal in enumerate(rest):
        if isinstance(literal, Constraint) and literal.op == "=":
            for left, right in ((literal.left, literal.right), (literal.right, literal.left)):
                if left == name and name.name not in variables(right):
                    others = rest[:at] + rest[at + 1 :]
                    if name.name not in variables(*others):
                        return right, others
    return name, rest


def _split(term: Term, value: Variable) -> tuple[Combine | None, Term | None] | None:
    """Return how the term combines the value with the rest of it, and that rest."""
    if term == value:
        return None, None
    bounded = bounded_sum(term)
    if bounded is not None:
        return _bounded(bounded, value)
    if not isinstance(term, Call) or term.functor not in ("+", "*", "min", "max"):
        return None
    operands = _flat(term, term.functor)
    others = [o for o in operands if o != value]
    if len(others) + 1 != len(operands) or value.name in variables(*others):
        return None
    weight = others[0]
    for operand in others[1:]:
        weight = Call(term.functor, (weight, operand), term.kind)
    return Combine(term.functor), weight


def _flat(term: Term, functor: str) -> list[Term]:
    if isinstance(term, Call) and term.functor == functor:
        return [operand for arg in term.args for operand in _flat(arg, functor)]
    return [term]


def _bounded(operands: tuple[Term, Term], value: Variable) -> tuple[Combine, Term] | None:
    """The same for `max(0, a + b - 1)`, one operand being the value itself."""
    for mine, other in (operands, operands[::-1]):
        if mine == value and value.name not in variables(other):
            return Combine.BOUNDED, other
    return None


_NEUTRAL = {Combine.SUM: 0, Combine.PRODUCT: 1}


def _weighed(rule: Rule, combine: Combine, kind: Kind) -> Rule:
    """Give steps that leave the value as it is a weight that does."""
    head = rule.head
    width = 2 * ((len(head.args)) // 2)
    if len(head.args) > width:
        return rule
    if combine in _NEUTRAL:
        neutral: int | float = _NEUTRAL[combine]
    elif kind is Kind.FLOAT:
        neutral = float("inf") if combine is Combine.LEAST else float("-inf")
    else:
        neutral = (1 << 63) - 1 if combine is Combine.LEAST else -(1 << 63)
    weight = Constant(float(neutral) if kind is Kind.FLOAT else neutral, kind)
    return Rule((Atom(head.relation, (*head.args, weight)),), rule.body, span=rule.span)
