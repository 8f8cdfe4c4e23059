"""Learning from counts: oracles answer questions about a table with counts, and no row leaves the table.

`question.py` defines questions and answers, `oracle.py` the protocol; `growing.py` and `simulated.py` learn from any
oracle; `sql/` asks databases, `remote/` other machines. Open `question.py` first.
"""

from tremula.queries.adtree import ADTreeOracle
from tremula.queries.arrays import ArrayOracle
from tremula.queries.contributions import limit_rows
from tremula.queries.error_estimate import ErrorEstimate, estimate_error
from tremula.queries.federated import FederatedOracle
from tremula.queries.guard import GuardedOracle
from tremula.queries.guarded_cuts import private_cuts
from tremula.queries.itemsets import ItemsetOracle
from tremula.queries.question import Attribute, Condition, Question, Schema
from tremula.queries.remote.client import RemoteOracle
from tremula.queries.site_schemas import agree_on_cuts
from tremula.queries.sql.connection import connect
from tremula.queries.sql.oracle import TableOracle

__all__ = [
    "ADTreeOracle",
    "ArrayOracle",
    "Attribute",
    "Condition",
    "ErrorEstimate",
    "FederatedOracle",
    "GuardedOracle",
    "ItemsetOracle",
    "Question",
    "RemoteOracle",
    "Schema",
    "TableOracle",
    "agree_on_cuts",
    "connect",
    "estimate_error",
    "limit_rows",
    "private_cuts",
]
