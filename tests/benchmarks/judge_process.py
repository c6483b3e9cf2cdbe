"""A fake judge for benchmarks, in a process of its own: one answer for all, after a fixed latency.

`python -m tests.benchmarks.judge_process LATENCY BUSY BROKEN` prints its port. Every BUSY-th call is a 429 with
`retry-after: 1`, every BROKEN-th reply is cut JSON; 0 for none. It speaks just enough HTTP to cost little itself.
"""

import asyncio
import json
import sys
from collections.abc import Mapping

GOOD = json.dumps({"unsupported": [], "explanation": "The record gives every statement.", "label": "grounded"})
BROKEN = GOOD[:40]


def reply(status: str, body: Mapping[str, object], extra: str = "") -> bytes:
    """A whole HTTP response."""
    content = json.dumps(body).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(content)}\r\n{extra}\r\n"
    return head.encode() + content


def completion(text: str) -> bytes:
    """A chat completion with that text."""
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 2_400, "completion_tokens": 40, "total_tokens": 2_440}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "fake", "usage": usage}
    return reply("200 OK", {**body, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})


class FakeJudge:
    """Counts its calls and answers by the count."""

    def __init__(self, latency: float, busy: int, broken: int) -> None:
        self.latency = latency
        self.busy = busy
        self.broken = broken
        self.calls = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                size = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
                await reader.readexactly(size)
                self.calls += 1
                number = self.calls
                if self.busy and number % self.busy == 0:
                    error = {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}
                    writer.write(reply("429 Too Many Requests", error, "retry-after: 1\r\n"))
                    continue
                await asyncio.sleep(self.latency)
                writer.write(completion(BROKEN if self.broken and number % self.broken == 0 else GOOD))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


async def main() -> None:
    """Serve until killed."""
    latency, busy, broken = (float(argument) for argument in sys.argv[1:4])
    judge = FakeJudge(latency, int(busy), int(broken))
    server = await asyncio.start_server(judge.serve, "127.0.0.1", 0, limit=2**22)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
