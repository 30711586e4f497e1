"""What a terminal is shown: diagnostics in colour, and nothing a pipe would choke on."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from typing import TextIO

from whence.diagnostics import Diagnostic, render

_BOLD, _RED, _YELLOW, _BLUE, _CYAN, _OFF = (
    "\x1b[1m",
    "\x1b[1;31m",
    "\x1b[1;33m",
    "\x1b[1;34m",
    "\x1b[36m",
    "\x1b[0m",
)
_FRAME = re.compile(r"^( *(?:\d+ )?(?:-->|\||=)) ?(.*)$")


def wants_colour(stream: TextIO) -> bool:
    """Whether the stream is a terminal whose user did not ask for plain text."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def coloured(diagnostic: Diagnostic) -> str:
    """Return the rendered diagnostic with terminal colours."""
    tone = _RED if diagnostic.severity == "error" else _YELLOW
    head, *rest = render(diagnostic).split("\n")
    title, _, message = head.partition(": ")
    lines = [f"{tone}{title}{_OFF}{_BOLD}: {message}{_OFF}"]
    for line in rest:
        found = _FRAME.match(line)
        if found is None:
            lines.append(line)
            continue
        frame, text = found.groups()
        if text.lstrip().startswith("^"):
            text = f"{tone}{text}{_OFF}"
        elif text.startswith(("hint:", "note:")):
            text = f"{_CYAN}{text[:5]}{_OFF}{text[5:]}"
        lines.append(f"{_BLUE}{frame}{_OFF} {text}".rstrip())
    return "\n".join(lines)


def report(diagnostics: Iterable[Diagnostic], stream: TextIO | None = None) -> None:
    """Print the diagnostics, an empty line after each, to the error stream."""
    stream = sys.stderr if stream is None else stream
    show = coloured if wants_colour(stream) else render
    for diagnostic in diagnostics:
        print(_encodable(show(diagnostic), stream), file=stream, end="\n\n")


def _encodable(text: str, stream: TextIO) -> str:
    """Return the text without what the stream's encoding cannot say."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)
