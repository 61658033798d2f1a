"""The port that the MCP server listens on, and who sits on it when it is taken."""

import re
import shutil
import socket
import subprocess

HOST = "127.0.0.1"
_LOOK_LIMIT_S = 5.0


class PortTakenError(Exception):
    """Another program listens there; the text is for the person at the terminal."""


def listen(port: int) -> socket.socket:
    """Open the listening socket; 0 lets the system choose the port.

    Raises:  PortTakenError: also for a port that this user may not open.
    """
    try:
        return socket.create_server((HOST, port))
    except OSError as fault:
        raise PortTakenError(
            f"Port {port} cannot be used: {_reason(port, fault)}. Choose another port, or any free"
            " one with --port 0."
        ) from fault


def _reason(port: int, fault: OSError) -> str:
    if isinstance(fault, PermissionError):
        return "the system keeps it for its administrator"
    return f"{_holder(port) or 'another program'} listens on it, and would have to be stopped"


def _holder(port: int) -> str | None:
    """Name the program that listens on a port, as far as `lsof` is here and may see it."""
    lsof = shutil.which("lsof")
    if lsof is None:
        return None
    look = [lsof, "-nP", f"-iTCP:{port}", "-sTCP:LISTEN", "-Fpc"]
    try:
        found = subprocess.run(  # noqa: S603 - a fixed question to a fixed program
            look, capture_output=True, text=True, check=False, timeout=_LOOK_LIMIT_S
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r"^p(\d+)\nc(.*)$", found, re.MULTILINE)
    return None if match is None else f"{match[2]} (process {match[1]})"
