"""Parameters of estimators: what each means, which values it takes, and how it is documented.

Open `table.py` first: every parameter stands there once. `checks.py` holds the checks, `docstrings.py` the decorator
that gives an estimator its checks and the Parameters section of its docstring.
"""

from tremula.parameters.checks import check_choice, check_flag, check_number
from tremula.parameters.docstrings import check_parameters, with_parameters
from tremula.parameters.table import Parameter

__all__ = ["Parameter", "check_choice", "check_flag", "check_number", "check_parameters", "with_parameters"]
