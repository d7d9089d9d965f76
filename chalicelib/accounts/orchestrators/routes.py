"""The operations of orchestrators, the platforms that create links for client ids."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

_PLATFORM, _SESSION = (Mode.ORCHESTRATOR_KEY,), (Mode.SESSION,)
_WRITE = "orchestrators:write"

OPERATIONS = (
    Operation(
        "POST", "/v2/orchestrators", "create_orchestrator", _SESSION,
        scope=_WRITE, status=201, shows_secret=True, needs_presence=True, redirects=True,
    ),
    Operation("DELETE", "/v2/orchestrators/{orchestrator_id}", "revoke_orchestrator", _SESSION, scope=_WRITE),
    Operation("GET", "/v2/orchestrators/client-ids", "list_client_links", _PLATFORM),
    Operation("POST", "/v2/orchestrators/client-ids", "link_client_id", _PLATFORM, status=201),
    Operation("DELETE", "/v2/orchestrators/client-ids/{client_id}", "unlink_client_id", _PLATFORM),
)
