"""Replace the atoms of `inline` relations by the bodies of their rules.

This is more than an optimisation: such a rule may leave a head variable to the atom it stands in
for, so it cannot always be evaluated by itself. Analysis has refused what cannot be inlined.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from whence.analysis.strata import components
from whence.diagnostics import Diagnostic, ProgramError
from whence.rewrite.dependencies import reads_of
from whence.rewrite.terms import Names, as_rule, as_subsumption, names, substitute, transform
from whence.syntax.nodes import (
    Atom,
    Conjunction,
    Constant,
    Constraint,
    Disjunction,
    Literal,
    Nil,
    Program,
    Rule,
    Subsumption,
    Term,
    Truth,
    Variable,
    Wildcard,
    walk,
)

MAX_LITERALS = 10_000
"""Literals of one rule after inlining: two uses of each other's relation grow exponentially."""


def inline(program: Program, keep: Collection[str] = ()) -> Program:
    """Leave no atom of a relation qualified `inline`, except those to be kept.

    >>> from whence.syntax.souffle import parse
    >>> text = ".decl near(a: number, b: number) inline  near(a, a). near(a, b) :- road(a, b)."
    >>> print(inline(parse(text + " far(x, y) :- town(x), town(y), !near(x, y).")))
    far(x, y) :- town(x), town(y), !(y = x; road(x, y)).
    """
    chosen = {d.name for d in program.relations if "inline" in d.qualifiers} - set(keep)
    if not chosen:
        return program
    inlining = _Inlining(program, chosen)
    return replace(
        program,
        relations=tuple(d for d in program.relations if d.name not in chosen),
        rules=tuple(inlining.rules(program.rules)),
        subsumptions=tuple(map(inlining.subsumption, program.subsumptions)),
        directives=tuple(d for d in program.directives if d.relation not in chosen),
    )


@dataclass
class _Inlining:
    """The inlined relations, and their rules with nothing left to inline."""

    program: Program
    chosen: Collection[str]
    clauses: dict[str, list[Rule]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        by_head: dict[str, list[Rule]] = {name: [] for name in self.chosen}
        for rule in self.program.rules:
            for head in rule.heads:
                if head.relation in by_head:
                    by_head[head.relation].append(Rule((head,), rule.body, span=rule.span))
        graph = reads_of(self.program)
        inlined = {name: [r for r in graph[name] if r in by_head] for name in by_head}
        for (name,) in components(inlined):
            self.clauses[name] = [self.expand(rule) for rule in by_head[name]]

    def rules(self, rules: Iterable[Rule]) -> Iterable[Rule]:
        for rule in rules:
            heads = tuple(head for head in rule.heads if head.relation not in self.chosen)
            if heads:
                rule = rule if heads == rule.heads else replace(rule, heads=heads)
                yield self.expand(rule)

    def subsumption(self, subsumption: Subsumption) -> Subsumption:
        return as_subsumption(self.expand(as_rule(subsumption)))

    def expand(self, rule: Rule) -> Rule:
        """Return the rule with what its inlined atoms stand for in their places."""
        if not any(self._is_inlined(node) for literal in rule.body for node in walk(literal)):
            return rule
        supply = Names((), names(*rule.heads, *rule.body))
        supply.used |= supply.claimed

        def change(node: Term | Literal) -> Term | Literal:
            if isinstance(node, Atom) and node.relation in self.chosen:
                return self._meaning(node, supply)
            return node

        body = tuple(transform(literal, change) for literal in rule.body)
        if sum(isinstance(n, Atom | Constraint) for o in body for n in walk(o)) > MAX_LITERALS:
            raise ProgramError(
                Diagnostic(
                    "W0504",
                    f"inlining makes this rule longer than {MAX_LITERALS} literals",
                    rule.span,
                    hint="remove `inline` from some of the relations it reads",
                )
            )
        return Rule(rule.heads, body, span=rule.span)

    def _is_inlined(self, node: Term | Literal) -> bool:
        return isinstance(node, Atom) and node.relation in self.chosen

    def _meaning(self, atom: Atom, supply: Names) -> Literal:
        choices = [_instance(clause, atom, supply) for clause in self.clauses[atom.relation]]
        if len(choices) == 1:
            return choices[0]
        return Disjunction(tuple(choices), span=atom.span) if choices else Truth(False)


def _instance(clause: Rule, atom: Atom, supply: Names) -> Literal:
    """Return what the clause says of the atom's arguments, with names of its own."""
    by: dict[str, Term] = {}
    equations: list[tuple[Term, Term]] = []
    for arg, param in zip(atom.args, clause.head.args, strict=True):
        if isinstance(arg, Wildcard):
            continue
        if isinstance(param, Variable) and param.name not in by and _is_plain(arg):
            by[param.name] = arg
        else:
            equations.append((arg, param))
    for name in names(clause.head, *clause.body):
        if name not in by:
            by[name] = Variable(supply.claim(name))
    literals: list[Literal] = [
        Constraint("=", arg, substitute(param, by), span=atom.span) for arg, param in equations
    ]
    literals += (substitute(literal, by) for literal in clause.body)
    if len(literals) == 1:
        return literals[0]
    return Conjunction(tuple(literals), span=atom.span) if literals else Truth(True)


def _is_plain(term: Term) -> bool:
    return isinstance(term, Variable | Constant | Nil)
