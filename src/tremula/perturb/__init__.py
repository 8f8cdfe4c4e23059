"""Perturbations of a member's training set or of its splits; a list of them defines an ensemble.

`sample.py` has the base class; the other files are named after what they perturb. Open `sample.py` first.

>>> from tremula.perturb import Bootstrap, RandomSplits
>>> [Bootstrap(), RandomSplits(n_best_splits=20)]
[Bootstrap(max_samples=1.0, bootstrap=True), RandomSplits(n_best_splits=20)]
"""

from tremula.perturb.attributes import AttributeSubset
from tremula.perturb.inputs import SmearedInputs
from tremula.perturb.rows import Bootstrap, DisjointParts
from tremula.perturb.sample import Draw, Perturbation, Sample
from tremula.perturb.special_bootstraps import BalancedBootstrap, BlockBootstrap
from tremula.perturb.splits import RandomAttributes, RandomSplits, RandomThresholds
from tremula.perturb.synthetic import SyntheticMinority
from tremula.perturb.targets import FlippedClasses, SmearedTarget
from tremula.perturb.weights import BalancedWeights

__all__ = [
    "AttributeSubset",
    "BalancedBootstrap",
    "BalancedWeights",
    "BlockBootstrap",
    "Bootstrap",
    "DisjointParts",
    "Draw",
    "FlippedClasses",
    "Perturbation",
    "RandomAttributes",
    "RandomSplits",
    "RandomThresholds",
    "Sample",
    "SmearedInputs",
    "SmearedTarget",
    "SyntheticMinority",
]
