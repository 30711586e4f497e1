"""Rewrites as commands name them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from whence.app.cli import app
from whence.network.protocols.library import protocol_path

RING = ("net", "run", "path_vector", "--topology", "ring", "--nodes", "6", "--quiet")


def call(*args: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, args)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.output


def paths(*words: str) -> Any:
    options = [part for word in words for part in ("--rewrite", word)]
    return sorted(
        json.loads(call(*RING, "--format", "json", *options))["relations"]["shortestPath"]
    )


@pytest.mark.parametrize(
    "words",
    [
        ("period=0.2",),
        ("share=0.1",),
        ("search=from-source",),
        ("no-aggregate_selections", "no-backward"),
        pytest.param(("share=0.1", "period=0.1"), marks=pytest.mark.network, id="real"),
    ],
    ids=" ".join,
)
def test_a_network_is_run_with_rewrites(
    words: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    real = ("--real", "--scheme", "counting") if "real" in request.node.name else ()
    options = [part for word in words for part in ("--rewrite", word)]
    found = json.loads(call(*RING, "--format", "json", *real, *options))
    assert sorted(found["relations"]["shortestPath"]) == paths()


def test_a_plan_shows_the_rewrites_that_are_named() -> None:
    file = str(protocol_path("path_vector"))
    shown = call("plan", file, "--goal", "shortestPath(@a,b,P,C)", "--rewrite", "search=hybrid")
    assert "found2 pathReply(@M" in shown
    found = json.loads(call("plan", file, "--rewrite", "period=2", "--format", "json"))
    assert "every 2" in found["passes"][-1]["program"]


@pytest.mark.parametrize("word", ["no-localize", "speed=9"])
def test_a_word_that_means_nothing_is_a_mistake(word: str) -> None:
    assert "W1383" in call(*RING, "--rewrite", word, code=2)
