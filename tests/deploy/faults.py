"""A door before the local cloud that refuses one kind of request, so that one step of a deployment breaks."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from tests.support.patience import patience

CAUSE = "broken by a test"
_XML = f"<ErrorResponse><Error><Code>AccessDenied</Code><Message>{CAUSE}</Message></Error></ErrorResponse>".encode()
_S3 = f"<Error><Code>AccessDenied</Code><Message>{CAUSE}</Message></Error>".encode()
_JSON = f'{{"__type": "AccessDeniedException", "message": "{CAUSE}"}}'.encode()

Refused = Callable[[str, str, bytes], bool]
"""Whether to refuse a request, by its method, path and body."""


@contextmanager
def door(cloud_url: str, refused: Refused) -> Iterator[str]:
    """Yields the URL at which the cloud is reached, but for requests that are `refused` as forbidden."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_request(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            if refused(self.command, self.path, body):
                is_s3 = "-builds-" in self.path
                text = _S3 if is_s3 else _XML if self.path == "/" and b"Action=" in body else _JSON
                self._answer(403, [("x-amzn-errortype", "AccessDeniedException")], text)
                return
            connection = HTTPConnection(urlsplit(cloud_url).netloc, timeout=patience(2))
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                connection.putheader(name, value)  # the host as well, because it is signed
            connection.endheaders(body)
            answer = connection.getresponse()
            self._answer(answer.status, answer.getheaders(), answer.read())
            connection.close()

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = handle_request

        def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
            self.send_response_only(status)
            for name, value in headers:
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
