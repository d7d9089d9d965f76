"""A local HTTP server of JSON, for stand-ins of third-party services."""

import json
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from infra.local.process import StackProblem, is_free


@dataclass(frozen=True)
class JsonRequest:
    """One request: method, path, query (the last value of each name) and parsed JSON body (None without a body).

    Names of headers are in lower case.
    """

    method: str
    path: str
    query: dict[str, str]
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class JsonResponse:
    """One response: `body` is sent as JSON, or as HTML if it is bytes."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class _Server(ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Prints a trace, but not for closed connections."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class JsonServer:
    """Listens on 127.0.0.1, in daemon threads of this process."""

    def __init__(self, name: str, answer: Callable[[JsonRequest], JsonResponse], port: int | None = None) -> None:
        """Raises StackProblem if the port is in use."""
        if port is not None and not is_free(port):
            raise StackProblem(f"port {port} of {name} is already in use")

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # sends headers and body in one packet

            def do_GET(self) -> None:
                url = urlsplit(self.path)
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                try:
                    body = json.loads(raw) if raw else None
                except ValueError:
                    self._send(JsonResponse({"Error": "the body is not JSON"}, 400))
                    return
                try:
                    headers = {name.lower(): value for name, value in self.headers.items()}
                    reply = answer(JsonRequest(self.command, url.path, dict(parse_qsl(url.query)), body, headers))
                except OSError as error:
                    reply = JsonResponse({"Error": f"the chain behind does not answer: {error}"}, 502)
                self._send(reply)

            do_POST = do_PUT = do_DELETE = do_GET

            def _send(self, reply: JsonResponse) -> None:
                is_json = not isinstance(reply.body, bytes)
                raw = json.dumps(reply.body).encode() if is_json else reply.body
                self.send_response(reply.status)
                self.send_header("content-type", "application/json" if is_json else "text/html")
                self.send_header("content-length", str(len(raw)))
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(raw)
                self.wfile.flush()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = _Server(("127.0.0.1", port or 0), Handler)
        self.port = int(self._server.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
