"""The operations of the service itself: health and its OpenAPI document, and the page that shows the document."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation, PageRoute

_PUBLIC = (Mode.PUBLIC,)

OPERATIONS = (
    Operation(
        "GET", "/v2/health", "health",
        "Whether the API answers",
        description="No credential is needed. Says also whether the operator has stopped payments.",
        modes=_PUBLIC,
        rate=None,
    ),
    Operation(
        "GET", "/v1/health", "auth_health",
        "Whether the auth API answers",
        description="No credential is needed. Says also whether the operator has stopped payments.",
        modes=_PUBLIC,
        rate=None,
    ),
    Operation(
        "GET", "/openapi.json", "openapi",
        "This document",
        description=(
            "The contract of the API: operations, schemas, examples, and the events that webhooks receive. "
            "`/docs` shows it as a page."
        ),
        modes=_PUBLIC,
        rate=None,
    ),
    Operation(
        "GET", "/openapi-3.0.json", "openapi_3_0",
        "This document in the form of OpenAPI 3.0",
        description=(
            "For generators of clients that do not know OpenAPI 3.1 well. It has the same operations and schemas, and "
            "neither events nor rules between fields."
        ),
        modes=_PUBLIC,
        rate=None,
    ),
)
PAGES = (PageRoute("/docs", "show_docs"),)
