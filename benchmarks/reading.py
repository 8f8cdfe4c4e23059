"""How long a large CSV file takes to read, and how much memory, beside pandas and pyarrow.

Each reader runs in a process of its own, on the same file, in turn. Memory is the growth of the peak while reading,
also as a multiple of the float64 matrix that `read_data` returns.

Command: python benchmarks/reading.py [rows]
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

N_NUMBERS, N_WORDS = 16, 4
READERS = ("tremula", "pandas", "pyarrow")


def write_rows(path: Path, n_rows: int) -> None:
    """Write numbers, levels and a class."""
    import duckdb

    numbers = [f"random() * 1000 AS x{number}" for number in range(N_NUMBERS)]
    words = [f"'level ' || CAST(floor(random() * 20) AS INT) AS w{number}" for number in range(N_WORDS - 1)]
    target = "CASE WHEN random() < 0.5 THEN 'a' ELSE 'b' END AS y"
    duckdb.execute(f"COPY (SELECT {', '.join([*numbers, *words, target])} FROM range({n_rows})) TO '{path}' (HEADER)")


def read(reader: str, path: str) -> None:
    """Read a file, and print the seconds of wall and processor time and the megabytes."""
    if reader == "tremula":
        from tremula.lab.datasets.reader import read_data as run
    elif reader == "pandas":
        from pandas import read_csv as run
    else:
        from pyarrow.csv import read_csv as run
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, processor = time.perf_counter(), time.process_time()
    run(path)
    seconds = time.perf_counter() - wall, time.process_time() - processor
    print(json.dumps([*seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024]))


def main(n_rows: int) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        write_rows(path, n_rows)
        results = {}
        for reader in READERS:
            command = [sys.executable, __file__, reader, str(path)]
            results[reader] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    matrix = n_rows * (N_NUMBERS + N_WORDS) * 8 / 2**20
    print("| reader | wall, s | processor, s | ratio to pandas | peak growth, MB | multiple of the columns |")
    print("|---|---|---|---|---|---|")
    for reader, (wall, processor, memory) in results.items():
        ratio = processor / results["pandas"][1]
        print(f"| {reader} | {wall:.1f} | {processor:.1f} | {ratio:.1f} | {memory:.0f} | {memory / matrix:.1f} |")


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1] in READERS:
        read(*sys.argv[1:3])
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
