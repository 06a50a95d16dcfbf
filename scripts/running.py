"""Processes and ports, for other scripts.

    python3 scripts/running.py end-session PID     ends every process of a session
"""

import os
import signal
import socket
import sys
from pathlib import Path


def end_session(leader):
    """Kills every process of the session that this process leads or led.

    `swift test` puts its children into process groups of their own, which killing the leader's group does not reach.
    """
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(process.name)) == leader:
                os.kill(int(process.name), signal.SIGKILL)
        except OSError:
            continue


def free_port():
    """A port on 127.0.0.1 that no process listens on at the moment."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def listens(port):
    """Whether a process accepts connections to this port on 127.0.0.1."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] != "end-session":
        sys.exit(__doc__)
    end_session(int(sys.argv[2]))
