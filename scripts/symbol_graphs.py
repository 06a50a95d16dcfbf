"""The public symbols of the modules, as the compiler's symbol graphs tell them."""

import json
import os
import platform
import subprocess

from built_modules import ROOT, import_flags

# Module → what it re-exports of this package: users meet those symbols under the first name.
DOCUMENTED = {"Curlew": "CurlewCore", "CurlewJSON": None, "CurlewTesting": None, "CurlewTransport": None, "CurlewXML": None,
              "CurlewDiskCache": None, "CurlewRedis": None, "CurlewImage": None,
              "CurlewAlamofire": None, "CurlewAFNetworking": None}
GRAPHS = ROOT / ".docs" / "graphs"


def extract(module, reexported, folder):
    """Writes the symbol graph of one module, without Foundation's symbols, which Curlew re-exports as well. Returns what
    went wrong, or None."""
    folder.mkdir(parents=True, exist_ok=True)
    command = ["swift-symbolgraph-extract", "-module-name", module, "-target", f"{platform.machine()}-unknown-linux-gnu",
               "-minimum-access-level", "public", "-skip-synthesized-members", "-output-dir", folder,
               "-module-cache-path", ROOT / ".docs" / "cache", *import_flags()]
    if reexported:
        command.append(f"-experimental-allowed-reexported-modules={reexported}")
    done = subprocess.run([str(part) for part in command], cwd=ROOT, text=True, capture_output=True)
    if done.returncode or "warning:" in done.stderr:
        return f"{module}: {done.stderr.strip() or 'no symbol graph'}"
    return None


def symbols(folder):
    """Each symbol that stands in a source, with its place. What the compiler made itself has none."""
    for path in sorted(folder.rglob("*.symbols.json")):
        for symbol in json.loads(path.read_text())["symbols"]:
            place = symbol.get("location")
            if place:
                name = os.path.relpath(place["uri"].removeprefix("file://"), ROOT)
                yield symbol, f"{name}:{place['position']['line'] + 1}"
