"""An object store of a test's own, on loopback: as much of S3 as DuckDB asks of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

KEY_ID = "a-key-of-the-store"


@dataclass
class ObjectStore:
    """What is in it, by bucket and name; `is_shut` refuses whoever comes."""

    address: str = ""
    objects: dict[str, bytes] = field(default_factory=dict)
    parts: dict[str, dict[int, bytes]] = field(default_factory=dict)
    is_shut: bool = False


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """Start a store, and end it with the block."""
    store = ObjectStore()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def answer(self) -> None:
            url = urlsplit(self.path)
            name, asked = unquote(url.path).lstrip("/"), parse_qs(url.query, keep_blank_values=True)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if store.is_shut or f"Credential={KEY_ID}/" not in self.headers.get(
                "Authorization", ""
            ):
                self.tell(403, b"<Error><Code>AccessDenied</Code></Error>")
            elif self.command == "PUT":
                self.put(name, asked, body)
            elif self.command == "POST":
                self.post(name, asked)
            elif self.command == "DELETE":
                store.objects.pop(name, None)
                self.tell(204)
            elif "list-type" in asked:
                self.list(name.strip("/"), asked["prefix"][0])
            elif name not in store.objects:
                self.tell(404)
            else:
                self.get(store.objects[name])

        def put(self, name: str, asked: dict[str, list[str]], body: bytes) -> None:
            if "uploadId" in asked:
                store.parts[asked["uploadId"][0]][int(asked["partNumber"][0])] = body
            else:
                store.objects[name] = body
            self.tell(200, ETag='"a"')

        def post(self, name: str, asked: dict[str, list[str]]) -> None:
            if "uploads" in asked:
                store.parts[name] = {}
                self.tell(200, f"<R><UploadId>{escape(name)}</UploadId></R>".encode())
                return
            given = store.parts.pop(asked["uploadId"][0])
            store.objects[name] = b"".join(given[number] for number in sorted(given))
            self.tell(200, b"<CompleteMultipartUploadResult></CompleteMultipartUploadResult>")

        def list(self, bucket: str, prefix: str) -> None:
            names = [each.removeprefix(f"{bucket}/") for each in sorted(store.objects)]
            found = "".join(
                f"<Contents><Key>{escape(each)}</Key><Size>1</Size>"
                "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
                for each in names
                if each.startswith(prefix)
            )
            self.tell(200, f"<ListBucketResult>{found}</ListBucketResult>".encode())

        def get(self, whole: bytes) -> None:
            span = self.headers.get("Range", "")
            if not span:
                self.tell(200, whole, ETag='"a"')
                return
            first, last = (int(each) for each in span.removeprefix("bytes=").split("-"))
            told = f"bytes {first}-{last}/{len(whole)}"
            self.tell(206, whole[first : last + 1], **{"Content-Range": told})

        def tell(self, status: int, body: bytes = b"", **headers: str) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    store.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()
