"""The web service on a socket, in a thread beside everything else."""

import asyncio
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import uvicorn
from fastapi import FastAPI

from groundwire.jobs.spec import ServiceSpec
from groundwire.scorer import ConfigError

__all__ = ["listen", "serve"]

log = logging.getLogger(__name__)

CONNECTIONS = 512
"""Requests under way at once; beyond, the answer is 503."""
BACKLOG = 2048
"""Connections that wait to be taken."""
DRAIN = 10.0
"""Seconds that requests under way have to end in."""


class _Server(uvicorn.Server):
    """A server that leaves the process's signals to whoever runs it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def listen(spec: ServiceSpec) -> socket.socket:
    """The socket that the configuration names. Raises `ConfigError` where it can't be had."""
    family = socket.AF_INET6 if ":" in spec.host else socket.AF_INET
    # the protocol is named because asyncio sends without delay only where it is: the kernel's is 40 ms an answer
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((spec.host, spec.port))
        listening.listen(BACKLOG)  # who calls before the server is up waits for it
    except OSError as error:
        listening.close()
        raise ConfigError(f"service: can't listen on {spec.host}:{spec.port}: {error.strerror}") from None
    return listening


async def serve(app: FastAPI, listening: socket.socket, stop: asyncio.Event) -> None:
    """Answer requests on the socket until `stop` is set, and then those under way.

    The server has a thread and a loop of its own: a judge that computes for long delays no answer.
    """
    config = uvicorn.Config(
        app,
        access_log=False,
        log_config=None,
        lifespan="off",
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=int(DRAIN),
        server_header=False,
        ws="none",
    )
    server = _Server(config)
    host, port = listening.getsockname()[:2]
    log.info("listening on %s:%s", host, port, extra={"action": "serve"})
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def work() -> None:
        try:
            asyncio.run(server.serve(sockets=[listening]))
        finally:
            with suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(ended.set)

    thread = threading.Thread(target=work, name="groundwire-web", daemon=True)
    thread.start()
    waits = [asyncio.create_task(event.wait()) for event in (ended, stop)]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        server.should_exit = True
        await ended.wait()
        thread.join()  # it has nothing left to do
        for wait in waits:
            wait.cancel()
