"""Ensembles: what is perturbed, how members are trained, and how their predictions are combined."""
