"""An object store of a test's own, on loopback: as much of S3 and of Azure as DuckDB asks of it."""

from __future__ import annotations

import base64
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

KEY_ID = "a-key-of-the-store"
SECRET = base64.b64encode(b"the secret of the store's key").decode()
_ACCOUNT = "account"
_WHEN = "Thu, 01 Jan 2026 00:00:00 GMT"
_OF_A_BLOB = {
    "Last-Modified": _WHEN,
    "ETag": '"a"',
    "x-ms-creation-time": _WHEN,
    "x-ms-blob-type": "BlockBlob",
    "x-ms-server-encrypted": "true",
    "x-ms-request-server-encrypted": "true",
    "Content-Type": "application/octet-stream",
}


@dataclass
class ObjectStore:
    """The objects by bucket and name; `is_shut` refuses every request."""

    address: str = ""
    objects: dict[str, bytes] = field(default_factory=dict)
    parts: dict[str, dict[int, bytes]] = field(default_factory=dict)
    blocks: dict[tuple[str, str], bytes] = field(default_factory=dict)
    is_shut: bool = False

    @property
    def connection_string(self) -> str:
        """Return how Azure's tools are told of it."""
        return (
            f"DefaultEndpointsProtocol=http;AccountName={_ACCOUNT};AccountKey={SECRET};"
            f"BlobEndpoint={self.address}/{_ACCOUNT};"
        )

    async def answer(self, request: Request) -> Response:
        is_azure = "x-ms-version" in request.headers
        return await (self.answer_as_azure if is_azure else self.answer_as_s3)(request)

    async def answer_as_s3(self, request: Request) -> Response:
        name, asked = request.path_params["name"], request.query_params
        signed = request.headers.get("Authorization", "")
        if self.is_shut or f"Credential={KEY_ID}/" not in signed:
            return Response(status_code=403)
        if request.method == "PUT":
            return self.put(
                name, asked.get("uploadId"), asked.get("partNumber"), await request.body()
            )
        if request.method == "POST":
            return self.post(name, asked.get("uploadId"))
        if request.method == "DELETE":
            self.objects.pop(name, None)
            return Response(status_code=204)
        if "list-type" in asked:
            return self.listing(name, asked["prefix"])
        return self.get(name, request.headers.get("Range"))

    async def answer_as_azure(self, request: Request) -> Response:
        name = request.path_params["name"].removeprefix(f"{_ACCOUNT}/")
        asked, body = request.query_params, await request.body()
        signed = request.headers.get("Authorization", "")
        if self.is_shut or not signed.startswith(f"SharedKey {_ACCOUNT}:"):
            return Response(status_code=403)
        match request.method, asked.get("comp"):
            case "PUT", "block":
                self.blocks[name, asked["blockid"]] = body
            case "PUT", "blocklist":
                listed = re.findall("<Latest>([^<]+)", body.decode())
                self.objects[name] = b"".join(self.blocks.pop((name, each)) for each in listed)
            case "GET", "list":
                return self.listing_of_azure(name, asked["prefix"])
            case "DELETE", _:
                self.objects.pop(name, None)
                return Response(status_code=202)
            case _:
                answer = self.get(name, request.headers.get("x-ms-range"))
                answer.headers.update(_OF_A_BLOB)
                return answer
        return Response(status_code=201, headers=_OF_A_BLOB)

    def listing_of_azure(self, bucket: str, prefix: str) -> Response:
        found = "".join(
            f"<Blob><Name>{escape(each)}</Name><Properties><BlobType>BlockBlob</BlobType>"
            f"<Last-Modified>{_WHEN}</Last-Modified><Content-Length>1</Content-Length>"
            "</Properties></Blob>"
            for each in self.names(bucket, prefix)
        )
        return Response(f"<EnumerationResults><Blobs>{found}</Blobs></EnumerationResults>")

    def put(self, name: str, upload: str | None, part: str | None, body: bytes) -> Response:
        if upload is not None and part is not None:
            self.parts[upload][int(part)] = body
        else:
            self.objects[name] = body
        return Response(headers={"ETag": '"a"'})

    def post(self, name: str, upload: str | None) -> Response:
        if upload is None:
            self.parts[name] = {}
            return Response(f"<R><UploadId>{escape(name)}</UploadId></R>")
        given = self.parts.pop(upload)
        self.objects[name] = b"".join(given[number] for number in sorted(given))
        return Response("<CompleteMultipartUploadResult></CompleteMultipartUploadResult>")

    def listing(self, bucket: str, prefix: str) -> Response:
        found = "".join(
            f"<Contents><Key>{escape(each)}</Key><Size>1</Size>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for each in self.names(bucket, prefix)
        )
        return Response(f"<ListBucketResult>{found}</ListBucketResult>")

    def names(self, bucket: str, prefix: str) -> list[str]:
        """Return the names with a prefix in a bucket, without the bucket."""
        names = [each.removeprefix(f"{bucket.strip('/')}/") for each in sorted(self.objects)]
        return [each for each in names if each.startswith(prefix)]

    def get(self, name: str, span: str | None) -> Response:
        whole = self.objects.get(name)
        if whole is None:
            return Response(status_code=404)
        if span is None:
            return Response(whole, headers={"ETag": '"a"'})
        first, last = (int(each) for each in span.removeprefix("bytes=").split("-"))
        told = {"Content-Range": f"bytes {first}-{last}/{len(whole)}"}
        return Response(whole[first : last + 1], status_code=206, headers=told)


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """Start a store, and end it with the block."""
    store = ObjectStore()
    methods = ["GET", "HEAD", "PUT", "POST", "DELETE"]
    app = Starlette(routes=[Route("/{name:path}", store.answer, methods=methods)])
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    with socket.create_server(("127.0.0.1", 0)) as door:
        store.address = f"http://127.0.0.1:{door.getsockname()[1]}"
        thread = threading.Thread(target=server.run, kwargs={"sockets": [door]}, daemon=True)
        thread.start()
        try:
            yield store
        finally:
            server.should_exit = True
            thread.join()
