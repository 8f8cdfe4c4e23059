"""One tree: fit, predict and memory against scikit-learn's DecisionTreeClassifier, and C4.5 against Weka's J48.

    TREMULA_DATA=<folder of the parquet files> python benchmarks/trees.py [--store] [--weka PYTHON]

`--weka` names a Python that has python-weka-wrapper3. Everything runs in one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from measure import environment, peak_memory, per_call, store, table, take_turns
from sklearn.tree import DecisionTreeClassifier

import tremula as tm
from data import MADE, as_numbers, load

DATASETS = ["iris", "letter", "satimage", "waveform-5000", "shuttle", "covtype-20k", "adult", MADE]
MEMORY_CODE = """
from data import as_numbers, load
{imports}
def prepare():
    X, y = load({{name!r}})
    X = {reading}
    {estimator}.fit(X[:200], y[:200])
    return X, y
def work(prepared):
    return {estimator}.fit(*prepared)
"""
MEMORY = {
    "ours": MEMORY_CODE.format(
        imports="import tremula as tm", reading="X", estimator="tm.CARTClassifier(criterion='entropy')"
    ),
    "theirs": MEMORY_CODE.format(
        imports="from sklearn.tree import DecisionTreeClassifier",
        reading="as_numbers(X)",
        estimator="DecisionTreeClassifier(criterion='entropy')",
    ),
}
NOTE = """`CARTClassifier(criterion="entropy")` against `DecisionTreeClassifier(criterion="entropy")`, one thread,
processor time, best of several turns. A ratio is scikit-learn's time divided by ours. adult: tremula takes the frame
with its nominal columns, scikit-learn their codes. Memory is what `fit` needs above the table it is given."""
J48_NOTE = "adult, {n_rows:,} rows; Weka {weka}, Java {java}; of J48 only buildClassifier is timed, of ours all of fit."


def compare_on(name: str) -> list[object]:
    """One line of the table."""
    attributes, codes = load(name)
    numbers = as_numbers(attributes)
    ours, theirs = tm.CARTClassifier(criterion="entropy"), DecisionTreeClassifier(criterion="entropy", random_state=0)
    fit = take_turns({"ours": lambda: ours.fit(attributes, codes), "theirs": lambda: theirs.fit(numbers, codes)})
    batch = take_turns({"ours": lambda: ours.predict(attributes), "theirs": lambda: theirs.predict(numbers)}, least=10)
    nodes = theirs.tree_.__getstate__()
    line: list[object] = [
        f"{name} ({len(codes):,} x {numbers.shape[1]})" if name != MADE else name,
        f"{1e3 * fit['ours']:.2f}",
        f"{1e3 * fit['theirs']:.2f}",
        f"**{fit['theirs'] / fit['ours']:.1f}**",
        f"{batch['theirs'] / batch['ours']:.1f}",
    ]
    if attributes is numbers:
        one = numbers[:1]
        line.append(f"{per_call(lambda: theirs.predict(one)) / per_call(lambda: ours.predict(one)):.0f}")
    else:
        line.append("")
    memory = {who: peak_memory(MEMORY[who].format(name=name)) for who in MEMORY}
    size = nodes["nodes"].nbytes + nodes["values"].nbytes
    line += [f"{memory['ours']:.0f} / {memory['theirs']:.0f}", f"{ours.tree_.nbytes / 1024:.0f} / {size / 1024:.0f}"]
    return [*line, f"{ours.tree_.n_nodes} / {theirs.tree_.node_count}"]


def compare_with_j48(python: str) -> str:
    """C4.5 on adult, with nominal attributes and missing values."""
    peer = Path(__file__).parent / "weka_peer.py"
    answer = json.loads(subprocess.run([python, str(peer), "adult"], check=True, capture_output=True, text=True).stdout)
    frame, codes = load("adult")
    rows = []
    for timing in answer["j48"]:
        estimator = tm.C45Classifier(release="J48", confidence=None if "-U" in timing["options"] else 0.25)
        seconds = take_turns({"ours": lambda estimator=estimator: estimator.fit(frame, codes)})["ours"]
        ratios = [f"**{timing[key] / seconds:.1f}**" for key in ("warm_thread_seconds", "first_seconds")]
        rows.append(
            [
                f"J48 {timing['options']}",
                f"{1e3 * seconds:.0f}",
                f"{1e3 * timing['warm_thread_seconds']:.0f}",
                f"{1e3 * timing['first_seconds']:.0f}",
                *ratios,
                f"{estimator.tree_.n_nodes} / {timing['n_nodes']}",
            ]
        )
    header = ["options", "C45Classifier, ms", "J48 warm, ms", "J48 first fit, ms", "ratio warm", "ratio first", "nodes"]
    text = table(header, rows)
    return text + "\n\n" + J48_NOTE.format(**answer)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time one tree against scikit-learn's, and C4.5 against Weka's J48.")
    parser.add_argument("--store", action="store_true", help="write the tables into RESULTS.md")
    parser.add_argument("--weka", help="a Python that has python-weka-wrapper3")
    parser.add_argument("--datasets", nargs="*", default=DATASETS)
    arguments = parser.parse_args()
    header = [
        "dataset", "fit, ms", "scikit-learn, ms", "fit ratio", "predict ratio", "one row ratio",
        "peak memory of fit, MB, ours / theirs", "tree, kB, ours / theirs", "nodes, ours / theirs",
    ]  # fmt: skip
    text = table(header, [compare_on(name) for name in arguments.datasets])
    text += f"\n\n{NOTE}\n\n{environment('tremula', 'scikit-learn', 'numpy')}"
    if arguments.weka:
        text += "\n\n" + compare_with_j48(arguments.weka)
    text += "\n\nCommand: `python benchmarks/trees.py --store --weka <python with python-weka-wrapper3>`"
    print(text)
    if arguments.store:
        store("One tree", text)


if __name__ == "__main__":
    main()
