"""The operations of client ids, on the API host for API keys and on the auth host for sessions."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

_READ, _WRITE = "client_ids:read", "client_ids:write"


def _on_host(path: str, mode: Mode, suffix: str) -> tuple[Operation, ...]:
    one, modes = f"{path}/{{id}}", (mode,)
    return (
        Operation(
            "POST", path, f"create_client_id{suffix}", modes,
            scope=_WRITE, status=201, needs_presence=True, redirects=True,
        ),
        Operation("GET", path, f"list_client_ids{suffix}", modes, scope=_READ),
        Operation("GET", one, f"read_client_id{suffix}", modes, scope=_READ),
        Operation("PUT", one, f"update_client_id{suffix}", modes, scope=_WRITE, needs_presence=True, redirects=True),
        Operation("DELETE", one, f"revoke_client_id{suffix}", modes, scope=_WRITE),
    )


OPERATIONS = (
    *_on_host("/v2/client-ids", Mode.API_KEY, ""),
    *_on_host("/v1/client-ids", Mode.SESSION, "_by_session"),
)
