"""What `whence why`, `whynot` and `whatif` share with the conversation: questions and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whence.diagnostics import Diagnostic, ProgramError, UsageError
from whence.explain.diagram import Diagram, diagram, trimmed
from whence.explain.outline import Show
from whence.explain.readings import annotated
from whence.explain.words import annotation_cell
from whence.syntax.nodes import Atom
from whence.syntax.souffle import parse_goal

if TYPE_CHECKING:
    from whence.database import Database

_SIGNS = "+-"


def asked(text: str) -> Atom:
    """Return the fact that is asked about; its mistakes are not those of a program."""
    try:
        return parse_goal(text.strip().removesuffix("."), "<fact>")
    except ProgramError as error:
        raise UsageError(*error.diagnostics) from None


def derivation(
    db: Database,
    fact: Atom,
    *,
    depth: int | None = None,
    minimal: bool = False,
    everything: bool = False,
) -> tuple[Diagram, Show]:
    """Return why a fact holds, with annotations where there are any, and how they are shown."""
    if everything:
        found = diagram(db.derivations(fact))
    else:
        found = diagram(db.why(fact, minimal=minimal, depth=depth))
    semiring = db.semiring
    if semiring is not None and (everything or semiring.chain is None):
        found = annotated(found, db.annotations(fact))
    if everything and depth is not None:
        found = trimmed(found, depth)
    return found, annotation_cell if semiring is None else semiring.show


def without_effect(db: Database, goes: list[str], comes: list[str]) -> list[Diagnostic]:
    """Return warnings about facts that cannot go, as they were not given, or are there already."""
    found = []
    for fact in goes:
        if not db.is_given(fact):
            message = f"`{fact}` is no base fact, so it cannot go"
            hint = "only facts that were given can go; what follows from them goes with them"
            found.append(Diagnostic("W0960", message, hint=hint, severity="warning"))
    for fact in comes:
        # With another annotation than it has, a fact that is there comes all the same.
        if fact not in goes and db.is_given(fact, annotated=True):
            message = f"`{fact}` is a base fact already"
            found.append(Diagnostic("W0960", message, severity="warning"))
    return found


def supposed(text: str) -> tuple[list[str], list[str]]:
    """Return the facts that go and that come in a line of updates.

    >>> supposed('-link(1, 2.5). +link("a.", "-"). ')
    (['link(1, 2.5)'], ['link("a.", "-")'])
    """
    signed: dict[str, list[str]] = {sign: [] for sign in _SIGNS}
    for update in _statements(text):
        if update[0] not in _SIGNS:
            hint = "such as `.whatif -link(1, 2). +link(1, 3).`"
            message = f"`{update}` neither goes with `-` nor comes with `+`"
            raise UsageError(Diagnostic("W0822", message, hint=hint))
        signed[update[0]].append(update[1:].strip())
    if not any(signed.values()):
        hint = "such as `.whatif -link(1, 2). +link(1, 3).`"
        raise UsageError(Diagnostic("W0822", "there is no change to suppose", hint=hint))
    return signed["-"], signed["+"]


def _statements(text: str) -> list[str]:
    """Return the parts of a text that end with a full stop outside texts and parentheses."""
    parts, depth, quoted, begin, place = [], 0, False, 0, 0
    while place < len(text):
        char = text[place]
        if quoted:
            place += char == "\\"
            quoted = char != '"'
        elif char == '"':
            quoted = True
        elif char == "." and depth <= 0:
            parts.append(text[begin:place])
            begin = place + 1
        else:
            depth += (char in "([") - (char in ")]")
        place += 1
    return [part.strip() for part in (*parts, text[begin:]) if part.strip()]
