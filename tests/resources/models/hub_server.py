"""A model hub on loopback that speaks the resolve protocol, and misbehaves on command.

Like Hugging Face, it redirects a request for a large file to another place, and one for a small
file within the hub.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from resources.models.base import ManifestFile, ManifestModel
from tests.servers import Exchange, MisbehavingServer, head

COMMIT = "0123456789abcdef0123456789abcdef01234567"
WEIGHTS = random.Random(11).randbytes(700_000)
TOKENIZER = b'{"version": "1.0", "model": {}}' * 50
CONFIG = b'{"id2label": {"0": "entailment"}}'

MODEL = ManifestModel(
    name="nli",
    title="tiny inference",
    purpose="tests",
    repo="someone/tiny-nli",
    revision=COMMIT,
    licence="Apache-2.0",
    source="https://hub.example/someone/tiny-nli",
    files=tuple(
        ManifestFile(
            path=path,
            save_as=path.rpartition("/")[2],
            bytes=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
        )
        for path, content in (
            ("onnx/model.onnx", WEIGHTS),
            ("tokenizer.json", TOKENIZER),
            ("config.json", CONFIG),
        )
    ),
)


@dataclass
class FakeHub:
    """The hub and its files; `spoil` may change a body, `refuse` may answer with a status."""

    server: MisbehavingServer
    large: dict[str, bytes] = field(default_factory=lambda: {"onnx/model.onnx": WEIGHTS})
    small: dict[str, bytes] = field(
        default_factory=lambda: {"tokenizer.json": TOKENIZER, "config.json": CONFIG}
    )
    spoil: Callable[[str, bytes], bytes] = lambda path, body: body
    break_after: list[int] = field(default_factory=list)
    """Cut the connection after so many bytes of the weights, once for each entry."""
    refuse: Callable[[str], int | None] = lambda path: None
    elsewhere: str | None = None
    ranges: bool = True

    def __post_init__(self) -> None:
        self.server.on("*", self.behave)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"

    def asked(self, part: str) -> int:
        """How many GET requests had this in their path."""
        return sum(1 for a in self.server.asked if a.method == "GET" and part in a.path)

    async def behave(self, exchange: Exchange) -> None:
        path = exchange.asked.path
        refused = self.refuse(path)
        if refused is not None:
            await self._send(exchange, refused, {}, b"no")
        elif "/resolve/" in path:
            name = path.split("/resolve/")[1].partition("/")[2]
            await self._resolve(exchange, name)
        elif path.startswith("/cdn/"):
            await self._send_file(exchange, path.removeprefix("/cdn/"), self.large)
        else:
            await self._send_file(exchange, path.removeprefix("/api/resolve-cache/"), self.small)

    async def _resolve(self, exchange: Exchange, name: str) -> None:
        if name in self.large:
            place = self.elsewhere or f"{self.url}/cdn/{name}"
            await self._send(exchange, 302, {"Location": place}, b"Found. Redirecting")
        elif name in self.small:
            place = f"/api/resolve-cache/{name}"
            await self._send(exchange, 307, {"Location": place}, b"Temporary Redirect")
        else:
            await self._send(exchange, 404, {}, b"Entry not found")

    async def _send_file(self, exchange: Exchange, name: str, files: dict[str, bytes]) -> None:
        body, said = self.spoil(name, files[name]), dict[str, str]()
        wanted = exchange.asked.headers.get("range", "")
        if wanted and self.ranges:
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            said["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
            await self._send(exchange, 206, said, body[start:])
        else:
            await self._send(exchange, 200, said, body)

    async def _send(
        self, exchange: Exchange, status: int, headers: dict[str, str], body: bytes
    ) -> None:
        await exchange.send(head(status, {**headers, "Content-Length": str(len(body))}))
        if exchange.asked.method == "HEAD":
            return
        if self.break_after and status in {200, 206} and len(body) > self.break_after[0]:
            exchange.keep_alive = False
            body = body[: self.break_after.pop(0)]
        await exchange.send(body)
