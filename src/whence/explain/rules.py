"""The user's own rules, ready to be run from a head that is known: what explanations speak of.

Only inlining and normalisation happen to them, so each stays the rule of the text it came from.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from whence.analysis.inferred import infer_program
from whence.analysis.strata import strata
from whence.analysis.traverse import level, level_names
from whence.engine.solver import Body, Names, Row, named_wildcards, names_of, same
from whence.explain.model import Value
from whence.rewrite.inline import inline
from whence.rewrite.normalise import normalise, normalise_rule
from whence.rewrite.resolve_types import resolve_types
from whence.rewrite.scope_aggregates import scope_rule
from whence.rewrite.stated import state_annotations
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Constant,
    Constraint,
    Kind,
    Literal,
    Negation,
    Nil,
    Program,
    Record,
    Rule,
    Subsumption,
    Term,
    Truth,
    UserCall,
    Variable,
    walk,
)


@dataclass(frozen=True, slots=True)
class HeadRule:
    """One alternative of a rule, for facts of one relation: equations of the head, then the body.

    What is computed in the head is equal to a variable, so that the values of a fact bind it.
    """

    number: int
    source: Rule
    relation: str
    pattern: tuple[Term, ...]
    """The arguments of the head, with a variable in place of each that is computed."""
    body: Body
    """All literals, the wildcards of positive atoms named: each binding is an instance."""
    scope: Names
    atoms: tuple[Atom, ...]
    names: tuple[str, ...]
    """The variables of the rule as it was written."""

    def given(self, row: Row) -> dict[str, Value] | None:
        """Return what a fact says about the variables, None if it cannot be the head."""
        found: dict[str, Value] = {}
        pending = list(zip(self.pattern, row, strict=True))
        while pending:
            term, value = pending.pop()
            match term:
                case Variable(name=name):
                    if not same(found.setdefault(name, value), value):
                        return None
                case Record(items=items):
                    if not isinstance(value, tuple):
                        return None
                    pending.extend(zip(items, value, strict=True))
                case Constant(value=known, kind=kind):
                    if not same(float(known) if kind is Kind.FLOAT else known, value):
                        return None
                case _:  # nil
                    if value is not None:
                        return None
        return found


@dataclass(slots=True)
class Rules:
    """A program's rules by the relation they derive, and which relations depend on each other."""

    program: Program
    """The program as it was written."""
    resolved: Program
    """Its rules with types, one alternative each and nothing inlined."""
    by_relation: dict[str, list[HeadRule]]
    stated: dict[str, list[Atom]]
    """Facts in the text that an engine may not tell from derived ones: they are more than
    constants, or their relation has rules."""
    component: dict[str, int]
    """A number for each relation: equal for those that are computed together."""
    recursive: dict[int, frozenset[str]]
    """The relations of the components that depend on themselves."""
    inlined: frozenset[str]
    subsumptions: tuple[Subsumption, ...]
    _origins: tuple[int, ...] = field(default=())

    def of(self, relation: str) -> list[HeadRule]:
        """Return the rules that derive facts of a relation, an inline one too."""
        found = self.by_relation.get(relation)
        if found is None:
            found = self.by_relation[relation] = self._of_inlined(relation)
        return found

    def is_recursive(self, relation: str) -> bool:
        """Say whether facts of the relation can depend on each other."""
        return self.component.get(relation, -1) in self.recursive

    def _of_inlined(self, relation: str) -> list[HeadRule]:
        if relation not in self.inlined:
            return []
        kept = inline(self.resolved, keep=(relation,))
        numbers = _numbers_kept(self.resolved, self._origins, self.inlined - {relation})
        return [
            made
            for number, rule in zip(numbers, kept.rules, strict=True)
            if rule.head.relation == relation
            for made in head_rules(number, self.program.rules[number - 1], rule)
        ]


