"""Paths, builds and single measurements, for the benchmark scripts."""

import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "Benchmarks" / ".build"
PEERS = ROOT / "Benchmarks" / "Peers"
CRATES = Path("/usr/share/cargo/registry")
C = BUILD / "limit"
# Debian's, which has the modules of its packages.
PYTHON = "/usr/bin/python3"
OURS = {
    "c": [C],
    "engine": [BUILD / "release" / "bench-engine"],
    "session": [BUILD / "release" / "bench-session"],
    # Ten adapters, a retrier and three monitors that do nothing.
    "chained": [BUILD / "release" / "bench-session"],
    "urlsession": [BUILD / "release" / "bench-urlsession"],
}
CLIENTS = OURS | {
    "go": [BUILD / "peer-go"],
    "reqwest": [BUILD / "rust" / "release" / "peer"],
    # Built outside this repository, because its dependencies have to be fetched (CONTRIBUTING.md).
    "asynchttpclient": [os.environ.get("CURLEW_AHC", "")],
    "aiohttp": [PYTHON, PEERS / "python" / "aiohttp_client.py"],
    "httpx": [PYTHON, PEERS / "python" / "httpx_client.py"],
    "pycurl": [PYTHON, PEERS / "python" / "pycurl_client.py"],
}
# Further arguments of a client.
SUFFIXES = {client: [f"{client}=1"] for client in ("chained", "decorated", "cached", "hedging", "resilient")}


def run(command, **more):
    return subprocess.run([str(c) for c in command], check=True, cwd=ROOT, **more)


def succeeds(command, **more):
    return subprocess.run([str(c) for c in command], stdout=sys.stderr, **more).returncode == 0


# --- building


def build_c():
    """The baseline, and the library that counts allocations."""
    run(["scripts/packages", "build", "bench"], stdout=sys.stderr)
    BUILD.mkdir(parents=True, exist_ok=True)
    run(["cc", "-O2", "-Wall", "-o", C, "Benchmarks/C/limit.c", "-lcurl"])
    run(["cc", "-O2", "-shared", "-fPIC", "-o", BUILD / "mallocs.so", "Benchmarks/C/mallocs.c", "-ldl"])


def build_swift(product):
    run(["swift", "build", "-c", "release", "--package-path", "Benchmarks", "--product", product], stdout=sys.stderr)
    return BUILD / "release" / product


def build_peer(peer):
    """Builds a peer. Returns whether it could be built."""
    if peer == "asynchttpclient":
        return os.access(os.environ.get("CURLEW_AHC", ""), os.X_OK)
    if peer in ("aiohttp", "httpx", "pycurl"):
        return succeeds([PYTHON, "-c", f"import {peer}"])
    if peer == "go":
        return shutil.which("go") and succeeds(
            ["go", "build", "-o", *CLIENTS["go"], "."], cwd=PEERS / "go",
            env=os.environ | {"GOFLAGS": "-mod=mod", "GOCACHE": str(BUILD / "go")})
    if not shutil.which("cargo") or not CRATES.is_dir():
        return False
    # Debian's crates replace the registry, so nothing is fetched.
    source = ["--config", 'source.crates-io.replace-with="debian"',
              "--config", f'source.debian.directory="{CRATES}"']
    return succeeds(
        ["cargo", "build", "--release", "--offline", *source, "--manifest-path", PEERS / "rust" / "Cargo.toml"],
        env=os.environ | {"CARGO_TARGET_DIR": str(BUILD / "rust"), "CARGO_HOME": str(BUILD / "cargo")})


# --- measuring


@contextlib.contextmanager
def nginx(name, large=0):
    """Runs nginx in a directory; yields the directory and the addresses by name."""
    directory = BUILD / name
    run(["scripts/servers", "start", "--directory", directory, "--only-nginx", "--large", large], stdout=sys.stderr)
    try:
        lines = (directory / "env").read_text().splitlines()
        yield directory, dict(line.split("=", 1) for line in lines)
    finally:
        run(["scripts/servers", "stop", "--directory", directory], stdout=sys.stderr)


