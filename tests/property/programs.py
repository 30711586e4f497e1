"""Random programs that are well formed, terminate, and have one answer.

Relations come in layers. A rule reads its own layer positively and lower layers in any way, so
recursion is mutual and non-linear while negation and aggregates stay stratified. All values that
a rule computes are taken modulo a small number, so every relation is finite; where recursion goes
through subsumption instead, a rule only makes a value worse. Floats are dyadic and means are not
computed with, so that no sum depends on its order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from hypothesis import strategies as st

from property.best_values import best_values
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Attribute,
    Call,
    Conjunction,
    Constant,
    Constraint,
    Disjunction,
    Kind,
    Literal,
    Negation,
    Nil,
    Program,
    Record,
    RecordType,
    RelationDecl,
    Rule,
    Subsumption,
    Term,
    Truth,
    Variable,
    Wildcard,
)

MODULUS = 4
SYMBOLS = ["a", "b", "ab"]
PAIR = RecordType("Pair", (Attribute("l", "number"), Attribute("r", "number")))
NAMES = {
    "number": ["x", "y", "z", "u"],
    "symbol": ["s", "t"],
    "Pair": ["p", "q"],
    "float": ["f", "g"],
    "unsigned": ["i", "j"],
}
INPUTS = {
    "e": ("number", "number"),
    "v": ("number",),
    "l": ("number", "symbol"),
    "k": ("Pair", "number"),
    "h": ("number", "float"),
    "w": ("number", "unsigned"),
    "o": (),
}

T = TypeVar("T")


@dataclass(frozen=True)
class Features:
    """What a program may use."""

    symbols: bool = True
    records: bool = True
    floats: bool = False
    functors: bool = True
    aggregates: bool = True
    nested_aggregates: bool = True
    subsumption: bool = True
    unsigned: bool = False
    nullary: bool = False
    means: bool = False
    facts: bool = False
    """Facts in the text, of inputs and of relations with rules."""
    monotone: bool = False
    """Recursion through subsumption that keeps the best value of a key."""
    rules: int = 3


EVERYTHING = Features()


@dataclass
class Builder:
    """Draws the parts of a program, remembering what a rule may read."""

    draw: st.DrawFn
    features: Features
    schema: dict[str, tuple[str, ...]] = field(default_factory=dict)
    lower: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    recursive: bool = False

    def chance(self, percent: int) -> bool:
        return self.draw(st.integers(0, 99)) < percent

    def one(self, options: list[T]) -> T:
        return self.draw(st.sampled_from(options))

    def some(self, make: Callable[[], T], low: int, high: int) -> list[T]:
        return [make() for _ in range(self.draw(st.integers(low, high)))]

    def type_name(self) -> str:
        options = ["number", "number", "number"]
        options += ["symbol"] * self.features.symbols
        options += ["Pair"] * self.features.records
        options += ["float"] * self.features.floats
        options += ["unsigned"] * self.features.unsigned
        return self.one(options)

    # ── terms ──

    def constant(self, type_name: str) -> Term:
        match type_name:
            case "number" | "unsigned":
                return Constant(self.draw(st.integers(0, MODULUS - 1)), None)
            case "symbol":
                return Constant(self.one(SYMBOLS), Kind.SYMBOL)
            case "float":
                return Constant(self.one([0.0, 0.5, 1.5]), Kind.FLOAT)
            case _:
                if self.chance(30):
                    return Nil()
                return Record((self.constant("number"), self.constant("number")))

    def known(self, type_name: str, bound: dict[str, str]) -> Term:
        """A term whose variables are bound, its value among finitely many."""
        names = [name for name, t in bound.items() if t == type_name]
        if names and self.chance(70):
            return Variable(self.one(names))
        if self.chance(50):
            return self.constant(type_name)
        match type_name:
            case "number":
                return self.modular(self.arithmetic(bound))
            case "Pair":
                return Record((self.known("number", bound), self.known("number", bound)))
            case "symbol" if self.features.functors and names:
                joined = Call("cat", (Variable(self.one(names)), self.constant("symbol")))
                return Call("substr", (joined, Constant(0, None), Constant(2, None)))
            case "unsigned" if self.features.functors and names:
                grown = Call(
                    self.one(["+", "*"]), (Variable(self.one(names)), self.constant("number"))
                )
                return self.modular(grown)
            case "float" if self.features.functors and names:
                bounds = (Variable(self.one(names)), self.constant("float"))
                return Call(self.one(["min", "max"]), bounds)
            case _:
                return self.constant(type_name)

    def modular(self, term: Term) -> Term:
        return Call("%", (term, Constant(MODULUS, None)))

    def arithmetic(self, bound: dict[str, str]) -> Term:
        """A term of any value."""
        names = [name for name, t in bound.items() if t == "number"]
        left: Term = Variable(self.one(names)) if names else self.constant("number")
        if not self.features.functors:
            return Call(self.one(["+", "*"]), (left, self.constant("number")))
        match self.draw(st.integers(0, 3)):
            case 0:
                return Call(self.one(["+", "*", "-", "bxor"]), (left, self.constant("number")))
            case 1:
                return Call("+", (left, self.known("number", bound)))
            case 2:
                return Call(self.one(["min", "max"]), (left, self.constant("number")))
            case _:
                return Call("neg", (left,))

    def pattern(self, type_name: str, bound: dict[str, str]) -> Term:
        """An argument of a positive atom: it may bind variables."""
        roll = self.draw(st.integers(0, 99))
        if roll < 75:
            name = self.one(NAMES[type_name])
            bound[name] = type_name
            return Variable(name)
        if roll < 87:
            return Wildcard()
        if roll < 92:
            return self.constant(type_name)
        if type_name == "Pair":
            return Record((self.pattern("number", bound), self.pattern("number", bound)))
        return self.known(type_name, dict(bound))

    # ── literals ──

    def atom(self, relations: list[str], bound: dict[str, str]) -> Atom:
        name = self.one(relations)
        return Atom(name, tuple(self.pattern(t, bound) for t in self.schema[name]))

    def test(self, bound: dict[str, str], depth: int = 2) -> Literal:
        """A literal that binds nothing."""
        roll = self.draw(st.integers(0, 99))
        if depth and roll < 12:
            return Disjunction(tuple(self.some(lambda: self.test(bound, depth - 1), 2, 2)))
        if depth and roll < 18:
            return Negation(Conjunction((self.test(bound, depth - 1), self.test(bound, depth - 1))))
        if depth and roll < 22:
            return Negation(self.test(bound, depth - 1))
        if roll < 40:
            return Negation(self.ground_atom(bound))
        if roll < 48:
            return Truth(self.chance(90))
        name = self.one([*bound, None])
        if name is not None and bound[name] != "number":
            op = self.one(["=", "!="])
            return Constraint(op, Variable(name), self.known(bound[name], bound))
        op = self.one(["=", "!=", "!=", "<", "<=", "<=", ">", ">=", ">="])
        return Constraint(op, self.known("number", bound), self.arithmetic(bound))

    def ground_atom(self, bound: dict[str, str]) -> Atom:
        name = self.one(self.lower)
        return Atom(
            name,
            tuple(
                Wildcard() if self.chance(10) else self.known(t, bound) for t in self.schema[name]
            ),
        )

    def binding(self, bound: dict[str, str]) -> Literal:
        """An equation, or a choice of them, that gives a variable a value."""
        name = self.one(NAMES["number"])
        outside = {n: t for n, t in bound.items() if n != name}

        def equation() -> Literal:
            return Constraint("=", Variable(name), self.known("number", outside))

        literal = equation() if self.chance(60) else Disjunction((equation(), equation()))
        bound[name] = "number"
        return literal

    def aggregate(self, bound: dict[str, str], depth: int = 1) -> Aggregate:
        own: dict[str, str] = {}
        body: list[Literal] = [*self.some(lambda: self.atom(self.lower, own), 1, 2)]
        inside = bound | own
        if self.chance(40):
            body.append(self.test(inside, 0))
        # An aggregate in a recursive rule must not hide another: W0502.
        nested = self.features.nested_aggregates and not self.recursive
        if depth and nested and self.chance(15):
            body.append(Constraint("<=", self.aggregate(inside, 0), self.arithmetic(inside)))
        function = self.one(["count", "sum", "min", "max"])
        if function == "count":
            return Aggregate(function, None, tuple(body))
        # A name of the rule that the target uses is the aggregate's own.
        target = self.arithmetic(own) if self.chance(40) else self.known("number", own)
        return Aggregate(function, target, tuple(body))

    def float_aggregate(self, functions: list[str], outside: dict[str, str]) -> Aggregate:
        """One over floats, that may depend on a variable outside."""
        own: dict[str, str] = {}
        source = self.one([name for name in self.lower if "float" in self.schema[name]])
        body: list[Literal] = [self.atom([source], own)]
        if self.chance(50):
            body.append(self.atom(self.lower, own))
        if self.chance(40):
            body.append(self.test(outside | own, 0))
        floats = [name for name, t in own.items() if t == "float"]
        target: Term = Variable(self.one(floats)) if floats else self.constant("float")
        return Aggregate(self.one(functions), target, tuple(body))

    # ── rules ──

    def body(self, readable: list[str]) -> tuple[tuple[Literal, ...], dict[str, str]]:
        bound: dict[str, str] = {}
        literals: list[Literal] = [*self.some(lambda: self.atom(readable, bound), 1, 3)]
        if self.chance(30):
            literals.append(self.binding(bound))
        if self.chance(50):
            literals += self.some(lambda: self.test(bound), 1, 2)
        self.recursive = any(isinstance(o, Atom) and o.relation in self.same for o in literals)
        if self.features.aggregates and self.chance(25):
            literals.append(Constraint("=", Variable("n"), self.aggregate(bound)))
            bound["n"] = "number"
        order = self.draw(st.permutations(range(len(literals))))
        return tuple(literals[i] for i in order), bound

    def over_floats(self, name: str) -> Rule:
        """A rule whose head has a key and an aggregate over floats."""
        bound: dict[str, str] = {}
        atoms = self.some(lambda: self.atom(self.lower, bound), 1, 1)
        key = self.known("number", bound)
        functions = ["mean"] if name.startswith("m") else ["sum", "min", "max"]
        value = Constraint("=", Variable("a"), self.float_aggregate(functions, bound))
        return Rule((Atom(name, (key, Variable("a"))),), (*atoms, value))

    def head(self, name: str, bound: dict[str, str]) -> Atom:
        return Atom(name, tuple(self.known(t, bound) for t in self.schema[name]))

    def rule(self, *, recursive: bool = True) -> Rule:
        body, bound = self.body(self.lower + self.same * 2 if recursive else self.lower)
        heads = [self.head(self.one(self.same), bound)]
        if self.chance(15):
            heads.append(self.head(self.one(self.same), bound))
        return Rule(tuple(heads), body)

    def copy(self, name: str) -> Rule:
        """A rule that seldom gives nothing."""
        bound: dict[str, str] = {}
        atoms = self.some(lambda: self.atom(self.lower, bound), 1, 2)
        return Rule((self.head(name, bound),), tuple(atoms))

    def layer(self, number: int) -> tuple[list[Rule], list[Subsumption]]:
        names = [f"r{number}{c}" for c in "ab"[: self.draw(st.integers(1, 2))]]
        fewest = 0 if self.features.nullary and self.chance(15) else 1
        for name in names:
            self.schema[name] = tuple(self.some(self.type_name, fewest, 2))
        self.same = names
        subsumptions: list[Subsumption] = []
        dominated = self.features.subsumption and self.chance(20)
        if dominated:
            # What recursion makes of dominated tuples depends on when they go, so there is none.
            self.schema[names[0]] = (self.type_name(), "number")
            op = self.one(["<", ">"])
            worse, better = Variable("x"), Variable("y")
            subsumptions.append(
                Subsumption(
                    Atom(names[0], (Variable("w"), worse)),
                    Atom(names[0], (Variable("w"), better)),
                    (Constraint(op, better, worse),),
                )
            )
        rules = [self.copy(name) for name in names if self.chance(70)]
        rules += self.some(lambda: self.rule(recursive=not dominated), 1, self.features.rules)
        if self.features.facts and self.chance(30):
            rules += self.some(lambda: self.fact(self.lower + names), 1, 2)
        if self.features.means and self.chance(30):
            self.schema[f"m{number}"] = ("number", "float")  # nobody reads it
            rules.append(self.over_floats(f"m{number}"))
        if self.features.floats and self.features.means and self.chance(20):
            self.schema[f"s{number}"] = ("number", "float")
            rules.append(self.over_floats(f"s{number}"))
            self.lower.append(f"s{number}")
        if self.features.monotone and self.chance(30):
            types, best = self.draw(best_values(f"b{number}", unsigned=self.features.unsigned))
            self.schema[f"b{number}"] = types
            rules += best.rules
            subsumptions += best.subsumptions
            self.lower.append(f"b{number}")
        self.lower += names
        return rules, subsumptions

    def fact(self, relations: list[str]) -> Rule:
        name = self.one(relations)
        return Rule((Atom(name, tuple(self.constant(t) for t in self.schema[name])),), ())


@st.composite
def programs(draw: st.DrawFn, features: Features = EVERYTHING) -> Program:
    """A program over the inputs, with one to three layers of rules."""
    inputs = {
        name: types
        for name, types in INPUTS.items()
        if (features.symbols or "symbol" not in types)
        and (features.records or "Pair" not in types)
        and (features.floats or "float" not in types)
        and (features.unsigned or "unsigned" not in types)
        and (features.nullary or types)
    }
    builder = Builder(draw, features, dict(inputs), list(inputs))
    rules: list[Rule] = []
    subsumptions: list[Subsumption] = []
    for number in range(draw(st.integers(1, 3))):
        more_rules, more_subsumptions = builder.layer(number)
        rules += more_rules
        subsumptions += more_subsumptions
    return Program(
        types=(PAIR,),
        relations=tuple(
            RelationDecl(name, tuple(Attribute(f"c{i}", t) for i, t in enumerate(types)))
            for name, types in builder.schema.items()
        ),
        rules=tuple(rules),
        subsumptions=tuple(subsumptions),
    )
