"""Run Soufflé's own test programs and compare what is written with what Soufflé wrote.

A test is a folder `<group>/<name>` holding `<name>.dl`, `facts/`, the expected `<relation>.csv`,
the expected standard output `<name>.out` and the messages `<name>.err`. The folders are read from
a checkout of Soufflé; none of them is kept here. All programs run in this one process.

    python tests/conformance/runner.py DIR [--only NAME] [--group GROUP] [--places]
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

GAPS_FILE = Path(__file__).with_name("gaps.toml")
GROUPS = ("syntactic", "semantic", "evaluation", "example")
SECONDS = 30
"""A program of the corpus takes well under a second; one that does not end is a failure."""


# ── what a folder asks for ───────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Case:
    """One test program and what Soufflé makes of it."""

    group: str
    name: str
    folder: Path

    @property
    def id(self) -> str:
        return f"{self.group}/{self.name}"

    @property
    def program(self) -> Path:
        return self.folder / f"{self.name}.dl"

    @property
    def facts(self) -> Path:
        inside = self.folder / "facts"
        return inside if inside.is_dir() else self.folder

    @property
    def messages(self) -> str:
        return _read(self.folder / f"{self.name}.err")

    @property
    def refused(self) -> bool:
        """Whether Soufflé refuses the program or its facts; warnings alone refuse nothing."""
        return any(line.startswith(("Error", "Cannot")) for line in self.messages.split("\n"))

    @property
    def exit_codes(self) -> tuple[int, ...]:
        """How the command may end: Soufflé says 1 also where the facts are at fault."""
        if not self.refused:
            return (0,)
        at_fault = ("Error loading data", "Cannot write")
        return (1, 3) if self.messages.startswith(at_fault) else (1,)

    @property
    def error_lines(self) -> frozenset[int]:
        """The lines of the program that Soufflé's errors point at."""
        found = re.findall(r"^Error: .* at line (\d+)$", self.messages, re.MULTILINE)
        return frozenset(int(line) for line in found)

    @property
    def outputs(self) -> dict[str, Path]:
        return {path.name: path for path in sorted(self.folder.glob("*.csv"))}

    @property
    def stdout(self) -> Path:
        return self.folder / f"{self.name}.out"


def find_cases(root: Path, *, group: str = "", only: str = "") -> list[Case]:
    """Return the tests below a checkout's `tests` folder, in the order of their names."""
    return [
        Case(folder.parent.name, folder.name, folder)
        for name in GROUPS
        if group in ("", name)
        for folder in sorted((root / name).glob("*"))
        if (folder / f"{folder.name}.dl").is_file() and only in folder.name
    ]


# ── what is known not to work ────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Gaps:
    """Why some programs are expected to fail: by a feature they use, or by name."""

    features: tuple[tuple[re.Pattern[str], str], ...] = ()
    programs: tuple[tuple[str, str], ...] = ()

    def feature(self, case: Case) -> str:
        """Return the reason why a feature of the program is not there yet, or nothing."""
        text = _without_comments(_read(case.program))
        return next((why for pattern, why in self.features if pattern.search(text)), "")

    def reason(self, case: Case) -> str:
        """Return why the program is expected to fail, or nothing when it must pass."""
        return dict(self.programs).get(case.id, "") or self.feature(case)


NO_GAPS = Gaps()


def read_gaps(path: Path = GAPS_FILE) -> Gaps:
    """Return the declared gaps."""
    declared = tomllib.loads(path.read_text("utf-8"))
    return Gaps(
        tuple(
            (re.compile(entry["uses"], re.MULTILINE), entry["reason"])
            for entry in declared.get("feature", [])
        ),
        tuple(declared.get("program", {}).items()),
    )


def _without_comments(text: str) -> str:
    strings_or_comments = re.compile(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
    return strings_or_comments.sub(lambda found: found.group(1) or " ", text)


# ── running one ──────────────────────────────────────────────────────────────────────


class Verdict(Enum):
    PASSED = "passed"
    FAILED = "failed"
    GAP = "gap"
    """Failed, as declared."""
    CLOSED = "closed"
    """Passed although a gap is declared: the declaration has to go."""
    SKIPPED = "skipped"
    """Refused by both, but perhaps by us only because a feature is missing."""


@dataclass(frozen=True, slots=True)
class Outcome:
    case: Case
    verdict: Verdict
    detail: str = ""
    """What differs, or the reason of the gap."""
    seconds: float = 0.0
    places: frozenset[int] = frozenset()
    """The lines of the program that our errors point at."""


def run_case(case: Case, gaps: Gaps = NO_GAPS) -> Outcome:
    """Return how the program fared, judged against its folder and the declared gaps."""
    feature, reason = gaps.feature(case), gaps.reason(case)
    if case.refused and feature and reason == feature:
        return Outcome(case, Verdict.SKIPPED, feature)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="conformance-") as out:
        code, stdout, stderr = _whence(case, Path(out))
        detail = _difference(case, code, stdout, stderr, Path(out))
    seconds = time.perf_counter() - started
    places = frozenset(_places(stderr))
    if detail:
        verdict = Verdict.GAP if reason else Verdict.FAILED
        return Outcome(case, verdict, reason or detail, seconds, places)
    verdict = Verdict.CLOSED if reason else Verdict.PASSED
    return Outcome(case, verdict, reason, seconds, places)


