"""Small networks from text, for tests."""

from __future__ import annotations

from whence.network.simulation import Network, Settings
from whence.syntax.ndlog import parse_ndlog

HARD = "materialize({}, infinity, infinity, keys())."


def network(text: str, addresses: str = "abc", **settings: object) -> Network:
    """Return a network with one-letter addresses; timers begin after a full period."""
    settings.setdefault("jitter", False)
    chosen = Settings(**settings)
    return Network(parse_ndlog(text), list(addresses), settings=chosen)


def tables(*names: str) -> str:
    """Return declarations of hard state without keys."""
    return "\n".join(HARD.format(name) for name in names) + "\n"
