"""Listen at an address and answer until interrupted."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from typing import Any

from loglinear.errors import LoglinearError
from loglinear.serve.application import DEFAULT, Limits, make_app

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(
    models: Mapping[str, Any], *, host: str = "127.0.0.1", port: int = 8000, limits: Limits = DEFAULT,
    examples: Mapping[str, str] | None = None, ready: Callable[[str], None] = print,
) -> None:  # fmt: skip
    """Serve models by name until SIGINT or SIGTERM; ``ready`` is told the address. Port 0 is any free one."""
    import uvicorn

    hosts = ("localhost", "127.0.0.1", "[::1]") if host in LOOPBACK else None
    app = make_app(models, limits, hosts=hosts, examples=examples)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_keep_alive=5,
        timeout_graceful_shutdown=2, lifespan="off",
    )  # fmt: skip
    with _listen(host, port) as listening:
        name = f"[{host}]" if ":" in host else host
        ready(f"http://{name}:{listening.getsockname()[1]}/")
        uvicorn.Server(config).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    if not 0 <= port < 2**16:
        raise ValueError(f"a port is a number from 0 to 65535, not {port}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=256)
    except OSError as error:
        remedy = "; --port 0 takes any free port" if port else ""
        raise LoglinearError(f"cannot listen at {host}:{port}: {os.strerror(error.errno or 0)}{remedy}") from error
    # Connections inherit it. Without it, the body of an answer waits until the client acknowledges its head: 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
