"""How a program of a network will run, for people: after each pass, and its strands."""

from __future__ import annotations

from collections.abc import Sequence

from whence.network.rewrite.passes import Step
from whence.network.rewrite.seminaive import strands
from whence.syntax.nodes import Program


def show_steps(program: Program, steps: Sequence[Step]) -> str:
    """Return the program as it was written, after each pass that did something, and as strands.

    Passes that left it as it was are named, with the reason where there is one.
    """
    out = [f"── as written\n{program}"]
    for step in steps:
        if step.program == program:
            out.append("\n".join((f"── {step.name}: nothing to do", *_notes(step))))
        else:
            out.append("\n".join((f"── {step.name}", *_notes(step), str(step.program))))
        program = step.program
    out.append("\n".join(("── strands", *map(str, strands(program)))))
    return "\n\n".join(out)


def _notes(step: Step) -> list[str]:
    return [f"// {note}" for note in step.notes]


def steps_as_json(program: Program, steps: Sequence[Step]) -> dict[str, object]:
    """Return the same as values for JSON."""
    last = steps[-1].program if steps else program
    return {
        "program": str(program),
        "passes": [
            {"name": step.name, "program": str(step.program), "notes": list(step.notes)}
            for step in steps
        ],
        "strands": [
            {
                "name": strand.name,
                "rule": strand.rule.name,
                "trigger": strand.trigger,
                "event": strand.event,
                "text": str(strand),
            }
            for strand in strands(last)
        ],
    }