def rules_of(program: Program) -> Rules:
    """Return the rules of a checked program for explanations."""
    program = state_annotations(program)
    resolved = resolve_types(program)
    origins = _origins(program)
    inlined = frozenset(d.name for d in resolved.relations if "inline" in d.qualifiers)
    plain = inline(resolved)
    by_relation: dict[str, list[HeadRule]] = {d.name: [] for d in plain.relations}
    stated: dict[str, list[Atom]] = {}
    mixed = {rule.head.relation for rule in plain.rules if not _is_fact(rule)}
    mixed |= {s.dominated.relation for s in plain.subsumptions}
    for number, rule in zip(_numbers_kept(resolved, origins, inlined), plain.rules, strict=True):
        if _is_fact(rule):
            loaded = all(isinstance(arg, Constant | Nil) for arg in rule.head.args)
            if not loaded or rule.head.relation in mixed:
                stated.setdefault(rule.head.relation, []).append(rule.head)
            continue
        for made in head_rules(number, program.rules[number - 1], rule):
            by_relation[made.relation].append(made)
    component: dict[str, int] = {}
    recursive: dict[int, frozenset[str]] = {}
    for number, stratum in enumerate(strata(plain)):
        component.update(dict.fromkeys(stratum.relations, number))
        if stratum.recursive:
            recursive[number] = frozenset(stratum.relations)
    flat = normalise(replace(plain, rules=()))
    return Rules(
        program,
        resolved,
        by_relation,
        stated,
        component,
        recursive,
        inlined,
        flat.subsumptions,
        tuple(origins),
    )


def _origins(program: Program) -> list[int]:
    """Return for each rule with types the number of the rule it came from."""
    numbers = {id(rule): number for number, rule in enumerate(program.rules, 1)}
    return [
        numbers[id(typed.origin)]
        for typed in infer_program(program).origins
        if isinstance(typed.origin, Rule)
        for _ in range(len(typed.clauses) + (typed.constants is not None))
    ]


def _numbers_kept(
    resolved: Program, origins: list[int] | tuple[int, ...], inlined: frozenset[str]
) -> list[int]:
    """Return the numbers of the rules that inlining keeps: those of other relations."""
    return [
        number
        for number, rule in zip(origins, resolved.rules, strict=True)
        if any(head.relation not in inlined for head in rule.heads)
    ]


def _is_fact(rule: Rule) -> bool:
    """Say whether the rule states a fact, whatever else is in the database."""
    computed = (Aggregate, UserCall)
    return rule.is_fact and not any(
        isinstance(node, computed) for arg in rule.head.args for node in walk(arg)
    )


def head_rules(number: int, source: Rule, rule: Rule) -> list[HeadRule]:
    """Return the alternatives of a rule with types, each to be run from its head."""
    names = tuple(level_names(*source.heads, *source.body))
    made = []
    for flat in normalise_rule(rule):
        scoped = _with_witnesses(flat)
        head = scoped.head
        equations: list[Literal] = []
        pattern = tuple([_plain(arg, equations) for arg in head.args])
        whole = (*equations, *named_wildcards(scoped.body))
        whole = tuple(o for o in whole if not (isinstance(o, Truth) and o.value))
        scope = names_of(head, *whole)
        atoms = tuple(o for o in whole if isinstance(o, Atom))
        made.append(HeadRule(number, source, head.relation, pattern, whole, scope, atoms, names))
    return made


def _plain(term: Term, equations: list[Literal]) -> Term:
    """Return a term that values can be matched with; what is computed is equal to a variable."""
    match term:
        case Variable() | Constant() | Nil():
            return term
        case Record(items=items):
            return replace(term, items=tuple([_plain(item, equations) for item in items]))
        case _:
            variable = Variable(f"@{len(equations)}", span=term.span)
            equations.append(Constraint("=", variable, term, span=term.span))
            return variable


def _with_witnesses(rule: Rule) -> Rule:
    """Return the rule with the literals that bind the witnesses of its minima and maxima, if any.

    Other aggregates stay as they are written.
    """
    if not any(isinstance(node, Aggregate) for node in level(*rule.heads, *rule.body)):
        return rule
    scoped = scope_rule(rule)
    return scoped if _atoms(scoped) > _atoms(rule) else rule


def _atoms(rule: Rule) -> int:
    return sum(isinstance(o, Atom | Negation) for o in rule.body)
