"""Make a closure step by one edge at a time instead of joining it with itself.

`path(x, z) :- path(x, y), path(y, z)` meets each pair once for every node between; with one edge
for one of the paths it meets it once for each last edge (Zhang, Yu and Troy, 1990).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from whence.rewrite.dependencies import recursion
from whence.rewrite.terms import is_deterministic
from whence.syntax.nodes import Atom, Program, RelationDecl, Rule, Variable


def linearise(program: Program, inputs: Collection[str] = ()) -> Program:
    """Leave no rule of transitivity in a relation that is otherwise not recursive.

    Relations that may be given facts stay: those facts are steps that no rule names.

    >>> from whence.syntax.souffle import parse
    >>> print(linearise(parse("p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z).")))
    p(x, y) :- e(x, y).
    p(x, z) :- p(x, y), e(y, z).
    """
    fixed = {*inputs, *(s.dominated.relation for s in program.subsumptions)}
    fixed.update(d.relation for d in program.directives if d.action == "input")
    transitive = [
        rule.head.relation
        for rule in program.rules
        if _is_transitivity(rule) and rule.head.relation not in fixed
    ]
    if not transitive:
        return program
    strata = list(recursion(program).items())
    for name in dict.fromkeys(transitive):
        component = [other for other, number in strata if (name, number) in strata]
        if component == [name]:
            program = _linearise(program, name)
    return program


def _is_transitivity(rule: Rule) -> bool:
    match rule.heads, rule.body:
        case (
            (Atom(relation=name, args=(Variable(name=x), Variable(name=z))),),
            (Atom(relation=left) as first, Atom(relation=right) as second),
        ) if left == right == name and not rule.orders:
            for one, other in ((first, second), (second, first)):
                match one.args, other.args:
                    case (Variable(name=a), Variable(name=b)), (
                        Variable(name=c),
                        Variable(name=d),
                    ) if b == c and (a, d) == (x, z) and len({a, b, d}) == 3:
                        return True
    return False


def _linearise(program: Program, name: str) -> Program:
    own = [rule for rule in program.rules if rule.head.relation == name]
    steps = [rule for rule in own if not _is_transitivity(rule)]
    closing = next(rule for rule in own if _is_transitivity(rule))
    if any(isinstance(o, Atom) and o.relation == name for rule in steps for o in rule.body):
        return program
    if not all(is_deterministic(*rule.heads, *rule.body) for rule in steps):
        return program
    x, y, z = Variable("x"), Variable("y"), Variable("z")
    declared: list[RelationDecl] = []
    edge = _edge(steps)
    if edge is None:
        edge = f"@step_{name}"
        declared = [RelationDecl(edge, d.attributes) for d in program.relations if d.name == name]
        steps = [replace(r, heads=(replace(r.head, relation=edge),)) for r in steps]
        steps.append(Rule((Atom(name, (x, y)),), (Atom(edge, (x, y)),), span=closing.span))
    head = Atom(name, (x, z), span=closing.head.span)
    body = (Atom(name, (x, y), span=closing.span), Atom(edge, (y, z), span=closing.span))
    return replace(
        program,
        relations=(*program.relations, *declared),
        rules=(
            *(rule for rule in program.rules if rule.head.relation != name),
            *steps,
            Rule((head,), body, span=closing.span),
        ),
    )


def _edge(steps: list[Rule]) -> str | None:
    """Return the relation whose tuples are the steps, if there is such."""
    match steps:
        case [Rule(heads=(head,), body=(Atom(relation=relation, args=args),))]:
            plain = all(isinstance(arg, Variable) for arg in args) and len(set(args)) == 2
            return relation if plain and args == head.args else None
        case _:
            return None
