"""Several datasets in one comparison: methods ranked in each, as one plain dict.

A method that failed on a dataset has no rank there; the table is then tested as an incomplete one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tremula.diagnostics import compare_over_datasets
from tremula.report.summary import SCHEMA


def summarize_datasets(summaries: Mapping[str, Mapping[str, Any]], command: str = "") -> dict[str, Any]:
    """Rank the methods over the datasets.

    Parameters
    ----------
    summaries : mapping of str to mapping
        The summary of the comparison on each dataset, all of the same metric.
    command : str, default=''
        The command that repeats the comparison.

    Returns
    -------
    dict
        With the keys ``headline``, ``ranking``, ``metric``, ``datasets``, ``versions`` and ``command``.
    """
    first = next(iter(summaries.values()))
    metric = first["metrics"][0]
    labels = {row["name"]: row["label"] for summary in summaries.values() for row in summary["methods"]}
    means = {name: [_mean(summary, name, metric["name"]) for summary in summaries.values()] for name in labels}
    ranked = {name: values for name, values in means.items() if np.isfinite(values).sum() > 1}
    sign = 1 if metric["less_is_better"] else -1
    table = sign * np.array(list(ranked.values())).T
    ranking = compare_over_datasets(table, names=list(ranked), dataset_names=list(summaries))
    order = np.argsort(ranking.mean_ranks, kind="stable")
    return {
        "schema": SCHEMA,
        "headline": str(ranking).splitlines()[0],
        "metric": metric,
        "ranking": {
            "critical_difference": ranking.critical_difference,
            "is_complete": bool(np.isfinite(table).all()),
            "groups": [[labels[name] for name in group] for group in ranking.cliques()],
            "methods": [
                {
                    "name": ranking.names[place],
                    "label": labels[ranking.names[place]],
                    "mean_rank": float(ranking.mean_ranks[place]),
                    "ranks": [float(rank) for rank in ranking.ranks[:, place]],
                    "means": means[ranking.names[place]],
                }
                for place in order
            ],
            "left_out": [labels[name] for name in labels if name not in ranked],
        },
        "datasets": dict(summaries),
        "versions": first["versions"],
        "command": command,
    }


def _mean(summary: Mapping[str, Any], method: str, metric: str) -> float:
    for row in summary["methods"]:
        if row["name"] == method and "error" not in row:
            return float(row["metrics"][metric]["mean"])
    return float("nan")
