"""Time of `import tremula`, on top of the libraries that every program around scikit-learn has imported already.

    python benchmarks/import_time.py

Each try is a new process; the best and the median of the processor time are printed.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys

from measure import environment

PROGRAM = """
import time, narwhals.stable.v2, sklearn.model_selection, sklearn.tree
start = time.process_time()
import tremula
print(time.process_time() - start)
"""


def import_seconds() -> float:
    """Processor time of the import in a new process."""
    completed = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True)
    return float(completed.stdout)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=10)
    tries = parser.parse_args().tries
    import_seconds()  # fills the cache of files
    seconds = [import_seconds() for _ in range(tries)]
    print(f"import tremula: best {1000 * min(seconds):.0f} ms, median {1000 * statistics.median(seconds):.0f} ms")
    print(environment("tremula", "scikit-learn"))


if __name__ == "__main__":
    main()
