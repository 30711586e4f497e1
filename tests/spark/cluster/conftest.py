"""Clusters on this machine, with a driver each, once for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from spark.cluster.driver import Driver, driver
from spark.cluster.places import bare_python, local_cluster, standalone


@pytest.fixture(scope="package")
def on_local_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """A driver on Spark's cluster in miniature."""
    folder = tmp_path_factory.mktemp("local-cluster")
    with local_cluster() as cluster, driver(cluster, folder / "driver") as found:
        yield found


@pytest.fixture(scope="package")
def on_standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """A driver on a standalone master with two workers, whose Python does not have Whence."""
    folder = tmp_path_factory.mktemp("standalone")
    python = bare_python(folder / "bare")
    with (
        standalone(folder) as cluster,
        driver(cluster, folder / "driver", python=python) as found,
    ):
        yield found
