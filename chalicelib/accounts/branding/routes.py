"""The operations of a client id's branding, on the API host for API keys and on the auth host for sessions."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation


def _on_host(host: str, mode: Mode, suffix: str) -> tuple[Operation, ...]:
    path, modes = f"{host}/{{id}}/branding", (mode,)
    return (
        Operation("PUT", path, f"put_branding{suffix}", modes, scope="client_ids:write"),
        Operation("GET", path, f"read_branding{suffix}", modes, scope="client_ids:read"),
        Operation("DELETE", path, f"remove_branding{suffix}", modes, scope="client_ids:write"),
    )


OPERATIONS = (
    *_on_host("/v2/client-ids", Mode.API_KEY, ""),
    *_on_host("/v1/client-ids", Mode.SESSION, "_by_session"),
)
