"""The payment page on a local host, original or altered, for `make page-hash URL=...`."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from chalicelib.pages.assets import served_assets, template

METAS = '<meta name="api-url" content="https://api.example"><meta name="client-id" content="cli_page">'
FACTS = f"{METAS}<noscript><p>You pay 1 USDC</p></noscript>"
HTML = "text/html; charset=utf-8"


@dataclass
class Served:
    """The response of each path: text, content type and further headers."""

    facts: str = FACTS
    altered: dict[str, tuple[str, str]] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    status: int = 200

    def answer(self, path: str) -> tuple[str, str] | None:
        if path in self.altered:
            return self.altered[path]
        if path == "/":
            return self.facts.join(template()), HTML
        asset = served_assets().get(path.removeprefix("/pages/"))
        return (asset.text, asset.content_type) if asset else None


@contextmanager
def serving(page: Served) -> Iterator[str]:
    """Yields the URL of a link on that host."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = page.answer(self.path.partition("?")[0])
            text, content_type = answer or ("", "text/plain")
            self.send_response(page.status if answer else 404)
            self.send_header("content-type", content_type)
            for name, value in page.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/?token=01M7VR2YNJE8VY59CWNJJJKZPH"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
