"""What can be asked about, and how far answers go unless more is asked."""

from __future__ import annotations

from typing import Final

from whence.explain.model import Fact
from whence.syntax.nodes import Atom

Asked = str | Atom | Fact
"""A fact that is asked about: its text, such as `path(1, 2)`, or the thing itself."""

MAX_INSTANCES: Final = 200_000
"""Rule instances of a cone beyond which it is not searched any further, unless more are asked."""

MAX_TUPLES: Final = 20_000
"""Tuples that the search for failed instances of one rule looks at, unless more are asked."""

OVER: Final = 3
"""How many of the facts that an aggregate is over are proved, unless more are asked."""

NEAREST: Final = 3
"""How many failed instances are told of each rule, unless more are asked."""
