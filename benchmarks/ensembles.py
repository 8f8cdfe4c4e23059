"""Ensembles of unpruned trees: training time, memory and size against scikit-learn's, one thread; and two threads.

    TREMULA_DATA=<folder of the parquet files> python benchmarks/ensembles.py [--store] [--members 100]
        [--ranger RSCRIPT] [--weka PYTHON]

`--ranger` names an Rscript that has the package ranger, `--weka` a Python that has python-weka-wrapper3.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from measure import environment, peak_memory, store, table
from peers import ask_weka, time_ranger
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import tremula as tm
from data import MADE, as_numbers, load

DATASETS = ["letter", "satimage", "pendigits", "waveform-5000", MADE]
BOOSTED_DEPTH = 8  # so that neither stops for want of errors
PEERS_NOTE = """One thread, processor time of the fit alone, after a small one. ranger splits by Gini (it has no
entropy), as ours does here, leaves out the out-of-bag error, and draws as many attributes at a node as ours. Weka's
Bagging of J48 -U trains a tenth of the members and its time is multiplied by ten."""
PROFILE_NOTE = """Where the time of growing goes, by samples of `perf` taken apart from this run. Bagging on letter:
51 % walking the sorted lists, 22 % dividing them among children, 4 % filtering them by the member's rows, 3 % the
children's class counts; on waveform-5000 67, 18, 4 and 1 %. Random forest on letter: 34 % dividing the lists of all
attributes, 25 % walking those drawn, 6 % filtering, 5 % marking sides; on waveform-5000 45, 28 and 9 %. AdaBoost on
waveform-5000: 60 % adding up weights row by row, 24 % logarithms, 6 % judging cuts, 4 % dividing."""
WEKA_SHARE = 10  # Weka trains a tenth of the members; its time is multiplied
MEMORY_CODE = """
from data import as_numbers, load
from ensembles import pairs
def prepare():
    attributes, codes = load({name!r})
    numbers = as_numbers(attributes)
    pairs(2)[{method!r}][{side}].fit(numbers[:500], codes[:500])
    return numbers, codes
def work(prepared):
    return pairs({members})[{method!r}][{side}].fit(*prepared)
"""


def pairs(members: int) -> dict[str, tuple[Any, Any]]:
    """Our ensemble and scikit-learn's, by method."""
    entropy = {"criterion": "entropy"}
    ours_boosted = tm.CARTClassifier(**entropy, max_depth=BOOSTED_DEPTH)
    theirs_boosted = DecisionTreeClassifier(**entropy, max_depth=BOOSTED_DEPTH)
    return {
        "bagging, CART": (
            tm.BaggingClassifier(tm.CARTClassifier(**entropy), n_estimators=members, random_state=0),
            BaggingClassifier(DecisionTreeClassifier(**entropy), n_estimators=members, random_state=0),
        ),
        "bagging, C4.5": (
            tm.BaggingClassifier(n_estimators=members, random_state=0),
            BaggingClassifier(DecisionTreeClassifier(**entropy), n_estimators=members, random_state=0),
        ),
        "random forest": (
            tm.RandomForestClassifier(members, **entropy, random_state=0),
            RandomForestClassifier(members, **entropy, random_state=0),
        ),
        "random forest, Gini": (
            tm.RandomForestClassifier(members, random_state=0),
            RandomForestClassifier(members, random_state=0),
        ),
        f"AdaBoost, depth {BOOSTED_DEPTH}": (
            tm.AdaBoostM1Classifier(ours_boosted, n_estimators=members),
            AdaBoostClassifier(theirs_boosted, n_estimators=members, random_state=0),
        ),
    }


