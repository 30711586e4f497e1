"""What a syntax error in NDlog means, in words, and where to go on after it.

Each rule of `_RULES` knows one slip and is silent on others; the first that speaks is believed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from whence.diagnostics import Diagnostic, Span
from whence.syntax.expectation import spelling
from whence.syntax.scanner import STRAY, UNCLOSED, Token
from whence.syntax.table import END
from whence.syntax.view import View

_HABITS: Final[dict[str, str]] = {
    "=>": "`greater or equal` is written `>=`",
    "=<": "`less or equal` is written `<=`",
    "<>": "inequality is written `!=`",
    "->": "a rule is written `head :- body.`",
    "**": "there is no power; `2 ** I` is `1 << I`",
    "&&": "between literals write `,`",
    "&": "between literals write `,`",
    "|": "between alternatives write `||`",
    ";": "between alternatives write `||`",
    "'": 'a string stands in double quotes: `"text"`',
    "not": "negation is written `!`",
    "and": "between literals write `,`",
    "or": "between alternatives write `||`",
    "\\": "negation is written `!`",
    "%": "a comment begins with `//`",
    "?": "a goal is written `Query atom.`",
}
"""What other languages write, and what to write here."""

_PHRASES: Final[tuple[tuple[frozenset[str], str], ...]] = (
    (
        frozenset(
            {"IDENT", "VARIABLE", "HASH", "DELETE", "MATERIALIZE", "WATCH", "QUERY"}
            | {"FULLY_CONNECTED", END}
        ),
        "a statement",
    ),
    (
        frozenset(
            {"VARIABLE", "IDENT", "NUMBER", "FLOAT", "STRING", "UNDERSCORE", "INFINITY", "TRUTH"}
            | {"LBRACKET", "LPAREN", "FUNCTION", "MINUS", "HASH", "NOT"}
        ),
        "a literal",
    ),
    (
        frozenset(
            {"VARIABLE", "IDENT", "NUMBER", "FLOAT", "STRING", "UNDERSCORE", "INFINITY", "TRUTH"}
            | {"LBRACKET", "LPAREN", "FUNCTION", "MINUS"}
        ),
        "a term",
    ),
    (
        frozenset({"VARIABLE", "IDENT", "NUMBER", "STRING", "UNDERSCORE"}),
        "a variable or an address",
    ),
    (frozenset({"EQUALS", "COMPARE", "IN"}), "a comparison"),
    (frozenset({"INFIX", "MINUS", "STAR"}), "an operator"),
    (frozenset({"NUMBER", "FLOAT", "INFINITY"}), "a number or `infinity`"),
)
"""Sets of terminals that have a name; larger ones first."""

_NAMES: Final = {
    END: "end of the text",
    "IDENT": "a name",
    "VARIABLE": "a variable",
    "NUMBER": "a number",
    "FLOAT": "a float",
    "STRING": "a string",
    "FOLD": "an aggregate",
    "RANGLE": "`>`",
    "QUERY": "`Query`",
    "TRUTH": "`true` or `false`",
    "COMPARE": "a comparison",
    "FUNCTION": "a function",
    "INFIX": "an operator",
    "EQUALS": "`=`",
}
_AGGREGATES: Final = "known are `min`, `max`, `sum`, `count` and `avg`"


def explain(view: View) -> Diagnostic:
    """Return the diagnostic of the syntax error in view."""
    for rule in _RULES:
        found = rule(view)
        if found:
            return found
    return _unexpected(view, _hint(view))


def resume(view: View) -> int:
    """Return the index of a token that probably begins a statement, past the error."""
    if _lacks_dot(view):
        return view.index
    at = view.index
    while view.tokens[at].type != END:
        if view.tokens[at].type == "DOT" or (at > view.index and _begins_statement(view, at)):
            return at + (view.tokens[at].type == "DOT")
        at += 1
    return at


def _unexpected(view: View, hint: str, span: Span | None = None) -> Diagnostic:
    return Diagnostic(
        "W0102" if view.token.type == STRAY else "W0101",
        f"unexpected {spelling(view.token)}",
        span or view.at(view.token),
        f"expected {_described(view)}",
        hint=hint,
    )


def _described(view: View) -> str:
    rest = set(view.expected)
    phrases: list[str] = []
    for group, phrase in _PHRASES:
        if group <= rest:
            rest -= group
            phrases.append(phrase)
    spelled: dict[str, str] = {}
    for word, terminal in view.table.words.items():
        spelled.setdefault(terminal, f"`{word}`")
    phrases = sorted({_NAMES.get(t) or spelled.get(t, t) for t in rest}) + phrases
    if len(phrases) == 1:
        return phrases[0]
    return ", ".join(phrases[:-1]) + " or " + phrases[-1] if phrases else "nothing"


def _unclosed_string(view: View) -> Diagnostic | None:
    if view.token.type != UNCLOSED:
        return None
    line, column = view.token.line, view.token.column
    return Diagnostic(
        "W0103",
        "string is never closed",
        Span(line, column, line, column + 1, view.source),
        "opened here",
        hint='close it with `"`; a quote inside a string is written `\\"`',
    )


def _missing_dot(view: View) -> Diagnostic | None:
    if not _lacks_dot(view):
        return None
    return Diagnostic(
        "W0101",
        f"expected {_described(view)} before {spelling(view.token)}",
        view.behind(view.before),
        "the statement does not end",
        hint="a statement ends with `.`",
    )


def _lacks_dot(view: View) -> bool:
    return (
        "DOT" in view.expected
        and view.begin < view.index
        and view.begins_line(view.index)
        and _begins_statement(view, view.index)
    )


def _begins_statement(view: View, index: int) -> bool:
    """Say whether a line begins here as a statement does."""
    token, after = view.tokens[index], view.peek(index + 1)
    if not view.begins_line(index):
        return False
    if token.type in ("MATERIALIZE", "WATCH", "QUERY", "FULLY_CONNECTED", "DELETE"):
        return True
    if token.type == "HASH":
        return after.type == "INCLUDE" or view.begin == index
    if token.type not in ("IDENT", "VARIABLE"):
        return False
    return after.type in ("IDENT", "HASH", "DELETE") or (
        after.type in ("LPAREN", "AT") and "COMMA" not in view.peek(index - 1).type
    )


def _end(view: View) -> Diagnostic | None:
    if view.token.type != END:
        return None
    opened = view.open_bracket()
    hint = "a statement ends with `.`" if "DOT" in view.expected else ""
    if opened:
        hint = f"`{opened.text}` in line {opened.line} is not closed"
    return _unexpected(view, hint, view.behind(view.before) if view.index else None)


def _unknown_aggregate(view: View) -> Diagnostic | None:
    token, before = view.token, view.before
    if token.text != "<" or before.type not in ("IDENT", "VARIABLE") or "AT" in view.expected:
        return None
    if any(t.type == "IF" for t in view.tokens[view.begin : view.index]):
        return None
    return Diagnostic(
        "W1307",
        f"there is no aggregate `{before.text}`",
        view.at(before),
        hint=_AGGREGATES,
    )


def _aggregate_in_body(view: View) -> Diagnostic | None:
    if view.token.type != "FOLD":
        return None
    in_body = any(t.type == "IF" for t in view.tokens[view.begin : view.index])
    hint = "an aggregate is a whole argument of a head" if in_body else _hint(view)
    return _unexpected(view, hint)


def _upper_case_relation(view: View) -> Diagnostic | None:
    token, before = view.token, view.before
    if token.type != "LPAREN" or before.type != "VARIABLE":
        return None
    small = before.text[:1].lower() + before.text[1:]
    return Diagnostic(
        "W0101",
        f"unexpected {spelling(token)}",
        view.between(before, token),
        "a variable has no arguments",
        hint=f"the name of a relation begins with a small letter: `{small}`",
    )


def _reserved(view: View) -> Diagnostic | None:
    token = view.token
    if "IDENT" in view.expected and token.text in view.table.words and token.text[0].isalpha():
        return _unexpected(view, _rename(token))
    return None


def _rename(token: Token) -> str:
    return f"`{token.text}` is a reserved word; choose another name such as `{token.text}_`"


_RULES: Final[tuple[Callable[[View], Diagnostic | None], ...]] = (
    _unclosed_string,
    _missing_dot,
    _end,
    _unknown_aggregate,
    _aggregate_in_body,
    _upper_case_relation,
    _reserved,
)


def _hint(view: View) -> str:
    token, before = view.token, view.before
    text = token.text[:1] if token.text.startswith(("'", "\\")) else token.text
    if view.first.type == "MATERIALIZE":
        return "a table is declared as `materialize(relation, lifetime, size, keys(1, 2)).`"
    if token.text == "," and "IF" in view.expected:
        return "a rule has one head; write one rule for each"
    if token.type == "FUNCTION":
        return "a function stands in a comparison, as in `f_inPath(P, X) = false`"
    if before.type == "RPAREN" and token.type in ("COMMA", "DOT", "RPAREN", "OR"):
        return "a function stands in a comparison, as in `f_inPath(P, X) = false`"
    if token.text == "-" and view.begins_line(view.index):
        return "a comment begins with `//`"
    if view.begins_line(view.index) and token.text == "%":
        return _HABITS["%"]
    if text in _HABITS and text != "%":
        return _HABITS[text]
    if before.text in ("not", "and", "or"):
        return _HABITS[before.text]
    if before.type == "KEYS":
        return "keys are written `keys(1, 2)`, counted from 1"
    return ""
