"""The operations of the service itself: health and its OpenAPI document, and the pages that show it and the guides."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation, PageRoute

_PUBLIC = (Mode.PUBLIC,)

ROUTES = {
    "http.api": (
        Operation("GET", "/v2/health", "health", _PUBLIC, rate=None),
        Operation("GET", "/v1/health", "auth_health", _PUBLIC, rate=None),
        Operation("GET", "/openapi.json", "openapi", _PUBLIC, rate=None),
        Operation("GET", "/openapi-3.0.json", "openapi_3_0", _PUBLIC, rate=None),
        PageRoute("/docs", "show_docs"),
        PageRoute("/docs/{name}", "show_guide"),
        PageRoute("/llms.txt", "show_index"),
        PageRoute("/workflows.arazzo.yaml", "show_workflows"),
    ),
}
