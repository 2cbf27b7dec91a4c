"""A web server for tests of downloads, with deliberate failures."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Handler(BaseHTTPRequestHandler):
    """Serves `server.files`, and drops connections as `server.cuts` says."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        server = self.server
        server.requests.append((self.path, dict(self.headers)))
        if self.headers["User-Agent"].startswith(("Python", "python")):
            return self.send_error(406)
        if self.path not in server.files:
            return self.send_error(404)
        content = server.files[self.path]
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: server.cuts.pop(0) if server.cuts else None])
        self.close_connection = True

    def log_message(self, *arguments):
        pass


@contextmanager
def serving(files: dict[str, bytes]) -> Iterator[ThreadingHTTPServer]:
    """A server of `files` by path.

    Its `cuts` are the bytes after which it drops the next connections; `url` is its address.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.files, server.requests, server.cuts = files, [], []
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
