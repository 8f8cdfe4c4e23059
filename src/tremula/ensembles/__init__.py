"""Ensembles: recipes of what is shaken, how members are trained and how their answers are combined."""
