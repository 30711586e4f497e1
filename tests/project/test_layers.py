"""Imports go one way, down the pipeline; a lazy import inside a function counts too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import whence

PACKAGE = Path(whence.__file__).parent

# From the top to the bottom. A module may import its own layer and those further down; names on
# one line are neighbours and must not import each other.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("__main__",),
    ("app",),
    ("__init__",),
    ("lineage", "network"),  # lineage asks in rules and runs on Spark, so it stands above both
    ("spark",),
    ("database",),
    ("explained", "in_sql"),
    ("explaining",),
    ("durable",),
    ("committed",),
    ("sql",),
    ("derived", "journal", "subscription", "table", "answers", "transaction"),
    ("loading", "netting"),
    ("rows",),
    ("session",),
    ("explain",),
    ("view",),
    ("compiled",),
    ("facts", "engine", "store"),
    ("plan",),
    ("rewrite",),
    ("analysis",),
    ("functor",),
    ("syntax",),
    ("semiring", "plotting"),
    ("diagnostics",),
)
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
MODULES = sorted(PACKAGE.rglob("*.py"))


def layer_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}:{node.lineno}: relative import"
            module = node.module or ""
            if module == "whence":
                for alias in node.names:
                    yield node.lineno, f"whence.{alias.name}"
            else:
                yield node.lineno, module


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_module_imports_only_from_its_layer_or_below(path: Path) -> None:
    here = layer_of(module_of(path))
    for line, module in imports(path):
        if module.split(".")[0] != "whence":
            continue
        there = layer_of(module)
        if there not in RANK:  # `from whence import __version__`
            there = "__init__"
        if there == "__init__" and here in ("app", "__main__"):
            continue
        allowed = there == here or RANK[there] > RANK[here]
        assert allowed, f"{path}:{line}: {here} must not import {module}"


def test_every_package_and_module_has_a_layer() -> None:
    found = {layer_of(module_of(path)) for path in MODULES}
    assert found <= set(RANK), f"no layer for {sorted(found - set(RANK))}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_module_opens_with_what_it_is_for(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert docstring, f"{path} has no docstring"
