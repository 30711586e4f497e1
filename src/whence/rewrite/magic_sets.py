"""Compute only what a goal asks for: magic sets (Beeri and Ramakrishnan, 1991).

An adornment says which arguments are known when a relation is asked: `bf` for the first of two.
`@magic_bf_path` holds the questions, `@bf_path` the answers to them. What stands under negation
or in an aggregate, and everything below it, is computed in full, which keeps the strata.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from whence.rewrite.column_types import Schema, declare, relation_names
from whence.rewrite.prune import outputs, prune
from whence.rewrite.reorder_body import order_body
from whence.rewrite.restriction import (
    computed_in_full,
    facts_apart,
    guard,
    makes_values,
    requested_relations,
    seed_of,
)
from whence.rewrite.terms import level_names, names, newly_bound
from whence.syntax.nodes import (
    Atom,
    Constant,
    Literal,
    Nil,
    Program,
    RelationDecl,
    Rule,
    Term,
    Variable,
)

MAX_ADORNMENTS = 8
"""Ways of asking one relation; beyond that it is cheaper computed in full."""

MAX_ROUNDS = 4
"""Attempts at leaving out adorned versions of what is computed in full anyway."""


def magic_sets(
    program: Program,
    goal: Atom | None = None,
    inputs: Collection[str] = (),
    cardinalities: Mapping[str, int] | None = None,
) -> Program:
    """Restrict relations to what the goal, or the rules that read them, ask for.

    Afterwards the goal's relation holds at least the facts that match the goal. Without a goal,
    the relations qualified `magic` or named by a pragma `magic-transform` are restricted.

    >>> from whence.syntax.souffle import parse
    >>> path = "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z)."
    >>> goal = Atom("path", (Constant(1, None), Variable("x")))
    >>> print(magic_sets(parse(path), goal))
    @magic_bf_path(1).
    path(1, _1) :- @bf_path(1, _1).
    @bf_path(x, y) :- @magic_bf_path(x), edge(x, y).
    @bf_path(x, z) :- @magic_bf_path(x), @bf_path(x, y), edge(y, z).
    """
    seed = seed_of(program, goal)
    roots = outputs(program) if goal is None else {goal.relation}
    chosen = requested_relations(program, everything=seed is not None)
    if not chosen:
        return program
    closed = computed_in_full(program, inputs)
    chosen -= closed
    if seed is not None and seed.relation not in chosen:
        return program
    if seed is not None and _answers_only(program, seed):
        seed = None
    if seed is None:
        roots = roots or {decl.name for decl in program.relations}
        chosen -= roots
    if not chosen:
        return program
    full: set[str] = set()
    for _ in range(MAX_ROUNDS):
        magic = _Transformation(program, chosen, closed, set(full), cardinalities or {})
        magic.run(seed, roots)
        if magic.full == full:
            break
        full = magic.full
    return prune(magic.result(), roots)


def _answers_only(program: Program, seed: Atom) -> bool:
    """Say whether the rules give nothing but what is asked, so that asking restricts nothing."""
    return all(
        all(
            not isinstance(a, Constant) or a == b for a, b in zip(seed.args, head.args, strict=True)
        )
        for rule in program.rules
        for head in rule.heads
        if head.relation == seed.relation
    )


Adornment: TypeAlias = str


@dataclass
class _Transformation:
    """One attempt: the rules so far, and the questions whose rules are still to be made."""

    program: Program
    chosen: Collection[str]
    closed: Collection[str]
    full: set[str]
    sizes: Mapping[str, int]
    rules: list[Rule] = field(default_factory=list)
    pending: list[tuple[str, Adornment]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.schema = Schema(self.program)
        self.declared: dict[str, RelationDecl] = {}
        self.asked: dict[str, dict[Adornment, None]] = {}
        self.sups = relation_names(self.schema.relations, "@sup")
        self.by_head: dict[str, list[Rule]] = {}
        for rule in self.program.rules:
            if rule.head.relation not in self.closed:
                self.by_head.setdefault(rule.head.relation, []).append(rule)

    def run(self, seed: Atom | None, roots: Collection[str]) -> None:
        """Make the rules that answer the seed, or that compute the roots."""
        if seed is None or seed.relation in self.full:
            for name in sorted(roots):
                self._want(name)
        else:
            known = _adornment(seed.args, ())
            answer = self._ask(seed.relation, known)
            constants = tuple(arg for arg in seed.args if isinstance(arg, Constant))
            self.rules.append(Rule((Atom(_question(seed.relation, known), constants),)))
            args: tuple[Term, ...] = tuple(
                arg if isinstance(arg, Constant) else Variable(f"_{position}")
                for position, arg in enumerate(seed.args)
            )
            self.rules.append(Rule((Atom(seed.relation, args),), (Atom(answer, args),)))
        while self.pending:
            relation, adornment = self.pending.pop()
            for rule in self._rules_of(relation):
                self._adorn(rule, adornment)

    def result(self) -> Program:
        """Return the program of the rules made and those of what is computed in full."""
        kept = [rule for rule in self.program.rules if rule.head.relation in self.closed]
        return replace(
            self.program,
            relations=(*self.program.relations, *self.declared.values()),
            rules=(*kept, *self.rules),
        )

    def _rules_of(self, relation: str) -> list[Rule]:
        """Return the rules of a relation; many facts become one rule over a relation of facts."""
        rules = self.by_head.get(relation, [])
        facts = [rule for rule in rules if not rule.body]
        if len(facts) < 2 or relation in self.full or relation not in self.chosen:
            return rules
        name = f"@facts_{relation}"
        self._declare(name, self.schema.relations.get(relation))
        moved, rules = facts_apart(name, facts, [rule for rule in rules if rule.body])
        self.rules.extend(moved)
        self.by_head[relation] = rules
        return rules

    def _declare(self, name: str, like: RelationDecl | None, known: Adornment = "") -> None:
        if like is not None and name not in self.declared:
            attributes = tuple(
                a for i, a in enumerate(like.attributes) if not known or known[i] == "b"
            )
            decl = RelationDecl(name, attributes, span=like.span)
            self.declared[name] = self.schema.relations[name] = decl

    def _want(self, relation: str) -> None:
        """See to it that the relation is computed in full."""
        if relation in self.chosen:
            self.full.add(relation)
        if "" not in self.asked.setdefault(relation, {}):
            self.asked[relation][""] = None
            self.pending.append((relation, ""))

    def _ask(self, relation: str, adornment: Adornment) -> str:
        """See to it that such questions are answered, and return where."""
        asked = self.asked.setdefault(relation, {})
        if relation in self.full or "b" not in adornment:
            self._want(relation)
            return relation
        if adornment not in asked:
            if len(asked) >= MAX_ADORNMENTS:
                self._want(relation)
                return relation
            asked[adornment] = None
            decl = self.schema.relations.get(relation)
            self._declare(_question(relation, adornment), decl, adornment)
            self._declare(_answer(relation, adornment), decl)
            self.pending.append((relation, adornment))
        return _answer(relation, adornment)

    def _adorn(self, rule: Rule, adornment: Adornment) -> None:
        """Make the rule answer questions, and the rules that ask on behalf of its body."""
        head = rule.head
        before: list[Literal] = []
        body = rule.body
        if adornment:
            question = _question(head.relation, adornment)
            asked, equations = guard(rule, adornment, question)
            before.append(asked)
            body += equations
            head = Atom(_answer(head.relation, adornment), head.args, span=head.span)
        bound = set(names(*before))
        finite: set[str] = set()
        growing: set[str] = set()
        ordered = order_body(replace(rule, body=body), None, self.sizes, bound=bound)
        level = level_names(head, *before, *body).keys()
        for place, literal in enumerate(ordered):
            bound_here = newly_bound(literal, bound, level) or ()
            if isinstance(literal, Atom):
                rest = (head, *ordered[place:])
                literal, before = self._read(literal, bound, growing, before, rest, rule)
                finite.update(bound_here, names(literal))
            elif not names(literal).keys().isdisjoint(growing) or (
                makes_values(literal) and not names(literal).keys() - set(bound_here) <= finite
            ):
                growing.update(bound_here)
            before.append(literal)
            bound.update(bound_here)
        self.rules.append(Rule((head,), tuple(before), span=rule.span))

    def _read(
        self,
        atom: Atom,
        bound: Set[str],
        growing: Set[str],
        before: list[Literal],
        rest: Iterable[Literal],
        rule: Rule,
    ) -> tuple[Atom, list[Literal]]:
        """Return the atom that reads the answers, and what comes before it.

        What is growing is never asked for, but those that come later may read it.
        """
        if atom.relation not in self.chosen:
            if atom.relation not in self.closed:
                self._want(atom.relation)
            return atom, before
        adornment = _adornment(atom.args, bound - growing)
        answer = self._ask(atom.relation, adornment)
        if answer == atom.relation:
            return atom, before
        known = tuple(arg for arg, a in zip(atom.args, adornment, strict=True) if a == "b")
        question = Atom(_question(atom.relation, adornment), known, span=atom.span)
        if question not in before:
            if sum(isinstance(literal, Atom) for literal in before) > 2:
                before = [self._supplement(before, bound, rest, rule)]
            self.rules.append(Rule((question,), tuple(before), span=rule.span))
        return replace(atom, relation=answer), before

    def _supplement(
        self, before: list[Literal], bound: Collection[str], rest: Iterable[Literal], rule: Rule
    ) -> Atom:
        """Return an atom of a relation that holds what the literals before have found."""
        read = names(*rest)
        columns = [name for name in names(*before) if name in bound and name in read]
        name = next(self.sups)
        types = self.schema.variable_types(replace(rule, body=tuple(before)), rule)
        self.declared[name] = declare(name, {column: types.get(column) for column in columns})
        self.schema.relations[name] = self.declared[name]
        head = Atom(name, tuple(map(Variable, columns)), span=rule.span)
        self.rules.append(Rule((head,), tuple(before), span=rule.span))
        return head


def _question(relation: str, adornment: Adornment) -> str:
    return f"@magic_{adornment}_{relation}"


def _answer(relation: str, adornment: Adornment) -> str:
    return f"@{adornment}_{relation}"


def _adornment(args: Iterable[Term], bound: Collection[str]) -> Adornment:
    return "".join(
        "b" if isinstance(arg, Constant | Nil) or _is_bound(arg, bound) else "f" for arg in args
    )


def _is_bound(arg: Term, bound: Collection[str]) -> bool:
    return isinstance(arg, Variable) and arg.name in bound
