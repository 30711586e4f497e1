"""PROV-JSON statements as edges: what counts, what is filtered out, and what is wrong.

This is the definition of what a line or a document says. The kernel that reads lines quickly
leaves to it whatever has another form than the usual one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, NoReturn

from whence.lineage.events import NO_GROUP, Edge, Kind
from whence.lineage.names import parse_name

RELATIONS: Final = {
    "used": (Kind.USED, "prov:activity", "prov:entity"),
    "wasGeneratedBy": (Kind.GENERATED, "prov:entity", "prov:activity"),
    "wasDerivedFrom": (Kind.DERIVED, "prov:generatedEntity", "prov:usedEntity"),
    "hadMember": (Kind.MEMBER, "prov:collection", "prov:entity"),
    "wasEndedBy": (Kind.END, "prov:activity", None),
}
"""Relations that are edges, with the keys of source and target.

`wasEndedBy` is an end marker if it says which attempt ended, and one of the others if not.
"""

GROUP, ATTEMPT, WORKER, TIME = "whence:group", "whence:attempt", "whence:worker", "prov:time"

FILTERED: Final = frozenset(
    {
        "entity",
        "activity",
        "agent",
        "wasStartedBy",
        "wasEndedBy",
        "wasInvalidatedBy",
        "wasInformedBy",
        "wasAttributedTo",
        "wasAssociatedWith",
        "actedOnBehalfOf",
        "wasInfluencedBy",
        "specializationOf",
        "alternateOf",
        "mentionOf",
    }
)
"""Elements and relations of PROV that say nothing about what was derived from what."""

_INT64: Final = 2**63
_INT32: Final = 2**31


class NotProv(Exception):
    """A text that is no PROV-JSON, and the word in it that shows this."""

    def __init__(self, why: str, word: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.word = word


def parse_json(text: str | bytes) -> object:
    """Return what a JSON text says; every key of an object must be there once."""
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_constant)
    except UnicodeDecodeError as fault:
        raise NotProv(f"byte {fault.start + 1} is no UTF-8") from None
    except json.JSONDecodeError as fault:
        why = fault.msg[:1].lower() + fault.msg[1:]
        raise NotProv(f"no JSON: {why} at character {fault.pos + 1}") from None
    except RecursionError:
        raise NotProv("objects are nested too deeply") from None
    except ValueError as fault:  # a number of more digits than Python converts
        raise NotProv(f"no JSON that can be read: {fault}") from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        key = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise NotProv(f"the key `{key}` is there twice", key)
    return found


def _constant(text: str) -> NoReturn:
    raise NotProv(f"`{text}` is no JSON", text)


def statements(document: object, filtered: Counter[str], *, nested: bool = False) -> Iterator[Edge]:
    """Give the edges that a PROV-JSON object states; count what else it states."""
    if not isinstance(document, dict):
        raise NotProv("an object is expected")
    for name, content in document.items():
        if name == "prefix":
            continue
        if name == "bundle" and not nested:
            for bundle in _object(content, name).values():
                yield from statements(bundle, filtered, nested=True)
            continue
        if name not in RELATIONS and name not in FILTERED:
            raise NotProv(f"`{name}` is no relation of PROV", name)
        for records in _object(content, name).values():
            for record in records if isinstance(records, list) else [records]:
                found = list(_edges(name, _object(record, name)))
                yield from found
                if not found:
                    filtered[name] += 1


def _edges(name: str, record: dict[str, object]) -> Iterator[Edge]:
    relation = RELATIONS.get(name)
    if relation is None or (name == "wasEndedBy" and ATTEMPT not in record):
        return
    kind, source_key, target_key = relation
    source = record.get(source_key)
    # In PROV one end of a usage or a generation may be unknown; no path leads through that.
    if source is None or (target_key is not None and record.get(target_key) is None):
        return
    target = None if target_key is None else record[target_key]
    group, time = _number(record, GROUP, NO_GROUP, _INT64), _time(record)
    attempt, worker = _number(record, ATTEMPT, 0, _INT32), _number(record, WORKER, 0, _INT32)
    for end in target if isinstance(target, list) and kind is Kind.MEMBER else [target]:
        told = None if target_key is None else _name(end, target_key)
        yield Edge(kind, _name(source, source_key), told, group, attempt, worker, time)


def _object(value: object, name: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise NotProv(f"an object is expected for `{name}`", name)
    return value


def _name(value: object, key: str) -> tuple[str, int]:
    if isinstance(value, dict):  # a typed name, as some libraries write it
        value = value.get("$")
    if not isinstance(value, str) or not value:
        raise NotProv(f"`{key}` is no name", key)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise NotProv(f"`{key}` has half a character", key) from None
    return parse_name(value)


def _number(record: dict[str, object], key: str, default: int, limit: int) -> int:
    value = record.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool):
        raise NotProv(f"`{key}` is no whole number", key)
    if not -limit <= value < limit:
        raise NotProv(f"`{key}` is too large", key)
    return value


def _time(record: dict[str, object]) -> datetime | None:
    value = record.get(TIME)
    if value is None:
        return None
    try:
        time = datetime.fromisoformat(value)  # type: ignore[arg-type]
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        raise NotProv(f"`{TIME}` is no time", TIME) from None
