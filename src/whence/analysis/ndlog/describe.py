"""What kinds of state and rules a program has, for people: `whence check --verbose`."""

from __future__ import annotations

from dataclasses import dataclass

from whence.analysis.ndlog.derivations import acyclic
from whence.analysis.ndlog.links import is_local
from whence.analysis.ndlog.state import Classified, State, classes, states
from whence.syntax.nodes import Program


@dataclass(frozen=True, slots=True)
class Description:
    """The relations and rules of a program."""

    relations: tuple[tuple[str, State], ...]
    rules: tuple[Classified, ...]
    acyclic: frozenset[str]
    """Relations whose derivations never go round, so that they may be counted."""

    def text(self) -> str:
        """Return a line for each relation and each rule."""
        width = max((len(name) for name, _ in self.relations), default=0)
        lines = [f"{name:<{width}}  {self._state(name, state)}" for name, state in self.relations]
        wide = max((len(_name(rule)) for rule in self.rules), default=0)
        lines += ["", *(f"{_name(rule):<{wide}}  {_kind(rule)}" for rule in self.rules)]
        return "\n".join(lines)

    def _state(self, name: str, state: State) -> str:
        counted = state is State.HARD and name in self.acyclic
        return f"{state.value}, derivations are acyclic" if counted else state.value

    def as_json(self) -> dict[str, object]:
        """Return the same for programs to read."""
        return {
            "relations": [
                {"name": name, "state": state.value, "acyclic": name in self.acyclic}
                for name, state in self.relations
            ],
            "rules": [
                {
                    "name": rule.rule.name,
                    "line": rule.rule.span.line,
                    "class": rule.kind.value,
                    "event": rule.event.relation if rule.event else None,
                    "local": is_local(rule.rule),
                    "deletes": rule.rule.delete,
                }
                for rule in self.rules
            ],
        }


def describe(program: Program) -> Description:
    """Return what is known of a program's relations and rules."""
    return Description(tuple(states(program).items()), tuple(classes(program)), acyclic(program))


def _name(rule: Classified) -> str:
    return rule.rule.name or f"line {rule.rule.span.line}"


def _kind(rule: Classified) -> str:
    where = "local" if is_local(rule.rule) else "distributed"
    event = f", at each {rule.event.relation}" if rule.event else ""
    return f"{where} {rule.kind.value} rule{event}{', deletes' if rule.rule.delete else ''}"
