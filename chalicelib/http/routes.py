"""The operations of the service itself: health, and its OpenAPI document."""

from chalicelib.access.modes import Mode
from chalicelib.http.operation import Operation

_PUBLIC = (Mode.PUBLIC,)

OPERATIONS = (
    Operation("GET", "/v2/health", "health", "Whether the API answers", modes=_PUBLIC, rate=None),
    Operation("GET", "/v1/health", "auth_health", "Whether the auth API answers", modes=_PUBLIC, rate=None),
    Operation("GET", "/openapi.json", "openapi", "This document", modes=_PUBLIC, rate=None),
)
