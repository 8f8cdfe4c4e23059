"""Variance Reduction and Ensemble Methods, slides by N. Ruozzi: bias and variance, and Breiman's bagging experiment."""

from tremula.lab.papers.paper import Paper, Part
from tremula.lab.papers.variance_reduction.bagging import bagging_experiment, neighbours_experiment
from tremula.lab.papers.variance_reduction.bagging_tables import show_bagging, show_neighbours
from tremula.lab.papers.variance_reduction.fits import fits_experiment, show_fits
from tremula.lab.papers.variance_reduction.share import share_experiment, show_share

PAPER = Paper(
    name="variance_reduction",
    citation="N. Ruozzi, Variance Reduction and Ensemble Methods (slides, University of Texas at Dallas), after "
    "L. Breiman, Bagging predictors (technical report 421, Berkeley, 1994; Machine Learning 24, 1996, 123-140).",
    parts=(
        Part("fits", "Bias, variance and noise of 50 fits of 20 points", fits_experiment, show_fits),
        Part("bagging", "Breiman's bagging experiment", bagging_experiment, show_bagging),
        Part("neighbours", "Bagging of trees against bagging of neighbours", neighbours_experiment, show_neighbours),
        Part("share", "Distinct rows of a bootstrap sample", share_experiment, show_share),
    ),
)
