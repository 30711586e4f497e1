"""Traces of scientific workflows in the format of WfCommons: tasks, with their files."""

from __future__ import annotations

from collections.abc import Iterator

from whence.lineage.events import Edge, Kind
from whence.lineage.names import parse_name
from whence.lineage.statements import NotProv, parse_json


def is_trace(data: bytes) -> bool:
    """Whether a JSON text is such a trace and no PROV."""
    try:
        found = parse_json(data)
    except NotProv:
        return False
    return isinstance(found, dict) and isinstance(found.get("workflow"), dict)


def edges(data: bytes) -> Iterator[Edge]:
    """Give what each task used and generated; tasks and files are `task:NAME` and `file:NAME`.

    The edges of a task that it used are one group, those that it generated another.
    """
    document = parse_json(data)
    workflow = document.get("workflow") if isinstance(document, dict) else None
    tasks = workflow.get("tasks") if isinstance(workflow, dict) else None
    if not isinstance(tasks, list):
        raise NotProv("no trace of a workflow: `workflow` has no list `tasks`")
    for number, task in enumerate(tasks):
        if not isinstance(task, dict):
            raise NotProv(f"task {number + 1} is no object")
        yield from _task(number, task)


def _task(number: int, task: dict[str, object]) -> Iterator[Edge]:
    name = _text(task.get("name"), f"task {number + 1} has no name")
    files = task.get("files", [])
    if not isinstance(files, list):
        raise NotProv(f"`files` of task `{name}` is no list")
    activity = parse_name(f"task:{name}")
    used: list[Edge] = []
    generated: list[Edge] = []
    for file in files:
        if not isinstance(file, dict):
            raise NotProv(f"a file of task `{name}` is no object")
        told = _text(file.get("name"), f"a file of task `{name}` has no name")
        entity = parse_name(f"file:{told}")
        match file.get("link"):
            case "input":
                used.append(Edge(Kind.USED, activity, entity, 2 * number))
            case "output":
                generated.append(Edge(Kind.GENERATED, entity, activity, 2 * number + 1))
            case other:
                raise NotProv(f"file `{told}` of task `{name}` is linked as `{other}`")
    yield from used
    yield from generated


def _text(value: object, why: str) -> str:
    if not isinstance(value, str) or not value:
        raise NotProv(why)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise NotProv(f"{why} that can be written") from None
    return value
