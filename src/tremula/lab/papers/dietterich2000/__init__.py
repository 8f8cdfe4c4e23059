"""Dietterich (2000): bagging, boosting and randomization of C4.5 compared, with and without class noise."""

from tremula.lab.papers.dietterich2000.confidence import confidence_experiment, show_confidence
from tremula.lab.papers.dietterich2000.figures import (
    kappa_experiment,
    show_kappa,
    show_kohavi,
    show_weights,
    weights_experiment,
)
from tremula.lab.papers.dietterich2000.members import members_experiment, show_members
from tremula.lab.papers.dietterich2000.protocol import table1_experiment, table3_experiment
from tremula.lab.papers.dietterich2000.readings import readings_experiment, show_readings
from tremula.lab.papers.dietterich2000.tables import show_table1, show_table2, show_table3
from tremula.lab.papers.paper import Paper, Part

PAPER = Paper(
    name="dietterich2000",
    citation="T. G. Dietterich, An experimental comparison of three methods for constructing ensembles of decision "
    "trees: bagging, boosting, and randomization. Machine Learning 40 (2000), 139-157.",
    parts=(
        Part("table1", "Errors on 33 domains", table1_experiment, show_table1),
        Part("table2", "Wins, losses and ties on 33 domains", table1_experiment, show_table2),
        Part("table3", "Wins, losses and ties under class noise", table3_experiment, show_table3),
        Part("kohavi", "Kohavi plots of every pair of methods", table1_experiment, show_kohavi),
        Part("kappa", "Kappa-error diagrams of sick, with and without noise", kappa_experiment, show_kappa),
        Part("weights", "Weights of corrupted rows under boosting", weights_experiment, show_weights),
        Part("readings", "Readings of C4.5 Release 1, side by side", readings_experiment, show_readings),
        Part("members", "Errors by number of members", members_experiment, show_members),
        Part("confidence", "Errors by pruning confidence", confidence_experiment, show_confidence),
    ),
)
