"""Dual perturb and combine: what a trained model would answer, on average, if the case were shaken."""
