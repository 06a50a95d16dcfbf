"""The WebSocket server of websocket.py, run by a Python that has the package."""

import os
import subprocess
import sys
from pathlib import Path


def python():
    # Debian's Python has it after scripts/packages; another one may.
    for candidate in ("/usr/bin/python3", sys.executable):
        command = [candidate, "-c", "import websockets"]
        if os.path.exists(candidate) and subprocess.run(command, capture_output=True).returncode == 0:
            return candidate
    raise SystemExit("scripts/servers: Python's websockets is missing; run scripts/packages servers")


def start(servers, ports, pair, attempts_left):
    key, certificate = pair
    plain, secure = ports.next(), ports.next()
    command = [python(), "-B", Path(__file__).with_name("websocket.py"), plain, secure, certificate, key]
    if not servers.launch(command, [plain, secure], attempts_left):
        return None
    return {"WEBSOCKETS": f"ws://127.0.0.1:{plain}", "WEBSOCKETS_TLS": f"wss://localhost:{secure}"}
