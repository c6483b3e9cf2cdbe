"""What a request must pass before any route sees it: its secret, and a body of bounded length in bounded time."""

import asyncio
import hmac
import logging
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field

from pydantic import SecretStr
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from groundwire.jobs.web.faults import answer

__all__ = ["Gate"]

log = logging.getLogger(__name__)

BODY_WITHIN = 30.0
"""Seconds in which a body must have arrived."""
LINGER = 200_000_000
"""Bytes that are read and forgotten of a body that is too long."""
HELD = 256_000_000
"""Bytes of bodies that are held at once; beyond, the answer is 503."""


@dataclass
class Gate:
    """Checks secrets by the beginning of the path, before the body is read; then reads the body, once and bounded."""

    app: ASGIApp
    _: KW_ONLY
    secrets: Mapping[str, tuple[SecretStr, ...]]
    """By the beginning of a path: the secrets that open it. A path that begins otherwise needs none."""
    body_limit: int
    """Bytes."""
    within: float = BODY_WITHIN
    most_held: int = HELD
    _held: int = field(default=0, init=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.lower(): value for name, value in scope["headers"]}
        refusal = self._refusal(str(scope["path"]), headers.get(b"authorization"))
        if refusal is not None:
            status, code, message = refusal
            told = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
            await answer(status, code, message, headers=told)(scope, receive, send)
            return
        pieces: list[bytes] = []
        try:
            refused = await self._read(receive, pieces)
            await (refused or self._inner(pieces))(scope, receive, send)
        finally:
            self._held -= sum(len(piece) for piece in pieces)

    async def _read(self, receive: Receive, pieces: list[bytes]) -> ASGIApp | None:
        """Fill `pieces` with the body; what answers the request instead where it can't be taken."""
        taken = 0
        refused: ASGIApp | None = None
        try:
            async with asyncio.timeout(self.within):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return _silence
                    piece = bytes(message.get("body", b""))
                    taken += len(piece)
                    if taken > self.body_limit:
                        refused = answer(413, "too_large", f"a body has {self.body_limit} bytes at most")
                    elif self._held + len(piece) > self.most_held:
                        refused = answer(503, "busy", "too many bodies at once", headers={"Retry-After": "5"})
                    if refused is None:
                        self._held += len(piece)
                        pieces.append(piece)
                    # what is refused is read to its end and forgotten: a caller that is cut off reads no answer
                    if not message.get("more_body", False) or taken > self.body_limit + LINGER:
                        return refused
        except TimeoutError:
            return answer(408, "too_slow", "the body didn't arrive in time", headers={"Connection": "close"})

    def _inner(self, pieces: list[bytes]) -> ASGIApp:
        async def run(scope: Scope, receive: Receive, send: Send) -> None:
            pieces[:] = [b"".join(pieces)]
            began = False

            async def told(message: Message) -> None:
                nonlocal began
                began = True
                await send(message)

            try:
                await self.app(_as_json(scope), _replayed(pieces[0], receive), told)
            except Exception as error:  # noqa: BLE001 - the server would log its message, which may hold trace text
                log.error("a request failed", extra={"action": "answer", "reason": type(error).__name__})
                if not began:
                    await answer(500, "internal_error", "the service failed; its log says where")(scope, receive, send)

        return run

    def _refusal(self, path: str, given: bytes | None) -> tuple[int, str, str] | None:
        accepted = next((found for start, found in self.secrets.items() if path.startswith(start)), None)
        if accepted is None:
            return None
        scheme, _, secret = (given or b"").partition(b" ")
        if scheme.lower() != b"bearer" or not secret.strip():
            return 401, "no_credentials", "send the secret as `Authorization: Bearer …`"
        # every one is compared, each in a time that says nothing of where it differs
        right = [hmac.compare_digest(secret.strip(), one.get_secret_value().encode()) for one in accepted]
        return None if any(right) else (403, "wrong_credentials", "the secret is wrong")


async def _silence(scope: Scope, receive: Receive, send: Send) -> None:
    """The caller is gone: nobody is answered."""


def _as_json(scope: Scope) -> Scope:
    """The request with its body's type named: every body is JSON, whatever a caller's tool says of it."""
    others = [(name, value) for name, value in scope["headers"] if name.lower() != b"content-type"]
    return {**scope, "headers": [*others, (b"content-type", b"application/json")]}


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body again as one message; after it what the connection says."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
