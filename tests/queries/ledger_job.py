"""A process that asks one question after another, and prints the cost of each answer once it has it."""

from __future__ import annotations

import sys

from tremula.errors import BudgetExhausted
from tremula.queries import Condition, GuardedOracle, Question

from .test_differencing import small_table


def main(ledger_file: str, first: int) -> None:
    guarded = GuardedOracle(
        small_table(0, 200)[0], min_count=0, public="all", epsilon=2.0, epsilon_per_table=0.01, ledger_file=ledger_file
    )
    print("ready", flush=True)
    number = first
    while True:
        before = guarded.spent
        try:
            guarded.count([Question((Condition(0, 0, number),), (1,))])
        except BudgetExhausted:
            return
        print(number, guarded.spent - before >= 0.01 - 1e-9, flush=True)
        number += 1


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
