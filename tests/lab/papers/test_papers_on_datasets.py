"""The domains of the papers as the folder of datasets has them: sizes of published numbers, and how rows are split."""

import numpy as np
import pytest

from tremula.lab.experiments.cell import Cell
from tremula.lab.papers.dietterich2000.domains import DOMAINS, load_table, split_of
from tremula.lab.papers.dietterich2000.figures import MeasureWeights
from tremula.lab.papers.dietterich2000.protocol import BOOSTED
from tremula.lab.papers.published import read_published
from tremula.lab.papers.variance_reduction.bagging import DATASETS, divide

pytestmark = pytest.mark.data
PUBLISHED = {row["domain"]: row for row in read_published("dietterich2000_table1").rows}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_domain_has_as_many_rows_as_its_limits_say(name: str) -> None:
    table = load_table(name, seed=0)
    _, test = split_of(name, table.y, 0, seed=0)
    n_rows = len(test) if PUBLISHED[name]["estimate"] == "test" else len(table.y)
    assert n_rows == int(PUBLISHED[name]["n"])


@pytest.mark.parametrize("name", [name for name, domain in DOMAINS.items() if not domain.confirmed])
def test_a_recalled_domain_can_be_divided(name: str) -> None:
    table = load_table(name, seed=0)
    train, test = split_of(name, table.y, 0, seed=0)
    assert len(train) + len(test) == len(table.y)
    assert len(np.unique(table.y[train])) > 1


def test_files_of_the_chess_board_are_numbers() -> None:
    table = load_table("krk", seed=0)
    assert table.categorical_features is None
    assert np.unique(table.X).tolist() == list(range(9))  # files from 0, ranks from 1


@pytest.mark.parametrize("rate", [5, 10, 20])
def test_noise_changes_so_many_percent_of_all_rows(rate: int) -> None:
    table = load_table(f"sick, {rate} % noise", seed=0)
    assert abs(int(table.corrupted.sum()) - 3772 * rate / 100) <= 0.5


def test_five_hundred_and_sixty_rows_of_sick_are_corrupted() -> None:
    outcome = MeasureWeights(members=3, seed=0)(Cell("sick, 20 % noise", BOOSTED, 0))
    assert outcome.values["n_corrupted"] == 560
    assert outcome.values["n_rows"] == 2800
    assert outcome.values["corrupted 1"] == pytest.approx(1)
    assert outcome.values["corrupted 3"] > outcome.values["clean 3"]


@pytest.mark.parametrize(("name", "n_rows"), [("breast cancer", 699), ("soybean", 307), ("glass", 214)])
def test_a_tenth_of_the_rows_is_tested(name: str, n_rows: int) -> None:
    assert name in DATASETS
    train, test = divide(name, 0, seed=0).split
    assert len(test) == round(n_rows / 10)
    assert len(train) == n_rows - len(test)
