"""Intermediate relations: what is sent from one place to the next, under a name of its own.

A tuple that is sent whole, or some of its columns, has a name that says which: rules that send
the same share it, also rules of different programs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from whence.network.rewrite.places import Place, place, positive, relation_names, tables
from whence.syntax.nodes import (
    Atom,
    Constant,
    Literal,
    Materialize,
    Program,
    Rule,
    Term,
    Variable,
    Wildcard,
)


@dataclass(slots=True)
class Intermediates:
    """The intermediate relations of a program, while it is being localized."""

    program: Program
    windows: frozenset[str] = frozenset()
    """Relations whose tuples are deleted when they expire: what is sent goes with them."""
    tables: dict[str, Materialize] = field(default_factory=dict)
    stored: dict[str, Materialize] = field(init=False)
    events: set[str] = field(init=False)
    names: set[str] = field(init=False)
    shared: set[str] = field(default_factory=set)
    letters: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.stored = tables(self.program)
        self.names = relation_names(self.program)
        self.events = self.names - set(self.stored)

    def relation(
        self,
        rule: Rule,
        body: tuple[Literal, ...],
        columns: list[Term],
        at: int,
        source: Place,
        out: list[Rule],
    ) -> Atom:
        """Return the atom that carries `columns` of a body to the place in column `at`.

        The rule that derives it goes to `out`, unless another rule has sent the same before.
        """
        name = _sent_name(body, columns, at)
        fresh = name is None or name in self.names - self.shared
        if name is None or fresh:
            name = self.fresh(name or f"{rule.head.relation}_{rule.name or 'sent'}")
        else:
            self.names.add(name)
        atom = Atom(name, tuple(columns), location=at)
        if name not in self.shared or fresh:
            out.append(Rule((atom,), body, name=self.label(rule, out), span=rule.span))
            self._store(name, body, columns, source)
            if not fresh:
                self.shared.add(name)
        return atom

    def fresh(self, base: str) -> str:
        """Return a name that nothing has yet, and take it."""
        name, number = base, 1
        while name in self.names:
            number += 1
            name = f"{base}_{number}"
        self.names.add(name)
        return name

    def label(self, rule: Rule, out: list[Rule], *, last: bool = False) -> str:
        """Return `sp2a`, `sp2b`, … for the rules that rule `sp2` becomes."""
        if not rule.name or (last and not out and rule.name not in self.letters):
            return rule.name
        number = self.letters.get(rule.name, 0)
        self.letters[rule.name] = number + 1
        return f"{rule.name}{chr(ord('a') + number) if number < 26 else f'_{number}'}"

    def _store(
        self, name: str, body: tuple[Literal, ...], columns: list[Term], source: Place
    ) -> None:
        """Materialize the relation like what it comes from; what comes of an event is an event."""
        atoms = positive(body)
        if any(atom.relation in self.events for atom in atoms):
            self.events.add(name)
            return
        joined = [self.stored[atom.relation] for atom in atoms]
        lifetimes = [
            table.lifetime
            for table in joined
            if table.lifetime is not None and table.relation not in self.windows
        ]
        # A node has as many of them as its neighbours have together; only links are as many.
        size = joined[0].size if len(atoms) == 1 and atoms[0].link else None
        keys = _keys(atoms, joined, columns, source)
        table = Materialize(name, min(lifetimes, default=None), size, keys)
        self.tables[name] = self.stored[name] = table


def _sent_name(body: tuple[Literal, ...], columns: list[Term], at: int) -> str | None:
    """Return the name of a tuple that is sent as it is; None where something is computed."""
    atom = body[0]
    if len(body) != 1 or not isinstance(atom, Atom):
        return None
    names = [arg.name for arg in atom.args if isinstance(arg, Variable)]
    if len(set(names)) < len(names) or atom.location is None:
        return None
    if not all(isinstance(arg, Variable | Wildcard) for arg in atom.args):
        return None
    kept = [i for i, arg in enumerate(atom.args) if arg in columns]
    if len(kept) != len(columns):
        return None
    target = kept[at]
    standard = atom.location == 0 and target == 1
    name = f"{atom.relation}D" if standard else f"{atom.relation}At{target + 1}"
    if len(kept) == len(atom.args):
        return name
    return f"{name}_{'_'.join(str(i + 1) for i in kept)}"


def _keys(
    atoms: list[Atom], joined: list[Materialize], columns: list[Term], source: Place
) -> tuple[int, ...]:
    """Return the key of what is sent: the keys of what was joined, and where that was.

    The keys of a table hold at one node, and several nodes may send: without their place in the
    key they would overwrite each other. Where a part of the key is not sent, all columns are it.
    """
    place_of = {c.name: i + 1 for i, c in enumerate(columns) if isinstance(c, Variable)}
    wanted: list[Term | None] = [source]
    for atom, table in zip(atoms, joined, strict=True):
        wanted.append(place(atom))
        wanted.extend(atom.args[k - 1] for k in table.keys or range(1, len(atom.args) + 1))
    keys: set[int] = set()
    for term in wanted:
        match term:
            case None | Constant():
                continue
            case Variable(name=name) if name in place_of:
                keys.add(place_of[name])
            case _:
                return ()
    return () if len(keys) == len(columns) else tuple(sorted(keys))
