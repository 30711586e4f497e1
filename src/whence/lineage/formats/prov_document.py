"""Documents of W3C PROV as edges, read by the package `prov`.

A name keeps the prefix that the document gives it. A name without one, or with one that a library
made up, and one whose prefix means something else in the document or here, is its whole URI.
"""

from __future__ import annotations

import io
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from whence.diagnostics import Diagnostic, UsageError
from whence.lineage.events import NO_GROUP, Edge, Kind
from whence.lineage.names import NAMESPACE, PREFIX, parse_name, print_name
from whence.lineage.statements import (
    ATTEMPT,
    GROUP,
    RELATIONS,
    WORKER,
    NotProv,
    parse_json,
    statements,
)

if TYPE_CHECKING:
    from prov.identifier import QualifiedName
    from prov.model import ProvDocument, ProvRecord

FORMS: Final[Mapping[str, str]] = {
    "prov-json": "json",
    "prov-n": "provn",
    "prov-xml": "xml",
    "prov-rdf": "rdf",
}
"""Our names of the forms of PROV, and those of the package."""

# What rdflib calls a namespace for which a document has no prefix; others would call it otherwise.
_INVENTED: Final = re.compile(r"ns\d+")
_ENCODING: Final = re.compile(r"""<\?xml[^>]*?\sencoding\s*=\s*["']([^"']*)""", re.DOTALL)
_INT64: Final = 2**63
_INT32: Final = 2**31


def parse(data: bytes, form: str) -> ProvDocument:
    """Return the document that the bytes are."""
    try:
        from prov.model import ProvDocument
    except ImportError:
        raise _missing("prov") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise NotProv(f"byte {fault.start + 1} is no UTF-8") from None
    if form == "prov-xml" or text.lstrip().startswith("<"):
        _check_xml(text, form)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what is odd but can be read
            options: dict[str, Any] = {"format": FORMS[form]}
            if form == "prov-rdf":
                options["rdf_format"] = "xml" if _is_xml(text) else "trig"
            source = io.BytesIO(text.encode())
            found: ProvDocument | None = ProvDocument.deserialize(source, **options)
    except ImportError as fault:
        raise _missing(fault.name or "prov") from None
    except RecursionError:
        raise NotProv("it is nested too deeply") from None
    except Exception as fault:  # of whatever kind the parser has for it
        lines = str(fault).splitlines() or [type(fault).__name__]
        raise NotProv(f"no {form}: {lines[0][:300]}") from None
    if found is None:
        raise NotProv(f"no {form}: there is no document")
    return found


def _is_xml(text: str) -> bool:
    return text.lstrip().startswith(("<?xml", "<rdf:RDF"))


def check_json(data: bytes, found: int) -> None:
    """See that as many edges were found as the text states: `prov` drops names it cannot place."""
    document = parse_json(data.decode("utf-8-sig"))
    stated = list(statements(document, Counter()))
    if len(stated) == found:
        return
    known = _declared(document)
    names = (print_name(*node) for edge in stated for node in (edge.source, edge.target) if node)
    for name in names:
        if (prefix := name.partition(":")[0]) not in known:
            raise NotProv(f"the prefix `{prefix}` is not declared")
    raise NotProv(f"{len(stated)} edges are stated, and {found} of them can be read")


def _declared(document: object) -> set[str]:
    if not isinstance(document, dict):
        return set()
    bundles = document.get("bundle", {}).values()
    return {PREFIX, *document.get("prefix", {})}.union(*(_declared(b) for b in bundles))


def _check_xml(text: str, form: str) -> None:
    """Refuse document types: their entities can read files and grow without bounds."""
    # A parser that takes the bytes for another encoding would see other signs than we do.
    if "\0" in text or not _is_like_ascii(_ENCODING.match(text.lstrip())):
        raise NotProv(f"no {form}: it is not in UTF-8")
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise NotProv(f"no {form}: a document type is not read")


def _is_like_ascii(declared: re.Match[str] | None) -> bool:
    """Whether the encoding that a document declares, if any, has the signs of ASCII as they are."""
    if declared is None:
        return True
    signs = bytes(range(1, 128))
    try:
        return signs.decode(declared[1]) == signs.decode()
    except (LookupError, UnicodeError):
        return False


def _missing(package: str) -> UsageError:
    hint = 'install them: `pip install "whence[provenance]"`'
    message = f"documents of PROV need libraries that are not there: `{package}`"
    return UsageError(Diagnostic("W1111", message, hint=hint))


def edges(
    document: ProvDocument, filtered: Counter[str], prefixes: dict[str, str]
) -> Iterator[Edge]:
    """Give the edges of a document and its bundles; count what else it states.

    What prefixes of names mean is added to `prefixes`.
    """
    from prov.model import PROV_N_MAP

    for bundle in (document, *document.bundles):
        for record in bundle.records:
            name = PROV_N_MAP[record.get_type()]
            edge = _edge(name, record, prefixes)
            if edge is None:
                filtered[name] += 1
            else:
                yield edge


def _edge(name: str, record: ProvRecord, prefixes: dict[str, str]) -> Edge | None:
    relation = RELATIONS.get(name)
    if relation is None:
        return None
    kind, source_key, target_key = relation
    formal = {str(key): value for key, value in record.formal_attributes}
    extra = {str(key): value for key, value in record.extra_attributes}
    source = formal.get(source_key)
    target = None if target_key is None else formal.get(target_key)
    if source is None or (target is None and target_key is not None):
        return None
    if kind is Kind.END and ATTEMPT not in extra:
        return None
    return Edge(
        kind,
        _node(source, prefixes),
        None if target is None else _node(target, prefixes),
        _number(extra, GROUP, NO_GROUP, _INT64),
        _number(extra, ATTEMPT, 0, _INT32),
        _number(extra, WORKER, 0, _INT32),
        _time(formal.get("prov:time")),
    )


def _node(name: QualifiedName, prefixes: dict[str, str]) -> tuple[str, int]:
    prefix, uri = name.namespace.prefix, name.namespace.uri
    if _INVENTED.fullmatch(prefix):
        prefix = ""
    known = NAMESPACE if prefix == PREFIX else prefixes.setdefault(prefix, uri) if prefix else None
    return parse_name(f"{prefix}:{name.localpart}" if known == uri else f"{uri}{name.localpart}")


def _number(extra: Mapping[str, object], key: str, default: int, limit: int) -> int:
    value = extra.get(key, default)
    if not isinstance(value, int) or not -limit <= value < limit:
        raise NotProv(f"`{key}` is no number that it can be")
    return value


def _time(value: object) -> datetime | None:
    if not isinstance(value, datetime):
        return None
    try:
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:
        raise NotProv("a time is none that can be kept") from None
