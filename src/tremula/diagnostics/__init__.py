"""Diagnostics of ensembles and tests of differences, for any scikit-learn estimator.

`comparison/` compares methods, `significance/` has the tests, `decomposition/` bias and variance, `members/` diversity,
`displays/` the figures. Names are imported on first use, so that ``import tremula`` stays fast.
Open `comparison/comparison.py` first.
"""

from importlib import import_module
from typing import Any

MODULE_OF = {
    "BiasVariance": "decomposition.bias_variance",
    "BiasVarianceCurve": "decomposition.bias_variance",
    "BiasVarianceDisplay": "displays.bias_variance",
    "BoundaryDisplay": "displays.boundary",
    "CaseDisplay": "displays.case",
    "ClassNoise": "class_noise",
    "Comparison": "comparison.comparison",
    "Decision": "comparison.decision",
    "CriticalDifferenceDisplay": "displays.critical_difference",
    "KappaError": "members.kappa",
    "KappaErrorDisplay": "displays.kappa_error",
    "KohaviDisplay": "displays.kohavi",
    "NoiseCurveDisplay": "displays.noise_curve",
    "Ranking": "comparison.ranking",
    "Stability": "decomposition.stability",
    "Probabilities": "significance.practical_equivalence",
    "TestResult": "significance.paired",
    "WeightTrace": "class_noise",
    "WeightTraceDisplay": "displays.weight_trace",
    "WinLossTie": "comparison.win_loss_tie_table",
    "add_class_noise": "class_noise",
    "adjust_p_values": "significance.multiple_testing",
    "bias_variance": "decomposition.bias_variance",
    "bias_variance_curve": "decomposition.bias_variance",
    "binomial_interval": "significance.one_test_set",
    "compare": "comparison.comparison",
    "compare_over_datasets": "comparison.ranking",
    "correlated_t_probabilities": "significance.practical_equivalence",
    "corrected_t_test": "significance.paired",
    "decide": "comparison.decision",
    "detectable_difference": "significance.planning",
    "difference_of_proportions": "significance.one_test_set",
    "five_by_two_f_test": "significance.paired",
    "kappa_error": "members.kappa",
    "mcnemar_test": "significance.one_test_set",
    "paired_t_test": "significance.paired",
    "plan_looks": "significance.looks",
    "planned_repetitions": "significance.planning",
    "skillings_mack_test": "significance.incomplete_blocks",
    "stability": "decomposition.stability",
    "weight_trace": "class_noise",
    "win_loss_tie": "comparison.win_loss_tie_table",
}
__all__ = sorted(MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