def answer(command, environment=None, timeout=300):
    """The line of JSON that a client prints last; one failure with `error` if there is none."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=timeout,
                          env=os.environ | (environment or {}))
    try:
        return json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        reason = (done.stderr or done.stdout).strip() or f"exit code {done.returncode}"
        return {"error": reason[-300:], "requests": 0, "failures": 1}


def median(values):
    return statistics.median(values) if values else float("nan")


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


# --- allocations

# Go does not allocate with malloc, but counts itself. Python uses malloc for small objects only if it is told to. A process
# whose allocations cannot be counted has no entry.
COUNTED_BY = {
    "c": "malloc", "engine": "malloc", "session": "malloc", "chained": "malloc", "decorated": "malloc",
    "urlsession": "malloc", "reqwest": "malloc", "go": "runtime.MemStats", "asynchttpclient": "malloc",
    "aiohttp": "malloc, PYTHONMALLOC=malloc",
    "httpx": "malloc, PYTHONMALLOC=malloc", "pycurl": "malloc, PYTHONMALLOC=malloc",
}


class CountFailed(Exception):
    pass


def allocations(client, arguments, program=None):
    """How many allocations one run of a client makes, from its start to its end."""
    result = BUILD / "mallocs.txt"
    result.unlink(missing_ok=True)
    environment = {"LD_PRELOAD": str(BUILD / "mallocs.so"), "MALLOCS_FILE": str(result), "PYTHONMALLOC": "malloc"}
    counts_itself = COUNTED_BY[client] == "runtime.MemStats"
    found = answer([*(program or CLIENTS[client]), *arguments, *SUFFIXES.get(client, [])],
                   None if counts_itself else environment)
    if found.get("failures"):
        raise CountFailed(f"{client}: {found['failures']} requests failed: {found.get('error')}")
    return found["mallocs"] if counts_itself else int(result.read_text())


def per_request(count_of, short=500, long=1500):
    """One request's share: the difference between a long and a short run, which excludes the start of the process."""
    return (count_of(long) - count_of(short)) / (long - short)


def least_per_request(count_of, clients, rounds=5, short=500, long=1500):
    """Each client's share of one request, from the least of its short and the least of its long runs, in turn.

    Other work on the machine lets threads wake each other more often, never less often, so the least is the best estimate.
    """
    runs = {(client, count): [] for client in clients for count in (short, long)}
    for _ in range(rounds):
        for (client, count), counted in runs.items():
            counted.append(count_of(client, count))
    return {client: per_request(lambda count: min(runs[client, count]), short, long) for client in clients}


def instructions_of(client, program, arguments):
    """How many instructions one run of a client takes, from its start to its end, as callgrind counts them."""
    done = subprocess.run([
        "valgrind", "--tool=callgrind", f"--callgrind-out-file={BUILD}/callgrind.{client}", "--error-exitcode=0",
        program, *arguments, *SUFFIXES.get(client, []),
    ], capture_output=True, text=True, timeout=240)
    found = re.search(r"Collected\s*:\s*(\d+)", done.stderr)
    if not found:
        raise CountFailed(f"valgrind counted nothing:\n{done.stdout}{done.stderr}")
    answer = json.loads(done.stdout.strip().splitlines()[-1])
    if answer["failures"]:
        raise CountFailed(f"{answer['failures']} requests failed: {answer['error']}")
    return int(found.group(1))


def small_gets(url, count, in_flight=16):
    return ["get", url, f"in-flight={in_flight}", f"count={count}"]


# --- documents for nginx


def item(index):
    return {"id": index, "name": f"Item number {index}", "score": index / 7, "isActive": index % 3 == 0,
            "tags": ["red", "green", "blue"][: index % 4]}


def write_document(directory, name="document.json", size=1 << 20):
    """Writes a JSON document of at least `size` bytes, which nginx serves under this name."""
    items, count = [], 0
    while count < size:
        items.append(json.dumps(item(len(items))))
        count += len(items[-1]) + 2
    path = directory / "files" / name
    path.write_text(f"[{', '.join(items)}]")
    return path