def _whence(case: Case, out: Path) -> tuple[int, str, str]:
    from typer.testing import CliRunner

    from whence.app.cli import app

    command = ["run", str(case.program), "-F", str(case.facts), "-D", str(out)]
    result = CliRunner().invoke(app, [*command, "--timeout", f"{SECONDS}s"])
    error = result.exception
    if error is not None and not isinstance(error, SystemExit):
        return -1, "", "".join(traceback.format_exception(error))
    return result.exit_code, result.stdout, result.stderr


def _difference(case: Case, code: int, stdout: str, stderr: str, out: Path) -> str:
    if code == -1:
        return f"traceback: {stderr.strip().splitlines()[-1]}"
    if code not in case.exit_codes:
        expected = " or ".join(map(str, case.exit_codes))
        return f"exit code {code}, expected {expected}: {_headline(stderr)}"
    if case.refused:
        return "" if "error[" in stderr else "refused without a diagnostic"
    if case.stdout.is_file() and (unlike := _unlike(_read(case.stdout), stdout)):
        return f"standard output: {unlike}"
    for name, path in case.outputs.items():
        if not (out / name).is_file():
            return f"{name}: not written"
        if unlike := _unlike(_read(path), _read(out / name)):
            return f"{name}: {unlike}"
    return ""


def _unlike(expected: str, actual: str) -> str:
    """Return how two texts differ as bags of lines, in a few words; nothing when they do not."""
    wanted, got = Counter(_lines(expected)), Counter(_lines(actual))
    missing, extra = list((wanted - got).elements()), list((got - wanted).elements())
    parts = []
    if missing:
        parts.append(f"{len(missing)} missing, such as {missing[0][:100]!r}")
    if extra:
        parts.append(f"{len(extra)} too many, such as {extra[0][:100]!r}")
    return "; ".join(parts)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _places(stderr: str) -> Iterator[int]:
    for found in re.finditer(r"^error\[.*\n +--> .*:(\d+):\d+$", stderr, re.MULTILINE):
        yield int(found.group(1))


def _headline(stderr: str) -> str:
    heads = re.findall(r"^error\[.*$", stderr, re.MULTILINE)
    place = re.search(r"^error\[.*\n +--> .*:(\d+:\d+)$", stderr, re.MULTILINE)
    return f"{heads[0]}{f' at {place.group(1)}' if place else ''}" if heads else "no message"


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace") if path.is_file() else ""


# ── the command ──────────────────────────────────────────────────────────────────────


def summary(outcomes: Iterable[Outcome]) -> str:
    """Return one line: how many of each verdict, and the time they took."""
    outcomes = list(outcomes)
    counts = Counter(outcome.verdict for outcome in outcomes)
    said = ", ".join(f"{counts[v]} {v.value}" for v in Verdict if counts[v])
    return f"{len(outcomes)} programs: {said or 'none found'} ({sum(o.seconds for o in outcomes):.1f} s)"


def main(arguments: list[str] | None = None) -> int:
    """Run the corpus, print a line per failure and the totals; 1 when anything is wrong."""
    parser = argparse.ArgumentParser(description="Run Soufflé's test programs through whence.")
    parser.add_argument("directory", type=Path, help="the `tests` folder of a Soufflé checkout")
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--group", default="", choices=("", *GROUPS))
    parser.add_argument("--places", action="store_true", help="compare the lines of errors, too")
    chosen = parser.parse_args(arguments)
    gaps = read_gaps()
    outcomes: list[Outcome] = []
    for case in find_cases(chosen.directory, group=chosen.group, only=chosen.only):
        outcome = run_case(case, gaps)
        outcomes.append(outcome)
        if outcome.verdict in (Verdict.FAILED, Verdict.CLOSED):
            print(f"{outcome.verdict.value:7} {case.id}: {outcome.detail}", flush=True)
        if chosen.places and case.refused and outcome.verdict is Verdict.PASSED:
            _print_places(case.error_lines, outcome)
    print(summary(outcomes))
    wrong = any(o.verdict in (Verdict.FAILED, Verdict.CLOSED) for o in outcomes)
    return 1 if wrong or not outcomes else 0


def _print_places(theirs: frozenset[int], outcome: Outcome) -> None:
    ours = outcome.places
    if theirs - ours or ours - theirs:
        print(f"places  {outcome.case.id}: only Soufflé {sorted(theirs - ours)}, ", end="")
        print(f"only whence {sorted(ours - theirs)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
