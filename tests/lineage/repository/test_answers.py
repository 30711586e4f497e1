"""Backward and forward give what networkx gives, and what the rules give, on random workflows."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.repository.workflows import (
    Job,
    Quick,
    dependencies,
    entities,
    kept,
    reached,
    workflows,
)
from whence.lineage.reduced import Name
from whence.lineage.repository.repository import Repository

asked = st.lists(entities, min_size=1, max_size=3, unique=True)
EXAMPLES = int(os.environ.get("WHENCE_EXAMPLES", "300"))


def judge(repository: Repository, jobs: list[Job], names: list[Name]) -> None:
    depends = dependencies(jobs)
    known = {name for name in names if name in depends}
    for backward, towards in ((True, depends), (False, depends.reverse())):
        ask = repository.backward if backward else repository.forward
        wanted = reached(towards, names)
        answer = ask(names)
        assert set(answer.entities) == wanted
        assert set(answer.ends) == {n for n in wanted if not towards.out_degree(n)}
        assert set(answer.asked) == known
        assert set(answer.unknown) == set(names) - known
        for job in {each.name for each in jobs}:
            within = dependencies([each for each in jobs if each.name == job])
            within = within if backward else within.reverse()
            one = {a for n in names if n in within for a in within.successors(n)}
            assert set(ask(names, job=job).entities) == one


def judge_rules(repository: Repository, jobs: list[Job], name: Name) -> None:
    """The rules say the same as the walk."""
    place = f'"{name[0]}", {name[1]}'
    for goal, answer in (
        (f"backward({place}, t, n)", repository.backward(name).entities),
        (f"inputs({place}, t, n)", repository.backward(name).ends),
        (f"forward({place}, t, n)", repository.forward(name).entities),
        (f"outputs({place}, t, n)", repository.forward(name).ends),
        (f'job_backward("x", {place}, t, n)', _of_job(repository, jobs, name, backward=True)),
        (f'job_forward("x", {place}, t, n)', _of_job(repository, jobs, name, backward=False)),
    ):
        columns = repository.query(goal).columns[-2:]
        found = set(zip(*(column.to_pylist() for column in columns), strict=True))
        assert found == set(answer), goal


def _of_job(repository: Repository, jobs: list[Job], name: Name, *, backward: bool) -> set[Name]:
    if "x" not in {job.name for job in jobs}:
        return set()
    ask = repository.backward if backward else repository.forward
    return set(ask(name, job="x").entities)


@given(workflows, asked)
def test_answers_are_those_of_networkx(jobs: list[Job], names: list[Name]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        judge(kept(Path(folder) / "r", jobs), jobs, names)


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(workflows, asked)
def test_answers_are_those_of_networkx_on_many(jobs: list[Job], names: list[Name]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        judge(kept(Path(folder) / "r", jobs), jobs, names)


@settings(max_examples=15)
@given(workflows, entities)
def test_rules_and_repository_agree(jobs: list[Job], name: Name) -> None:
    with tempfile.TemporaryDirectory() as folder:
        judge_rules(kept(Path(folder) / "r", jobs), jobs, name)


@pytest.mark.slow
@settings(max_examples=max(1, EXAMPLES // 10))
@given(workflows, entities)
def test_rules_and_repository_agree_on_many(jobs: list[Job], name: Name) -> None:
    with tempfile.TemporaryDirectory() as folder:
        judge_rules(kept(Path(folder) / "r", jobs), jobs, name)


@given(workflows, asked)
def test_the_edges_of_an_answer_have_the_same_answer(jobs: list[Job], names: list[Name]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        whole = kept(Path(folder) / "whole", jobs)
        for backward in (True, False):
            answer = whole.backward(names) if backward else whole.forward(names)
            part = Repository(Path(folder) / f"part-{backward}", files=Quick())
            for run, table in whole.edges(answer):
                part.add(table, workflow=run.workflow, job=run.job)
            again = part.backward(names) if backward else part.forward(names)
            assert again.entities == answer.entities
            assert again.ends == answer.ends
            assert len(whole.runs) >= len(part.runs)


@given(workflows, asked, st.booleans())
def test_what_is_deleted_is_gone_and_the_rest_is_as_if_it_had_never_been(
    jobs: list[Job], names: list[Name], derived: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        repository = kept(Path(folder) / "r", jobs)
        wanted = set(names)
        if derived:
            wanted |= reached(dependencies(jobs).reverse(), names)
        assert set(repository.delete(names, derived=derived)) == wanted
        for job in jobs:  # what was deleted does not come back, in a run that is added again
            repository.add(job.table(), workflow="w", job=job.name)
        left = dependencies(jobs)
        left.remove_nodes_from(wanted)
        again = Repository(Path(folder) / "r", create=False)
        assert set(again.deleted()) == wanted
        for name in list(left):
            assert set(again.backward(name).entities) == reached(left, [name])
            assert set(again.forward(name).entities) == reached(left.reverse(), [name])
        for name in wanted:
            assert set(again.backward(name).unknown) == {name}
