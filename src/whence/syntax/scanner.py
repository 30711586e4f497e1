"""Tokens with their places, from the terminals of a grammar; comments are kept apart for `fmt`.

Only what the parser never sees is reported here (an unclosed comment, a preprocessor line). A
stray character becomes a token that no grammar expects, to be reported in its context.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple

from whence.diagnostics import Diagnostic, Source, Span
from whence.syntax.table import END, load

STRAY: Final = "STRAY"
UNCLOSED: Final = "UNCLOSED"
UNKNOWN_DIRECTIVE: Final = "UNKNOWN_DIRECTIVE"


class Token(NamedTuple):
    """A word of the text; lines and columns count from 1, the end column is exclusive."""

    type: str
    text: str
    line: int
    column: int
    end_line: int
    end_column: int
    position: int


class Comment(NamedTuple):
    """A comment, or a line marker of a preprocessor, and the index of the token after it."""

    text: str
    line: int
    column: int
    end_line: int
    before: int


@dataclass(slots=True)
class Scan:
    """All tokens of a text, the last of type `$END`."""

    tokens: list[Token] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)


# What a grammar has no word for becomes one token all the same, to be spoken of as a whole.
_HABITS: Final = (":=", "==", "=>", "=<", "->", "<>", "<<", ">>>", ">>", "**", "&&", "||", "^^")
_LONG_HABITS: Final = r"choice-domain\b|'[^'\n]*'"
_LINE_MARKER: Final = re.compile(r"#\s*(?:line\s+)?\d")
_PREPROCESSOR: Final = re.compile(
    r"#\s*(define|undef|include|if|ifdef|ifndef|elif|else|endif|pragma|error|warning)\b"
)


@cache
def _pattern(grammar: str) -> re.Pattern[str]:
    table = load(grammar)
    signs = sorted((w for w in table.words if not w[0].isalpha()), key=lambda w: (-len(w), w))
    habits = [word for word in _HABITS if word not in table.words]
    parts = {
        "_SPACE": r"[\s\ufeff]+",
        "_COMMENT": r"//[^\n]*|/\*(?s:.*?)\*/",
        **({} if "#" in table.words else {"_HASH": r"#(?:\\(?s:.)|[^\n\\])*"}),
        "_DOTTED": "|".join(re.escape(w) + r"(?![\w?(])" for w in signs if w[1:].isidentifier())
        or "(?!)",
        "_UNKNOWN": r'(?<!\S)\.[a-z_]+(?=[ \t]+[\w?"])',
        "_HABIT": "|".join([_LONG_HABITS, *map(re.escape, habits)]),
        **table.patterns,
        "_UNCLOSED": r'"|/\*',
        "_SIGN": "|".join(re.escape(w) for w in signs if not w[1:].isidentifier()),
        "_OTHER": r"\w+|(?s:.)",
    }
    return re.compile("|".join(f"(?P<{name}>{regex})" for name, regex in parts.items()))


def scan(source: Source, grammar: str = "souffle") -> Scan:
    """Return the tokens and comments of a text."""
    text, words = source.text, load(grammar).words
    pattern = _pattern(grammar)
    found = Scan()
    tokens = found.tokens
    line, line_start, position, unclosed = 1, 0, 0, 0
    while position < len(text) and unclosed < 2:
        for match in pattern.finditer(text, position):
            kind, start, position = match.lastgroup or "", match.start(), match.end()
            if kind == "IDENT" or kind == "_SIGN" or kind == "_DOTTED":
                word = match.group()
                column = start - line_start + 1
                tokens.append(
                    Token(
                        words.get(word, "IDENT"),
                        word,
                        line,
                        column,
                        line,
                        column + position - start,
                        len(tokens),
                    )
                )
                continue
            first_line, column = line, start - line_start + 1
            word = match.group()
            if kind == "_UNCLOSED":
                # The second time the rest is given up: each try reads to the end of the text.
                unclosed += 1
                newline = text.find("\n", start)
                position = len(text) if word == "/*" or newline < 0 else newline
                end = column + position - start
                if word == "/*":
                    found.diagnostics.append(_unclosed_comment(line, column, source))
                else:
                    rest = text[start:position]
                    tokens.append(Token(UNCLOSED, rest, line, column, line, end, len(tokens)))
                break
            if "\n" in word:
                line += word.count("\n")
                line_start = start + word.rfind("\n") + 1
            if kind == "_SPACE":
                continue
            if kind == "_COMMENT" or kind == "_HASH":
                found.comments.append(Comment(word, first_line, column, line, len(tokens)))
                if kind == "_HASH" and not _LINE_MARKER.match(word):
                    found.diagnostics.append(_hash(word, first_line, column, source))
                continue
            if kind == "_UNKNOWN":
                kind = UNKNOWN_DIRECTIVE
            elif kind[0] == "_":
                kind = STRAY
            end = position - line_start + 1
            tokens.append(Token(kind, word, first_line, column, line, end, len(tokens)))
    column = len(text) - line_start + 1
    tokens.append(Token(END, "", line, column, line, column, len(tokens)))
    return found


def _unclosed_comment(line: int, column: int, source: Source) -> Diagnostic:
    return Diagnostic(
        "W0104",
        "comment is never closed",
        Span(line, column, line, column + 2, source),
        "opened here",
        hint="close it with `*/`",
    )


def _hash(word: str, line: int, column: int, source: Source) -> Diagnostic:
    found = _PREPROCESSOR.match(word)
    name = found.group() if found else "#"
    place = Span(line, column, line, column + len(name), source)
    if found:
        return Diagnostic(
            "W0106",
            f"preprocessor directive `{name}` is not supported yet",
            place,
            hint="run the program through a C preprocessor first",
        )
    return Diagnostic("W0102", "unexpected `#`", place, hint="a comment begins with `//`")
