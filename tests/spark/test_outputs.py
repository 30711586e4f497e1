"""Outputs that Spark writes: the same text as everywhere, whole folders or none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from whence.diagnostics import DataError
from whence.engine.spark.frames import as_spark
from whence.facts.directives import read_facts
from whence.facts.schema import columns_of
from whence.spark.outputs import SparkOutputs, outputs_of_spark
from whence.syntax.souffle import parse

pytestmark = pytest.mark.spark

PATH = ".decl path(x: number, y: symbol, u: unsigned, f: float)\n"
ROWS = [(1, "a", 2**64 - 1, 0.5), (-2, "b c", 0, 1e300)]
SCHEMA = "x long, y string, u decimal(20,0), f double"


def frame_of(spark: Any) -> Any:
    kinds = (pa.int64(), pa.string(), pa.uint64(), pa.float64())
    columns = [pa.array(v, t) for v, t in zip(zip(*ROWS, strict=True), kinds, strict=True)]
    return spark.createDataFrame(as_spark(pa.table(columns, names=["x", "y", "u", "f"])))


def write(spark: Any, directive: str, folder: str) -> list[str]:
    (output,) = outputs_of_spark(parse(PATH + directive), folder)
    frame = frame_of(spark)
    with SparkOutputs(spark) as outputs:
        outputs.write(output, frame)
        return outputs.publish()


def files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.name.startswith("part-"))


def test_only_places_with_a_scheme_and_tables_are_spark_s() -> None:
    program = parse(PATH + ".output path\n.printsize path")
    assert outputs_of_spark(program, "out") == []
    assert [o.where for o in outputs_of_spark(program, "s3://b/out")] == ["s3://b/out/path.csv"]


@pytest.mark.parametrize(
    "directive",
    [
        ".output path",
        '.output path(filename="p.csv", rfc4180=true, headers=true)',
        '.output path(filename="p.jsonl")',
        '.output path(IO="parquet")',
        ".output path(compress=true)",
    ],
)
def test_what_is_written_can_be_read_again(spark: Any, tmp_path: Path, directive: str) -> None:
    (where,) = write(spark, directive, f"file://{tmp_path}/out")
    folder = Path(where.removeprefix("file://"))
    assert folder.parent == tmp_path / "out"
    program = parse(PATH + directive)
    (output,) = outputs_of_spark(program, "s3://b")
    tables = [
        read_facts(file, columns_of(program, "path"), output.layout, form=output.form)
        for file in files(folder)
    ]
    found = pa.concat_tables(tables).to_pylist()
    assert sorted(tuple(row.values()) for row in found) == sorted(ROWS)


def test_an_output_takes_the_place_of_the_one_before(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "path.csv").mkdir()
    (tmp_path / "path.csv" / "part-old").write_text("old")
    write(spark, ".output path", f"file://{tmp_path}")
    assert "old" not in {file.read_text() for file in files(tmp_path / "path.csv")}
    assert [p.name for p in tmp_path.iterdir()] == ["path.csv"]


def test_what_fails_leaves_everything_as_it_was(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "path.csv").mkdir()
    (tmp_path / "path.csv" / "part-old").write_text("old")
    (output,) = outputs_of_spark(parse(PATH + ".output path"), f"file://{tmp_path}")

    def broken(batches: Any) -> Any:
        raise ValueError("no rows today")

    good = frame_of(spark)
    bad = good.mapInArrow(broken, SCHEMA)
    with pytest.raises(DataError, match="W1068"), SparkOutputs(spark) as outputs:
        outputs.write(output, bad)
    with pytest.raises(KeyboardInterrupt), SparkOutputs(spark) as outputs:
        outputs.write(output, good)
        raise KeyboardInterrupt
    assert [p.name for p in tmp_path.iterdir()] == ["path.csv"]
    assert [p.read_text() for p in files(tmp_path / "path.csv")] == ["old"]


def test_two_outputs_cannot_have_one_place(spark: Any, tmp_path: Path) -> None:
    both = parse(PATH + '.output path(filename="p")\n.output path(filename="p")')
    first, second = outputs_of_spark(both, f"file://{tmp_path}")
    frame = frame_of(spark)
    with pytest.raises(DataError, match="two outputs"), SparkOutputs(spark) as outputs:
        outputs.write(first, frame)
        outputs.write(second, frame)
    assert list(tmp_path.iterdir()) == []


def test_arrow_files_are_refused_before_anything_runs() -> None:
    with pytest.raises(DataError, match="W1068"):
        outputs_of_spark(parse(PATH + '.output path(IO="arrow")'), "s3://b")
