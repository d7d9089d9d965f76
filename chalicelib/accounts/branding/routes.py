"""The operations of a client id's branding, on the API host for API keys and on the auth host for sessions."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation


def _on_host(host: str, mode: Mode, suffix: str) -> tuple[Operation, ...]:
    path, modes, reads, writes = f"{host}/{{id}}/branding", (mode,), "client_ids:read", "client_ids:write"
    return (
        Operation(
            "PUT", path, f"put_branding{suffix}",
            "Set how the payment page looks for a client id's links",
            description=(
                "Replaces the whole branding: what is left out is unset. Text has to be readable on both backgrounds, "
                "or the response names the contrast that is missing."
            ),
            modes=modes,
            scope=writes,
            errors=(400, 401, 403, 404, 409),
        ),
        Operation(
            "GET", path, f"read_branding{suffix}",
            "Read a client id's branding",
            description="404 if none is set.",
            modes=modes,
            scope=reads,
            errors=(401, 403, 404),
        ),
        Operation(
            "DELETE", path, f"remove_branding{suffix}",
            "Remove a client id's branding",
            description="The payment page looks as without branding again.",
            modes=modes,
            scope=writes,
            errors=(401, 403, 404, 409),
        ),
    )


OPERATIONS = (
    *_on_host("/v2/client-ids", Mode.API_KEY, ""),
    *_on_host("/v1/client-ids", Mode.SESSION, "_by_session"),
)
