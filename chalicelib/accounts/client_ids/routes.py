"""The operations of client ids, on the API host for API keys and on the auth host for sessions."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation


def _on_host(host: str, mode: Mode, suffix: str) -> tuple[Operation, ...]:
    one, modes, reads, writes = f"{host}/{{id}}", (mode,), "client_ids:read", "client_ids:write"
    return (
        Operation(
            "POST", host, f"create_client_id{suffix}",
            "Make a client id",
            description="A client id is public: it stands in web pages, and works from its allowed domains only.",
            modes=modes,
            scope=writes,
            status=201,
            errors=(400, 401, 403),
        ),
        Operation(
            "GET", host, f"list_client_ids{suffix}",
            "List client ids",
            description="Revoked ones are listed too.",
            modes=modes,
            scope=reads,
            errors=(401, 403),
        ),
        Operation(
            "GET", one, f"read_client_id{suffix}",
            "Read a client id's settings",
            description="With the time when it was last used.",
            modes=modes,
            scope=reads,
            errors=(401, 403, 404),
        ),
        Operation(
            "PUT", one, f"update_client_id{suffix}",
            "Change a client id; null unsets a setting",
            description="Fields that are left out do not change. A revoked client id cannot be made active again.",
            modes=modes,
            scope=writes,
            errors=(400, 401, 403, 404, 409),
        ),
        Operation(
            "DELETE", one, f"revoke_client_id{suffix}",
            "Revoke a client id permanently",
            description="Calls with it get 403 from now on. Its links can still be paid.",
            modes=modes,
            scope=writes,
            errors=(401, 403, 404, 409),
        ),
    )


OPERATIONS = (
    *_on_host("/v2/client-ids", Mode.API_KEY, ""),
    *_on_host("/v1/client-ids", Mode.SESSION, "_by_session"),
)
