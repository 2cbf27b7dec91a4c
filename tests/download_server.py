"""A web server for tests of downloads, with ranges and deliberate failures."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Handler(BaseHTTPRequestHandler):
    """Serves `server.files`, with ranges, and fails as the attributes of `server` say."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        server = self.server
        server.requests.append((self.path, dict(self.headers)))
        if self.headers["User-Agent"].startswith(("Python", "python")):
            return self.send_error(406)
        if self.path not in server.files:
            return self.send_error(404)
        content = server.files[self.path]
        start = self._start()
        if start is not None and start >= len(content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(content)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200 if start is None else 206)
        if start is not None:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if server.etag:
            self.send_header("ETag", server.etag)
        self.send_header("Content-Length", str(len(content) - (start or 0)))
        self.end_headers()
        self._send(content[start or 0 :])

    def _start(self) -> int | None:
        if not self.server.ranges or "Range" not in self.headers:
            return None
        if self.headers.get("If-Range") != self.server.etag:
            return None
        return int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))

    def _send(self, content: bytes) -> None:
        cut = self.server.cuts.pop(0) if self.server.cuts else None
        self.wfile.write(content[:cut])
        self.close_connection = True

    def log_message(self, *arguments):
        pass


@contextmanager
def serving(files: dict[str, bytes]) -> Iterator[ThreadingHTTPServer]:
    """A server of `files` by path; its attributes choose its failures.

    Its `cuts` are the bytes after which it drops the next connections; `url` is its address.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.files, server.requests, server.cuts = files, [], []
    server.ranges, server.etag = True, '"one"'
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("NO_PROXY", "*")
            yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
