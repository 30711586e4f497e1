"""A conversation: a program that grows line by line, and goals answered on the way."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from whence import session
from whence.answers import print_facts
from whence.database import Database
from whence.diagnostics import Diagnostic, UsageError, WhenceError, nearest, render
from whence.engine.base import Limits
from whence.facts.schema import shown_columns
from whence.rewrite.read_in import PLAIN, read_in, semiring_of
from whence.syntax.nodes import Program
from whence.syntax.souffle import parse_goal

SHOWN: Final = 200
"""How many answers are printed before the rest is only counted."""

HELP: Final = """\
.decl edge(x: number, y: number)    declare a relation (also .type, .input, .functor)
edge(1, 2).                         state a fact
path(x, y) :- edge(x, y).           state a rule
path(1, x)?                         ask a goal
.why path(1, 3)                     print a proof of a fact
.whynot path(3, 1)                  print what a fact lacks
.whatif -edge(1, 2). +edge(1, 3).   print what a change would do; nothing changes
.load FILE                          add a program
.semiring NAME                      annotate facts in it (`plain`: in none)
.list                               print the program
.clear                              forget everything
.help                               print this
.quit                               leave (also Ctrl-D)
A statement may go on over several lines; an empty line ends it."""

_OWN: Final = (
    ".why",
    ".whynot",
    ".whatif",
    ".load",
    ".semiring",
    ".list",
    ".clear",
    ".help",
    ".quit",
    ".exit",
)
_DIRECTIVES: Final = (
    ".decl",
    ".type",
    ".input",
    ".output",
    ".printsize",
    ".limitsize",
    ".functor",
    ".pragma",
    ".plan",
)


class Repl:
    """A database that grows line by line, and the statement being typed."""

    def __init__(
        self,
        *,
        facts_dir: Path = Path(),
        limits: Limits = Limits(),
        threads: int | None = None,
        semiring: str | None = None,
    ) -> None:
        self.ended = False
        self._facts_dir = facts_dir
        self._limits = limits
        self._threads = threads
        self._semiring = semiring
        self._typed = ""
        self._database = self._empty()

    def _empty(self) -> Database:
        return Database(limits=self._limits, threads=self._threads, semiring=self._semiring)

    @property
    def program(self) -> Program:
        """Everything stated so far."""
        return self._database.program

    @property
    def prompt(self) -> str:
        """What stands before the next line."""
        return "......> " if self._typed else "whence> "

    def forget_line(self) -> None:
        """Drop a statement that is not complete yet."""
        self._typed = ""

    def read_line(self, line: str) -> Iterator[str]:
        """Take one line and yield what there is to print; a `WhenceError` changes nothing."""
        if not self._typed and line.strip().split(" ")[0] in _OWN:
            yield from self._command(*line.strip().split(maxsplit=1))
            return
        self._typed = f"{self._typed}{line}\n"
        text = self._typed.strip()
        if line.strip() and not is_complete(text):
            return
        self._typed = ""
        if text.endswith("?"):
            yield from self._ask(text)
        elif text:
            _check_directive(text)
            self._database.load(session.parse(text, name="<repl>"), facts=self._facts_dir)

    def load(self, path: Path) -> None:
        """Add the program in a file."""
        self._database.load(path, facts=self._facts_dir)

    def _command(self, name: str, argument: str = "") -> Iterator[str]:
        match name:
            case ".why" | ".whynot" | ".whatif":
                yield from self._explain(name, argument)
            case ".load" if argument:
                self.load(Path(argument))
            case ".load":
                raise UsageError(Diagnostic("W0807", "`.load` needs a file"))
            case ".semiring" if argument:
                self._read_in(argument)
            case ".semiring":
                found = semiring_of(self.program)
                yield PLAIN if found is None else found.name
            case ".list":
                yield str(self.program)
            case ".clear":
                self._database = self._empty()
            case ".help":
                yield HELP
            case _:
                self.ended = True

    def _explain(self, name: str, argument: str) -> Iterator[str]:
        from whence.app import explain
        from whence.explain.text import as_text

        if name == ".whatif":
            yield from self._suppose(*explain.supposed(argument))
        elif not argument:
            raise UsageError(Diagnostic("W0807", f"`{name}` needs a fact, such as `path(1, 3)`"))
        elif name == ".why":
            yield as_text(*explain.derivation(self._database, explain.asked(argument)))
        else:
            yield str(self._database.why_not(explain.asked(argument)))

    def _suppose(self, goes: list[str], comes: list[str]) -> Iterator[str]:
        """Yield the changes of all relations that would change, up to some."""
        from whence.app.explain import without_effect
        from whence.view.written import write_change

        changes = self._database.what_if(delete=goes, insert=comes)
        yield from (render(warning) for warning in without_effect(self._database, goes, comes))
        lines = [
            line
            for name, change in changes.items()
            for line in write_change(change, shown_columns(self.program, name)).splitlines()
        ]
        yield from (line.decode() for line in lines[:SHOWN])
        if len(lines) > SHOWN:
            yield f"… and {len(lines) - SHOWN:,} more"
        if not lines:
            yield "nothing would change"

    def _read_in(self, semiring: str) -> None:
        """Begin again with the same program, annotated in another semiring."""
        before, self._semiring = self._semiring, semiring
        try:
            database = self._empty()
            read_in(self.program, semiring)
            if self.program != Program():
                database.load(self.program, facts=self._facts_dir)
        except WhenceError:
            self._semiring = before
            raise
        self._database = database

    def _ask(self, text: str) -> Iterator[str]:
        started = time.perf_counter()
        answers = self._database.query(text)
        seconds = time.perf_counter() - started
        count = len(answers)
        relation = parse_goal(text).relation
        yield from print_facts(self.program, relation, answers.to_arrow().slice(0, SHOWN))
        if count > SHOWN:
            yield f"… and {count - SHOWN:,} more"
        yield f"{count:,} {'answer' if count == 1 else 'answers'} in {seconds:.3f} s"


def _check_directive(text: str) -> None:
    word = text.split(maxsplit=1)[0].split("(")[0]
    if word.startswith(".") and word[1:].isalpha() and word not in _DIRECTIVES:
        near = nearest(word, (*_OWN, *_DIRECTIVES))
        hint = f"did you mean `{near}`?" if near else "`.help` lists what there is"
        raise UsageError(Diagnostic("W0807", f"there is no command `{word}`", hint=hint))


def is_complete(text: str) -> bool:
    """Whether a statement needs no further line: it ends as it should, or it is a directive.

    >>> is_complete("edge(1, 2)."), is_complete("path(x, y) :-"), is_complete(".decl a(x: number)")
    (True, False, True)
    """
    depth, quoted, index, last = 0, False, 0, ""
    while index < len(text):
        char = text[index]
        if quoted:
            if char == "\\":
                index += 1
            quoted = char != '"'
        elif text.startswith(("//", "/*"), index):
            line = text[index + 1] == "/"
            end = text.find("\n" if line else "*/", index + 2)
            if end < 0:
                index = len(text)
                if not line:
                    return False
            else:
                index = end + 1
        else:
            quoted = char == '"'
            depth += (char in "([{") - (char in ")]}")
            last = last if char.isspace() else char
        index += 1
    if quoted:
        return False
    return last in ("", ".", "?") or depth < 0 or (text.startswith(".") and depth == 0)
