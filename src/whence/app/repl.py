"""A conversation: a program that grows line by line, and goals answered on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Final

from whence import session
from whence.answers import match_goal, print_facts
from whence.diagnostics import Diagnostic, UsageError, nearest, raise_errors
from whence.engine.base import Limits
from whence.facts.directives import load_inputs
from whence.syntax.nodes import Program
from whence.syntax.souffle import parse, parse_goal

if TYPE_CHECKING:
    import pyarrow as pa

SHOWN: Final = 200
"""How many answers are printed before the rest is only counted."""

HELP: Final = """\
.decl edge(x: number, y: number)    declare a relation (also .type, .input, .functor)
edge(1, 2).                         state a fact
path(x, y) :- edge(x, y).           state a rule
path(1, x)?                         ask a goal
.load FILE                          add a program
.list                               print the program
.clear                              forget everything
.help                               print this
.quit                               leave (also Ctrl-D)
A statement may go on over several lines."""

_OWN: Final = (".load", ".list", ".clear", ".help", ".quit", ".exit")
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


@dataclass(slots=True)
class Repl:
    """The program so far, and the line being typed."""

    facts_dir: Path = Path()
    limits: Limits = Limits()
    threads: int | None = None
    warn: Callable[[Diagnostic], None] | None = None
    program: Program = field(default_factory=Program)
    ended: bool = False
    _typed: str = ""
    _inputs: dict[str, pa.Table] | None = None

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
        if not is_complete(text):
            return
        self._typed = ""
        if not text:
            return
        if text.rstrip().endswith("?"):
            yield from self._ask(text)
        else:
            self._check_directive(text)
            self.add(parse(text, name="<repl>"))

    def add(self, more: Program) -> None:
        """Add statements; when the whole would be wrong, nothing is added."""
        joined = join_programs(self.program, more)
        raise_errors(session.check(joined))
        self.program = joined
        self._inputs = None

    def load(self, path: Path) -> None:
        """Add the program in a file."""
        self.add(session.read_program(path))

    def _command(self, name: str, argument: str = "") -> Iterator[str]:
        match name:
            case ".load" if argument:
                self.load(Path(argument))
            case ".load":
                raise UsageError(Diagnostic("W0807", "`.load` needs a file"))
            case ".list":
                yield str(self.program)
            case ".clear":
                self.program = Program()
                self._inputs = None
            case ".help":
                yield HELP
            case _:
                self.ended = True

    def _ask(self, text: str) -> Iterator[str]:
        goal = parse_goal(text)
        started = time.perf_counter()
        compiled = session.compile(self.program, goal=goal)
        if self._inputs is None:
            self._inputs = load_inputs(self.program, self.facts_dir, warn=self.warn)
        evaluation = session.evaluate(
            compiled, self._inputs, limits=self.limits, threads=self.threads
        )
        answers = match_goal(self.program, evaluation, goal)
        seconds = time.perf_counter() - started
        yield from print_facts(self.program, goal.relation, answers.slice(0, SHOWN))
        count = answers.num_rows
        if count > SHOWN:
            yield f"… and {count - SHOWN:,} more"
        noun = "answer" if count == 1 else "answers"
        yield f"{count:,} {noun} in {seconds:.3f} s"

    @staticmethod
    def _check_directive(text: str) -> None:
        word = text.split(maxsplit=1)[0].split("(")[0]
        if (
            word.startswith(".")
            and word.isascii()
            and word[1:].isalpha()
            and word not in _DIRECTIVES
        ):
            near = nearest(word, (*_OWN, *_DIRECTIVES))
            hint = f"did you mean `{near}`?" if near else "`.help` lists what there is"
            raise UsageError(Diagnostic("W0807", f"there is no command `{word}`", hint=hint))


def is_complete(text: str) -> bool:
    """Whether a statement needs no further line: its brackets match and it ends as it should.

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
    if quoted or depth > 0:
        return False
    return text.startswith(".") or last in ("", ".", "?") or depth < 0


def join_programs(first: Program, second: Program) -> Program:
    """Return the statements of both, in order."""
    return Program(
        **{
            each.name: getattr(first, each.name) + getattr(second, each.name)
            for each in fields(Program)
        }
    )
