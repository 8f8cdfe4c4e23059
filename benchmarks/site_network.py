"""Network namespaces joined by a bridge, one for each site and one for the coordinator, with delays if asked for."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PREFIX = f"tremula{os.getpid()}"
PORT = 8443
RELAY_PORT = 9000


def run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


class Network:
    """Virtual cables from the namespace of the coordinator to those of sites; the local address without root."""

    hub = "10.23.0.1"

    def __init__(self, n_sites: int) -> None:
        self.n_sites = n_sites
        self.is_apart = self.possible()
        if not self.is_apart:
            self.hub = "127.0.0.1"

    @staticmethod
    def possible() -> bool:
        return os.geteuid() == 0 and shutil.which("ip") is not None

    def __enter__(self) -> Network:
        try:
            if self.is_apart:
                self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _build(self) -> None:
        hub = f"{PREFIX}-hub"
        run("ip", "netns", "add", hub)
        run("ip", "-n", hub, "link", "add", "bridge", "type", "bridge")
        run("ip", "-n", hub, "addr", "add", f"{self.hub}/24", "dev", "bridge")
        for device in ("lo", "bridge"):
            run("ip", "-n", hub, "link", "set", device, "up")
        for number in range(self.n_sites):
            site = f"{PREFIX}-{number}"
            run("ip", "netns", "add", site)
            run("ip", "-n", hub, "link", "add", f"site{number}", "type", "veth", "peer", "name", "eth0", "netns", site)
            run("ip", "-n", hub, "link", "set", f"site{number}", "master", "bridge", "up")
            run("ip", "-n", site, "addr", "add", f"{self.host(number)}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                run("ip", "-n", site, "link", "set", device, "up")

    def __exit__(self, *error: object) -> None:
        if self.is_apart:
            for name in [f"{PREFIX}-hub", *(f"{PREFIX}-{number}" for number in range(self.n_sites))]:
                subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def host(self, number: int) -> str:
        return f"10.23.0.{10 + number}" if self.is_apart else "127.0.0.1"

    def port(self, number: int) -> int:
        return PORT if self.is_apart else PORT + number

    def inside(self, number: int | None) -> list[str]:
        """Return the words that start a process in the namespace of a site, or of the coordinator."""
        return ["ip", "netns", "exec", f"{PREFIX}-{'hub' if number is None else number}"] if self.is_apart else []

    def n_bytes(self) -> int | None:
        """Return the bytes that all cables have carried, both ways."""
        if not self.is_apart:
            return None
        files = [f"/sys/class/net/site{n}/statistics/{way}_bytes" for n in range(self.n_sites) for way in ("rx", "tx")]
        return sum(map(int, run(*self.inside(None), "cat", *files).split()))

    @contextmanager
    def delayed(self, delay: int) -> Iterator[tuple[list[str], str]]:
        """Delay all answers; yield the addresses of the sites and the way in which this is done."""
        direct = [f"https://{self.host(number)}:{self.port(number)}" for number in range(self.n_sites)]
        if not delay:
            yield direct, ""
        elif self.is_apart and self._set_netem(delay):
            yield direct, "netem"
            for number in range(self.n_sites):
                run(*self.inside(number), "tc", "qdisc", "del", "dev", "eth0", "root")
        else:
            sites = [f"{self.host(number)}:{self.port(number)}" for number in range(self.n_sites)]
            command = [*self.inside(None), sys.executable, __file__, self.hub, str(delay), *sites]
            relay = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            try:
                assert relay.stdout is not None
                relay.stdout.readline()
                yield [f"https://{self.hub}:{RELAY_PORT + number}" for number in range(self.n_sites)], "relay"
            finally:
                relay.kill()
                relay.communicate()

    def _set_netem(self, delay: int) -> bool:
        for number in range(self.n_sites):
            words = [*self.inside(number), "tc", "qdisc", "add", "dev", "eth0", "root", "netem", "delay", f"{delay}ms"]
            if subprocess.run(words, capture_output=True).returncode:
                return False
        return True


def write_certificate(folder: Path, hosts: list[str]) -> None:
    """Write a certificate that all hosts of the benchmark share."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "sites of a benchmark")])
    now = datetime.datetime.now(datetime.UTC)
    addresses = [x509.IPAddress(ipaddress.ip_address(host)) for host in sorted(set(hosts))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(addresses), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "site.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "site.key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )


# --- the relay, a process of its own ---


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> None:
    """Copy a stream, each piece later by so many seconds."""
    loop = asyncio.get_running_loop()
    pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def write() -> None:
        while True:
            due, piece = await pieces.get()
            await asyncio.sleep(due - loop.time())
            if not piece:
                writer.close()
                return
            writer.write(piece)
            await writer.drain()

    task = asyncio.create_task(write())
    while True:
        piece = await reader.read(65_536)
        pieces.put_nowait((loop.time() + seconds, piece))
        if not piece:
            break
    await task


async def relay(hub: str, delay: float, sites: list[str]) -> None:
    def connection_to(site: str) -> Any:
        host, port = site.split(":")

        async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            far_reader, far_writer = await asyncio.open_connection(host, int(port))
            await asyncio.gather(
                pump(reader, far_writer, delay / 2), pump(far_reader, writer, delay / 2), return_exceptions=True
            )

        return connect

    for number, site in enumerate(sites):
        await asyncio.start_server(connection_to(site), hub, RELAY_PORT + number)
    print("listening", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(relay(sys.argv[1], float(sys.argv[2]) / 1000, sys.argv[3:]))
