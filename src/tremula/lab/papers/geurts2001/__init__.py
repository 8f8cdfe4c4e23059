"""Geurts (2001): dual perturb and combine, on single and bagged trees."""

from tremula.lab.papers.geurts2001.curves import boundary_experiment, curves_experiment, show_boundary, show_curves
from tremula.lab.papers.geurts2001.other_models import other_models_experiment, show_other_models
from tremula.lab.papers.geurts2001.protocol import attribute_noise_experiment, draws_experiment, table2_experiment
from tremula.lab.papers.geurts2001.study import study_experiment
from tremula.lab.papers.geurts2001.study_tables import show_study
from tremula.lab.papers.geurts2001.tables import show_attribute_noise, show_draws, show_table2
from tremula.lab.papers.paper import Paper, Part

PAPER = Paper(
    name="geurts2001",
    citation="P. Geurts, Dual perturb and combine algorithm. Proceedings of the 8th International Workshop on "
    "Artificial Intelligence and Statistics (AISTATS), 2001.",
    parts=(
        Part("table2", "Errors with and without dual perturb and combine", table2_experiment, show_table2),
        Part("draws", "Table 2 with other test rows", draws_experiment, show_draws),
        Part("figure2", "Boundary of a tree under noise", boundary_experiment, show_boundary),
        Part("curves", "Bias and variance against the noise: Figures 3 and 4", curves_experiment, show_curves),
        Part("levels", "An amount of noise for each attribute", attribute_noise_experiment, show_attribute_noise),
        Part("other_models", "Boosting, neural networks, numeric targets", other_models_experiment, show_other_models),
        Part("study", "When smoothing works: all numeric datasets", study_experiment, show_study),
    ),
)
