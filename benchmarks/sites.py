"""Learning from sites that are processes in network namespaces of their own: time, requests and bytes.

    python benchmarks/sites.py [--sites 3 20] [--rows 5000] [--delay 0 40] [--store]

Every site is `tremula serve` with HTTPS and a token, has its part of the rows, and is reached through a virtual cable
and a bridge; the coordinator runs in a namespace, too. Counts are asked for plainly, and masked by secure aggregation.
The trees must be those of the pooled rows. Bytes are those that the cables counted. Delays, in milliseconds from
request to answer, are made by `tc netem`, or by a relay if the kernel has no netem. Namespaces need root; without it
all processes are on the local address, cables are not counted, and the table says so.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from measure import environment, store, table
from site_network import Network, write_certificate

import tremula as tm
from tremula.queries.secure.group import read_group_key
from tremula.queries.secure.masks import public_key

MEMBERS, DEPTH, TOKEN = 5, 4, "a token for the benchmark"
CUTS = {f"x{number}": np.linspace(-2, 2, 16).round(2).tolist() for number in range(2)}
SERVE = "from tremula.cli.entry import run; run()"


def make_table(rows: int) -> pd.DataFrame:
    """Eight nominal attributes of 2 to 9 levels and two numeric ones; a hidden number moves all and the class."""
    random = np.random.default_rng(0)
    hidden = random.normal(size=rows)
    columns: dict[str, Any] = {}
    for number in range(8):
        codes = np.clip(
            ((hidden / (1 + number % 4) + random.normal(size=rows) + 3) / 6 * (2 + number)).astype(int), 0, 1 + number
        )
        columns[f"a{number}"] = np.array([f"level {code}" for code in range(2 + number)])[codes]
    for number in range(2):
        columns[f"x{number}"] = np.round(random.normal(size=rows) + hidden / 2, 3)
    columns["again"] = np.where(random.random(rows) < 1 / (1 + np.exp(-1.5 * hidden)), "yes", "no")
    return pd.DataFrame(columns)


def write_files(folder: Path, frame: pd.DataFrame, n_sites: int) -> None:
    for number in range(n_sites):
        frame.iloc[number::n_sites].to_parquet(folder / f"site{number}.parquet")
    (folder / "cuts.json").write_text(json.dumps(CUTS))
    (folder / "token").write_text(TOKEN)
    keys = [public_key(read_group_key(folder / f"key{number}")).hex() for number in range(n_sites)]
    (folder / "group").write_text("\n".join(keys))


@contextmanager
def started(network: Network, folder: Path, n_sites: int, is_secure: bool) -> Iterator[None]:
    """Start all sites, and end them."""
    processes = []
    for number in range(n_sites):
        words = ["serve", f"{folder}/site{number}.parquet", "--target", "again", "--cuts", f"{folder}/cuts.json"]
        words += ["--min-count", "0", "--cube-rows", "1000000", "--token-file", f"{folder}/token"]
        words += ["--host", network.host(number), "--port", str(network.port(number))]
        words += ["--certificate", f"{folder}/site.pem", "--key", f"{folder}/site.key"]
        if is_secure:
            words += ["--group", f"{folder}/group", "--group-key", f"{folder}/key{number}"]
        command = [*network.inside(number), sys.executable, "-c", SERVE, *words]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        if len(processes) % 4 == 0:  # not all at once
            wait_for(processes[-4:])
    try:
        wait_for(processes)
        yield
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def wait_for(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        if process.stdout is not None and process.returncode is None and not getattr(process, "is_ready", False):
            if not process.stdout.readline():
                raise RuntimeError(f"a site ended with {process.wait()}")
            process.is_ready = True  # type: ignore[attr-defined]


def coordinate(urls: list[str], folder: Path) -> dict[str, Any]:
    """Fit the model as the coordinator; connecting is not measured."""
    sites = [tm.queries.connect(url, token=TOKEN, ca_file=f"{folder}/site.pem") for url in urls]
    n_requests, n_bytes = sites[0].n_requests, sum(site.n_bytes for site in sites)
    federated = tm.queries.FederatedOracle(sites, secure=sites[0].secure is not None, timeout=300)
    begin, processor_begin = time.perf_counter(), time.process_time()
    model = tm.SimulatedBaggingClassifier(MEMBERS, max_depth=DEPTH, random_state=0).fit(federated)
    return {
        "seconds": time.perf_counter() - begin,
        "processor": time.process_time() - processor_begin,
        "requests": sites[0].n_requests - n_requests,
        "bytes": (sum(site.n_bytes for site in sites) - n_bytes) / len(sites),
        "trees": digest(model),
    }


def digest(model: Any) -> list[str]:
    """Return words that differ if a node or a value of a tree does."""
    return [hashlib.sha256(tree.nodes.tobytes() + tree.values.tobytes()).hexdigest() for tree in model.members_]


def pooled(frame: pd.DataFrame) -> dict[str, Any]:
    oracle = tm.queries.ArrayOracle(
        frame.drop(columns="again"), frame["again"], cuts=CUTS, categorical_features=[f"a{n}" for n in range(8)]
    )
    begin = time.perf_counter()
    model = tm.SimulatedBaggingClassifier(MEMBERS, max_depth=DEPTH, random_state=0).fit(oracle)
    return {"seconds": time.perf_counter() - begin, "trees": digest(model)}


def measure(frame: pd.DataFrame, n_sites: int, is_secure: bool, delays: list[int]) -> Iterator[list[Any]]:
    expected = pooled(frame)
    with tempfile.TemporaryDirectory() as name, Network(n_sites) as network:
        folder = Path(name)
        write_certificate(folder, [network.host(number) for number in range(n_sites)] + [network.hub])
        write_files(folder, frame, n_sites)
        with started(network, folder, n_sites, is_secure):
            for delay in delays:
                with network.delayed(delay) as (urls, way):
                    before = network.n_bytes()
                    command = [*network.inside(None), sys.executable, __file__, "--coordinate", json.dumps(urls), name]
                    run = subprocess.run(command, check=True, capture_output=True, text=True)
                    measured = json.loads(run.stdout)
                    wire = None if before is None else (network.n_bytes() - before) / n_sites
                yield [
                    n_sites, "masked" if is_secure else "plain", f"{delay} ms ({way})" if delay else "0",
                    "yes" if measured["trees"] == expected["trees"] else "NO", measured["requests"],
                    f"{measured['bytes'] / 1000:.0f}", "-" if wire is None else f"{wire / 1000:.0f}",
                    f"{measured['seconds']:.1f}", f"{measured['processor']:.1f}", f"{expected['seconds']:.1f}",
                ]  # fmt: skip


HEADER = [
    "sites", "counts", "delay", "trees of the pooled rows", "requests to a site", "kB with a site", "kB on its cable",
    "fit, s", "of it processor of the coordinator, s", "pooled rows in memory, s",
]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sites", type=int, nargs="+", default=[3, 20])
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--delay", type=int, nargs="+", default=[0, 40])
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--coordinate", nargs=2)
    arguments = parser.parse_args()
    if arguments.coordinate:
        print(json.dumps(coordinate(json.loads(arguments.coordinate[0]), Path(arguments.coordinate[1]))))
        return
    frame = make_table(arguments.rows)
    lines = []
    for n_sites in arguments.sites:
        for is_secure in (False, True):
            for line in measure(frame, n_sites, is_secure, arguments.delay):
                print(*line, flush=True)
                lines.append(line)
    place = "network namespaces" if Network.possible() else "processes on the local address, without namespaces"
    text = f"""{table(HEADER, lines)}

{MEMBERS} members of depth {DEPTH} on {arguments.rows:,} rows with 8 nominal and 2 numeric attributes, divided among
the sites: {place}, HTTPS, a token, no guard, `--cube-rows` at the sites. One fit; connecting is not
measured. Every request opens a connection of its own. "kB with a site" are requests and answers without headers and
encryption, both ways; the cable has all, and those of connecting. A relay delays what is sent, but not the opening of
a connection. All processes share {os.cpu_count()} cores with other work, so that seconds are rough; requests and bytes
are not.

{environment("tremula", "numpy", "cryptography")}

Command: `python benchmarks/sites.py{" --store" if arguments.store else ""}`"""
    print(text)
    if arguments.store:
        store("Sites", text)


if __name__ == "__main__":
    main()
