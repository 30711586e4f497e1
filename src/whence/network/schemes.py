"""The schemes and shippers by name, and which scheme a program needs to be kept exact."""

from __future__ import annotations

from collections.abc import Callable

from whence.analysis.ndlog.derivations import acyclic
from whence.diagnostics import Diagnostic, ProgramError, UsageError
from whence.network.model import Scheme, Shipper
from whence.network.program import NodeProgram

SchemeMaker = Callable[[], Scheme]
ShipperMaker = Callable[[], Shipper | None]


def _counting() -> Scheme:
    from whence.network.provenance.counting import Counting

    return Counting()


def _absorption() -> Scheme:
    from whence.network.provenance.absorption import Absorption

    return Absorption()


def _relative() -> Scheme:
    from whence.network.provenance.relative import Relative

    return Relative()


def _dred() -> Scheme:
    from whence.network.provenance.dred import OverDeletion

    return OverDeletion()


def _eager() -> Shipper:
    from whence.network.provenance.minship import MinShip

    return MinShip(batch=1)


def _lazy() -> Shipper:
    from whence.network.provenance.minship import MinShip

    return MinShip()


SCHEMES: dict[str, SchemeMaker] = {
    "counting": _counting,
    "absorption": _absorption,
    "relative": _relative,
    "dred": _dred,
}
SHIPPERS: dict[str, ShipperMaker] = {"plain": lambda: None, "eager": _eager, "lazy": _lazy}


def scheme_for(program: NodeProgram, name: str = "auto") -> SchemeMaker:
    """Return what makes the scheme of each node; `auto` counts where counting is exact."""
    cyclic = program.views - acyclic(program.source)
    if name == "auto":
        name = "absorption" if cyclic else "counting"
    if name not in SCHEMES:
        raise UsageError(
            Diagnostic(
                "W1359",
                f"there is no scheme `{name}`",
                hint="one of " + ", ".join(("auto", *SCHEMES)),
            )
        )
    if name == "counting" and cyclic:
        worst = min(cyclic)
        raise ProgramError(
            Diagnostic(
                "W1360",
                f"a tuple of `{worst}` may take part in its own derivation, so that its count "
                "would never fall to zero",
                hint="use the scheme `absorption`, `relative` or `dred`, or `auto`",
            )
        )
    return SCHEMES[name]


def shipper_for(name: str) -> ShipperMaker:
    """Return what makes the shipper of each node."""
    if name not in SHIPPERS:
        raise UsageError(
            Diagnostic(
                "W1361", f"there is no way to ship `{name}`", hint="one of " + ", ".join(SHIPPERS)
            )
        )
    return SHIPPERS[name]
