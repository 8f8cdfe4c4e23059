"""Parameters of estimators: what each means, which values it takes, and how it is documented.

The texts are in `table.py`, where every parameter stands once. `checks.py` has the checks, `docstrings.py` the
decorator that gives an estimator its checks and the Parameters section of its docstring. Open `table.py` first.
"""

from tremula.parameters.checks import (
    check_choice,
    check_flag,
    check_jobs,
    check_mapping,
    check_number,
    check_text,
    read_names,
    read_numbers,
)
from tremula.parameters.docstrings import check_parameters, with_parameters
from tremula.parameters.table import Parameter

__all__ = [
    "Parameter",
    "check_choice",
    "check_flag",
    "check_jobs",
    "check_mapping",
    "check_number",
    "check_parameters",
    "check_text",
    "read_names",
    "read_numbers",
    "with_parameters",
]
