"""Shared by all tests: Hypothesis settings, marks, the folder of datasets, golden files."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import matplotlib
import pandas as pd
import pytest

matplotlib.use("Agg")
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None)
hypothesis.settings.load_profile("ci")

DATA_FOLDER = os.environ.get("TREMULA_DATA")
GOLDEN_FOLDER = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-golden", action="store_true", help="store what the code gives now as the golden files")


def pytest_configure(config: pytest.Config) -> None:
    if DATA_FOLDER and not Path(DATA_FOLDER).is_dir():
        raise pytest.UsageError(f"TREMULA_DATA={DATA_FOLDER!r} is no folder: unset it, or name the folder of datasets")


@pytest.hookimpl(tryfirst=True)  # before pytest selects by mark
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_further_variants_slow(items)
    if DATA_FOLDER:
        return
    for item in items:
        if item.get_closest_marker("data"):
            item.add_marker(pytest.mark.skip(reason="TREMULA_DATA is not set: it names the folder of datasets"))


def mark_further_variants_slow(items: list[pytest.Item]) -> None:
    """Keep scikit-learn's checks in the default run for the first variant of each estimator class in a file."""
    first_variants: dict[tuple[Path, type], Any] = {}
    for item in items:
        parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        if not {"estimator", "check"} <= parameters.keys():
            continue
        estimator = parameters["estimator"]
        if first_variants.setdefault((item.path, type(estimator)), estimator) is not estimator:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    """Close what a test has drawn: matplotlib warns of many open figures."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="module")
def dask_client() -> Iterator[Any]:
    """Give the client of a Dask cluster of two processes on this machine, for tests marked `dask`."""
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed: pip install '.[test]'")
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
    with cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture
def no_waiting_for_ever() -> Iterator[None]:
    """End a test whose results never come: an error on the way to a cluster shows only in Dask's log."""
    if not hasattr(signal, "SIGALRM"):
        pytest.skip("needs an alarm, as POSIX has it")
    signal.signal(signal.SIGALRM, lambda *_: pytest.fail("no answer from the cluster after a minute"))
    signal.alarm(60)
    yield
    signal.alarm(0)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of datasets, for tests marked `data`."""
    if not DATA_FOLDER:
        pytest.fail("a test that uses the folder of datasets must be marked `data`")
    return Path(DATA_FOLDER)


@pytest.fixture(scope="session")
def load_dataset(data_folder: Path) -> Callable[[str], tuple[pd.DataFrame, pd.Series]]:
    """Read a dataset of the folder by its name: the attributes and the target."""

    def load(name: str) -> tuple[pd.DataFrame, pd.Series]:
        frame = pd.read_parquet(data_folder / f"{name}.parquet")
        return frame.drop(columns="target"), frame["target"]

    return load


@pytest.fixture
def assert_golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with a stored one; ``pytest --rewrite-golden`` stores it instead, to be read in review."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN_FOLDER / name
        if request.config.getoption("--rewrite-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return compare
