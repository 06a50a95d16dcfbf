"""Where the modules of the debug build are, for the compiler's tools that read them."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / ".build" / "debug"


def import_flags():
    """What the compiler needs to import every module of the package."""
    flags = ["-swift-version", "6", "-I", str(BUILD / "Modules")]
    maps = [
        *sorted((ROOT / "Sources").glob("C*/module.modulemap")),
        *sorted((ROOT / "Sources").glob("C*/include/module.modulemap")),
        *sorted(BUILD.glob("*.build/module.modulemap")),
    ]
    for path in maps:
        flags += ["-Xcc", f"-fmodule-map-file={path}"]
    # The one system library whose headers do not lie where the compiler looks.
    found = subprocess.run(["pkg-config", "--cflags-only-I", "gdk-pixbuf-2.0"], capture_output=True, text=True)
    for flag in found.stdout.split():
        flags += ["-Xcc", flag]
    return flags + ["-I", str(ROOT / "Sources/CCurl/include")]
