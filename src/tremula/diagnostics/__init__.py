"""Why an ensemble works, and whether a difference is real; every name takes any scikit-learn estimator.

Names are found when they are first used, so that ``import tremula`` reads none of these modules.
"""

from importlib import import_module
from typing import Any

MODULE_OF = {
    "BiasVariance": "bias_and_variance",
    "BiasVarianceCurve": "bias_and_variance",
    "BiasVarianceDisplay": "displays.bias_variance",
    "BoundaryDisplay": "displays.boundary",
    "ClassNoise": "label_noise",
    "Comparison": "comparison",
    "CriticalDifferenceDisplay": "displays.critical_difference",
    "KappaError": "agreement",
    "KappaErrorDisplay": "displays.kappa_error",
    "KohaviDisplay": "displays.kohavi",
    "NoiseCurveDisplay": "displays.noise_curve",
    "Ranking": "many_datasets",
    "Stability": "stable_learners",
    "TestResult": "significance",
    "WeightTrace": "label_noise",
    "WeightTraceDisplay": "displays.weight_trace",
    "WinLossTie": "tables",
    "add_class_noise": "label_noise",
    "adjust_p_values": "many_tests",
    "bias_variance": "bias_and_variance",
    "bias_variance_curve": "bias_and_variance",
    "binomial_interval": "one_test_set",
    "compare": "comparison",
    "compare_over_datasets": "many_datasets",
    "corrected_t_test": "significance",
    "difference_of_proportions": "one_test_set",
    "five_by_two_f_test": "significance",
    "kappa_error": "agreement",
    "mcnemar_test": "one_test_set",
    "paired_t_test": "significance",
    "stability": "stable_learners",
    "weight_trace": "label_noise",
    "win_loss_tie": "tables",
}
__all__ = sorted(MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
