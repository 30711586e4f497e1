"""What an engine cannot do yet, and why: the only list of such cases.

A case that is here must fail, so that a gap that has closed is taken out.
"""

from __future__ import annotations

GAPS: dict[tuple[str, str], str] = {}
"""Reasons by the name of the case and the way it is run: `local`, `spark`, or a strategy."""
