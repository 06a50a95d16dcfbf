"""The modules of the debug build: the compiler's flags to import them, and their public symbols by the compiler's symbol graphs."""

import json
import os
import pathlib
import platform
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / ".build" / "debug"
# Module → the module of this package that it re-exports: users meet those symbols under the first name.
DOCUMENTED = {"Curlew": "CurlewCore", "CurlewJSON": None, "CurlewTesting": None, "CurlewTransport": None, "CurlewXML": None,
              "CurlewDiskCache": None, "CurlewRedis": None, "CurlewImage": None,
              "CurlewAlamofire": None, "CurlewAFNetworking": None}
GRAPHS = ROOT / ".docs" / "graphs"


def import_flags(build=BUILD):
    """The compiler's flags to import every module of the package, as it was built in that folder."""
    flags = ["-swift-version", "6", "-I", str(build / "Modules")]
    maps = [
        *sorted((ROOT / "Sources").glob("C*/module.modulemap")),
        *sorted(build.glob("*.build/module.modulemap")),
    ]
    for path in maps:
        flags += ["-Xcc", f"-fmodule-map-file={path}"]
    # The compiler does not find the headers of this system library by itself.
    found = subprocess.run(["pkg-config", "--cflags-only-I", "gdk-pixbuf-2.0"], capture_output=True, text=True)
    for flag in found.stdout.split():
        flags += ["-Xcc", flag]
    return flags + ["-I", str(ROOT / "Sources/CCurl/include")]


def swiftc(*arguments, build=BUILD):
    """Compiles a program that may import every module of the package, as it was built in that folder."""
    command = ["swiftc", *import_flags(build), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def extract(module, reexported, folder):
    """Writes the symbol graph of one module, without Foundation's symbols, which Curlew re-exports as well. Returns the
    error, or None."""
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
    """Each symbol with its place in a source. Symbols that the compiler makes itself have none."""
    for path in sorted(folder.rglob("*.symbols.json")):
        for symbol in json.loads(path.read_text())["symbols"]:
            place = symbol.get("location")
            if place:
                name = os.path.relpath(place["uri"].removeprefix("file://"), ROOT)
                yield symbol, f"{name}:{place['position']['line'] + 1}"
