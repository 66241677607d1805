"""The addresses at which others reach this machine."""

from __future__ import annotations

import socket
from contextlib import suppress
from urllib.parse import urlsplit

LOCAL = ("localhost", "127.0.0.1", "::1", "0.0.0.0", "")


def reachable(url: str, bound: str | None, machine: list[str] | None = None) -> list[str]:
    """Return the addresses of the app for other devices, the likeliest first; none where it listens to this machine only.

    url: as this browser reached it. bound: what the server listens to, None for all. machine: addresses of this machine, looked up if None.

    >>> reachable("https://atlas.example.org/scaling", "127.0.0.1")        # behind a proxy
    ['https://atlas.example.org']
    >>> reachable("http://localhost:8501/", None, ["192.168.1.7", "10.0.0.3"])
    ['http://192.168.1.7:8501', 'http://10.0.0.3:8501']
    >>> reachable("http://127.0.0.1:8501/", "127.0.0.1", ["192.168.1.7"])
    []
    """
    at = urlsplit(url)
    port = f":{at.port}" if at.port else ""
    if (at.hostname or "") not in LOCAL:
        return [f"{at.scheme}://{at.netloc}"]
    if bound in LOCAL and bound not in ("0.0.0.0", ""):
        return []
    return [
        f"{at.scheme or 'http'}://{host}{port}"
        for host in (local_addresses() if machine is None else machine)
    ]


def local_addresses() -> list[str]:
    """Return the addresses of this machine in its networks, that of the default route first. Nothing is sent."""
    found: list[str] = []
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way_out:
        way_out.connect(("192.0.2.1", 9))  # an address for documentation: only the way there is looked up
        found.append(way_out.getsockname()[0])
    with suppress(OSError):
        found += [str(info[4][0]) for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
    return [host for host in dict.fromkeys(found) if not host.startswith("127.")]