def seconds_of(job: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> float:
    begin = clock()
    job()
    return clock() - begin


def n_members(ensemble: Any) -> int:
    return len(ensemble.members_ if hasattr(ensemble, "members_") else ensemble.estimators_)


def compare_on(name: str, members: int) -> list[list[object]]:
    attributes, codes = load(name)
    numbers = as_numbers(attributes)
    lines = []
    for method, (ours, theirs) in pairs(members).items():
        # scikit-learn takes most of the time and is run once; ours twice, the better counts.
        first = seconds_of(lambda ours=ours: ours.fit(numbers, codes))
        peer = seconds_of(lambda theirs=theirs: theirs.fit(numbers, codes))
        own = min(first, seconds_of(lambda ours=ours: ours.fit(numbers, codes)))
        per_member = (peer / n_members(theirs)) / (own / n_members(ours))
        nodes = sum(m.n_nodes for m in ours.members_) / len(ours)
        memory = [peak_memory(MEMORY_CODE.format(name=name, method=method, side=k, members=members)) for k in (0, 1)]
        peer_nodes = sum(tree.tree_.node_count for tree in theirs.estimators_) / n_members(theirs)
        lines.append(
            [
                name,
                method,
                f"{own:.2f}",
                f"{peer:.2f}",
                f"**{per_member:.1f}**",
                f"{n_members(ours)} / {n_members(theirs)}",
                f"{nodes:.0f} / {peer_nodes:.0f}",
                f"{memory[0]:.0f} / {memory[1]:.0f}",
            ]
        )
    return lines


def compare_with_others(names: list[str], members: int, rscript: str | None, weka: str | None) -> str:
    """Random forests against ranger, bagging of C4.5 against Weka's of J48."""
    lines, versions = [], {}
    for name in names:
        attributes, codes = load(name)
        numbers, ours = as_numbers(attributes), pairs(members_on(name, members))
        answers = {}
        if rscript is not None:
            answers["random forest, Gini", "ranger"] = (
                time_ranger(rscript, numbers, codes, members_on(name, members)),
                1,
            )
        if weka is not None and name != MADE:
            answers["bagging, C4.5", "Weka"] = (
                ask_weka(weka, "seconds", name, "bagging", members // WEKA_SHARE),
                WEKA_SHARE,
            )
        for (method, peer), (answer, share) in answers.items():
            own = min(seconds_of(lambda e=ours[method][0], n=numbers, c=codes: e.fit(n, c)) for _ in range(3))
            theirs = answer.pop("seconds") * share
            versions.update(answer)
            lines.append([name, method, peer, f"{own:.2f}", f"{theirs:.2f}", f"**{theirs / own:.1f}**"])
    text = table(["dataset", "method", "peer", "seconds", "peer, seconds", "ratio"], lines)
    return f"{text}\n\n{PEERS_NOTE} {', '.join(f'{name} {version}' for name, version in versions.items())}."


def members_on(name: str, members: int) -> int:
    return members if name != MADE else max(2, members // 10)


def two_threads(name: str, members: int) -> str:
    attributes, codes = load(name)
    numbers = as_numbers(attributes)
    walls = []
    for n_jobs in (1, 2):
        forest = tm.BaggingClassifier(
            tm.CARTClassifier(criterion="entropy"), n_estimators=members, random_state=0, n_jobs=n_jobs
        )
        walls.append(min(seconds_of(lambda f=forest: f.fit(numbers, codes), time.perf_counter) for _ in range(3)))
    return f"Two threads on {name}, bagging of {members} trees: {walls[0] / walls[1]:.2f} times as fast as one."


def sorting_once(name: str, members: int) -> str:
    """What sorting costs an ensemble: its fit against one sort, and as many growths from the sorted columns."""
    attributes, codes = load(name)
    learner = tm.CARTClassifier(criterion="entropy")
    bagging = tm.BaggingClassifier(learner, n_estimators=members, random_state=0)
    n_levels = np.zeros(attributes.shape[1], np.int32)
    columns = learner.sort(attributes, n_levels)
    random = np.random.default_rng(0)
    n_rows, n_classes = len(codes), int(codes.max()) + 1
    samples = [np.bincount(random.integers(n_rows, size=n_rows), minlength=n_rows) for _ in range(members)]
    sorting = seconds_of(lambda: learner.sort(attributes, n_levels))
    growing = seconds_of(lambda: [learner.grow(columns, codes, n_classes, w, random) for w in samples])
    total = seconds_of(lambda: bagging.fit(attributes, codes))
    return (
        f"Bagging {members} trees on {name}: {total:.2f} s; {members} growths from sorted columns: {growing:.2f} s; "
        f"one sort: {sorting:.3f} s, {members} would be {members * sorting:.2f} s."
    )


def sizes(members: int) -> str:
    attributes, codes = load("letter")
    ours = tm.BaggingClassifier(tm.CARTClassifier(criterion="entropy"), n_estimators=members, random_state=0)
    theirs = BaggingClassifier(DecisionTreeClassifier(criterion="entropy"), n_estimators=members, random_state=0)
    ours.fit(attributes, codes)
    theirs.fit(attributes, codes)
    own = sum(member.nbytes for member in ours.members_) / 2**20
    states = [tree.tree_.__getstate__() for tree in theirs.estimators_]
    peer = sum(state["nodes"].nbytes + state["values"].nbytes for state in states) / 2**20
    return f"{members} fully grown trees on letter take {own:.1f} MB, scikit-learn's {peer:.1f} MB ({own / peer:.2f})."


def main() -> None:
    parser = argparse.ArgumentParser(description="Time ensembles against scikit-learn's.")
    parser.add_argument("--store", action="store_true", help="write the table into RESULTS.md")
    parser.add_argument("--members", type=int, default=100)
    parser.add_argument("--datasets", nargs="*", default=DATASETS)
    parser.add_argument("--ranger", help="an Rscript that has ranger")
    parser.add_argument("--weka", help="a Python that has python-weka-wrapper3")
    arguments = parser.parse_args()
    lines = []
    for name in arguments.datasets:
        lines += compare_on(name, members_on(name, arguments.members))
    header = [
        "dataset",
        "method",
        "seconds",
        "scikit-learn, seconds",
        "ratio per member",
        "members",
        "nodes per member",
        "peak memory of fit, MB",
    ]
    text = table(header, lines)
    text += (
        "\n\nOne thread, processor time; ours / scikit-learn's where two numbers stand. Entropy unless Gini is named. "
    )
    text += "Memory is what `fit` needs above the table it is given, the ensemble included."
    if arguments.ranger or arguments.weka:
        text += "\n\n" + compare_with_others(arguments.datasets, arguments.members, arguments.ranger, arguments.weka)
    text += f"\n\n{PROFILE_NOTE}"
    text += f"\n\n{sorting_once('letter', arguments.members)} {sorting_once('waveform-5000', arguments.members)}"
    text += f"\n\n{sizes(arguments.members)}\n\n{two_threads('letter', arguments.members)}"
    text += f"\n\n{environment('tremula', 'scikit-learn', 'numpy')}"
    options = "--ranger <Rscript with ranger> --weka <python with python-weka-wrapper3>"
    text += f"\n\nCommand: `python benchmarks/ensembles.py --store {options}`"
    print(text)
    if arguments.store:
        store("Ensembles", text)


if __name__ == "__main__":
    main()
