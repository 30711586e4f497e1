"""What a syntax error means, in words.

Each rule of `_RULES` knows one slip and is silent on others; the first that speaks is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from whence.diagnostics import Diagnostic, Span, nearest
from whence.syntax.expectation import describe, spelling
from whence.syntax.scanner import STRAY, UNCLOSED, UNKNOWN_DIRECTIVE, Token
from whence.syntax.table import END
from whence.syntax.view import DIRECTIVES, View, is_word

_HABITS: Final[dict[str, str]] = {
    ":=": "a rule is written with `:-`, an equation with `=`",
    "==": "equality is written `=`",
    "=>": "`greater or equal` is written `>=`",
    "=<": "`less or equal` is written `<=`",
    "<>": "inequality is written `!=`",
    "<<": "a shift to the left is written `bshl`",
    ">>": "a shift to the right is written `bshr`",
    ">>>": "an unsigned shift to the right is written `bshru`",
    "**": "a power is written `^`",
    "&&": "between literals write `,`; between numbers `land`",
    "||": "between literals write `;`; between numbers `lor`",
    "^^": "exclusive or is written `lxor`",
    "&": "between literals write `,`; between numbers `band`",
    "|": "between literals write `;`; between numbers `bor`",
    "~": "negation is written `!`; the bits of a number are flipped by `bnot`",
    "\\": "negation is written `!`",
    "'": 'a string stands in double quotes: `"text"`',
    "not": "negation is written `!`",
    "and": "between literals write `,`",
    "or": "between literals write `;`",
}
"""What other languages write, and what to write here."""

_NOT_YET: Final[dict[str, str]] = {
    ".comp": "components",
    ".init": "components",
    ".override": "components",
    ".include": "`.include`",
    ".once": "`.include`",
    ".lattice": "lattices",
    ".debug_delta": "`.debug_delta`",
}


def explain(view: View) -> Diagnostic:
    """Return the diagnostic of the syntax error in view."""
    for rule in _RULES:
        found = rule(view)
        if found:
            return found
    return _unexpected(view, _hint(view))


def _unexpected(view: View, hint: str, span: Span | None = None) -> Diagnostic:
    return Diagnostic(
        "W0102" if view.token.type == STRAY else "W0101",
        f"unexpected {spelling(view.token)}",
        span or view.at(view.token),
        f"expected {describe(view.expected, view.table)}",
        hint=hint,
    )


def _unknown_directive(view: View) -> Diagnostic | None:
    token, after = view.token, view.after
    if token.type == UNKNOWN_DIRECTIVE:
        word, span = token.text, view.at(token)
    elif (
        token.type == "DOT"
        and view.between_statements
        and view.touches_next(view.index)
        and is_word(after)
    ):
        word, span = f".{after.text}", view.between(token, after)
    else:
        return None
    if word in _NOT_YET:
        return _unsupported(_NOT_YET[word], span)
    known = sorted(w for w in view.table.words if w[0] == "." and len(w) > 1)
    near = nearest(word, known)
    return Diagnostic(
        "W0105",
        f"unknown directive `{word}`",
        span,
        hint=f"did you mean `{near}`?" if near else f"known are {_listed(known)}",
    )


def _not_yet(view: View) -> Diagnostic | None:
    token, before, after = view.token, view.before, view.after
    if before.type == "DOLLAR" and token.type == "IDENT" and view.touches_next(view.index - 1):
        return _unsupported("algebraic data types", view.between(before, token))
    if view.first.type == "TYPE" and token.type == "LBRACE":
        return _unsupported("algebraic data types", view.at(token))
    if view.first.type == "DECL" and token.text == "<>":
        return _unsupported("lattices", view.at(token))
    if view.first.type == "DECL" and token.type == "EQUALS" and after.text == "debug_delta":
        return _unsupported("`debug_delta`", view.at(after))
    if token.text == "choice-domain":
        return _unsupported("`choice-domain`", view.at(token))
    if token.type == "AT" and after.type in ("LBRACKET", "NOT"):
        return _unsupported("annotations `@[…]`", view.between(token, after))
    if token.type == "LBRACKET" and before.type == "AT":
        return _unsupported("annotations `@[…]`", view.between(before, token))
    if token.type == "AT" and before.type == "AT":
        return _unsupported("user-defined aggregates", view.between(before, token))
    return None


def _unsupported(what: str, span: Span) -> Diagnostic:
    verb = "are" if what.rstrip("`").split(" `")[0].endswith("s") else "is"
    return Diagnostic("W0106", f"{what} {verb} not supported yet", span)


def _unclosed_string(view: View) -> Diagnostic | None:
    if view.token.type == UNCLOSED:
        line, column = view.token.line, view.token.column
        return Diagnostic(
            "W0103",
            "string is never closed",
            Span(line, column, line, column + 1, view.source),
            "opened here",
            hint='close it with `"`; a quote inside a string is written `\\"`',
        )
    for token in view.tokens[max(view.begin, view.index - 2) : view.index + 1]:
        if token.type == "STRING" and token.end_line > token.line:
            return Diagnostic(
                "W0103",
                "string is not closed on its line",
                Span(token.line, token.column, token.line, token.column + 1, view.source),
                "opened here",
                notes=(f"it runs on to line {token.end_line}, where the text goes wrong",),
                hint='close it with `"`',
            )
    return None


def _superfluous_dot(view: View) -> Diagnostic | None:
    dot = view.superfluous_dot()
    if not dot:
        return None
    before = view.tokens[dot - 1]
    directive = view.first.type in DIRECTIVES
    return Diagnostic(
        "W0101",
        "unexpected `.`",
        view.at(view.tokens[dot]),
        "expected the next statement" if directive else "expected `(`",
        hint="a directive does not end with `.`"
        if directive
        else f"an atom has parentheses even when nothing stands in them: `{before.text}()`",
    )


def _unknown_qualifier(view: View) -> Diagnostic | None:
    if not view.unknown_qualifier():
        return None
    known = [word for word, terminal in view.table.words.items() if terminal == "QUALIFIER"]
    near = nearest(view.first.text, known)
    return Diagnostic(
        "W0113",
        f"unknown qualifier `{view.first.text}`",
        view.at(view.first),
        hint=f"did you mean `{near}`?" if near else f"known are {_listed(known)}",
    )


def _missing_dot(view: View) -> Diagnostic | None:
    if not view.lacks_dot():
        return None
    return Diagnostic(
        "W0101",
        f"expected {describe(view.expected, view.table)} before {spelling(view.token)}",
        view.behind(view.before),
        "the statement does not end",
        hint="a fact or rule ends with `.`",
    )


def _end(view: View) -> Diagnostic | None:
    if view.token.type != END:
        return None
    hint = "a fact or rule ends with `.`" if "DOT" in view.expected else ""
    return _unexpected(
        view, _not_closed(view) or hint, view.behind(view.before) if view.index else None
    )


def _reserved(view: View) -> Diagnostic | None:
    token = view.token
    if "IDENT" in view.expected and token.text in view.table.words and token.text[0].isalpha():
        return _unexpected(view, _rename(token))
    return None


_RULES: Final[tuple[Callable[[View], Diagnostic | None], ...]] = (
    _unknown_directive,
    _not_yet,
    _unclosed_string,
    _superfluous_dot,
    _unknown_qualifier,
    _missing_dot,
    _end,
    _reserved,
)


def _hint(view: View) -> str:
    token, before = view.token, view.before
    text = token.text[:1] if token.text.startswith(("'", "\\")) else token.text
    if token.text == "<" and view.after.type == "MINUS" and view.touches_next(view.index):
        return "a rule is written with `:-`"
    if view.begins_line(view.index) and token.text in ("%", "-"):
        return "a comment begins with `//`"
    if text in ("=>", "->") and "IF" in view.expected:
        return "the head of a rule comes first: `head :- body.`"
    if view.first.type == "DECL" and token.type == "AT":
        return "`@prov` is an attribute of its own: put `,` before it"
    behind = [t.type for t in view.tokens[max(0, view.index - 4) : view.index]]
    if behind[-3:] == ["AT", "IDENT", "COLON"] or behind == ["AT", "IDENT", "COLON", "IDENT"]:
        return 'a semiring whose name is no plain word is quoted, as in `@prov:"top-2"`'
    if text in _HABITS:
        return _HABITS[text]
    if before.type == "IDENT" and before.text in _HABITS:
        return _HABITS[before.text]
    if before.type in ("AGGREGATE", "MINMAX", "FUNCTION", "MATCH", "AS", "AUTOINC"):
        return _rename(before)
    if token.type == "DOT" and before.type == "RPAREN" and view.first.type == "IDENT":
        return "each fact is a statement of its own, and a rule has a body: `head :- body.`"
    return _not_closed(view) if token.type in DIRECTIVES else ""


def _not_closed(view: View) -> str:
    opened = view.open_bracket()
    return f"`{opened.text}` in line {opened.line} is not closed" if opened else ""


def _listed(words: Sequence[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _rename(token: Token) -> str:
    return f"`{token.text}` is a reserved word; choose another name such as `{token.text}_`"
