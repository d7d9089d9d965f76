"""The operations of payee destinations: for client ids on the API host, for wallet sessions on the auth host."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

_CALLERS = (Mode.API_KEY, Mode.CLIENT_ID)
_SESSION = (Mode.SESSION,)
_OWN = "/v1/payee-destination"
_READ, _WRITE = "payee_destinations:read", "payee_destinations:write"

OPERATIONS = (
    Operation("GET", "/v2/payee-destination/signing-data", "read_signing_data", _CALLERS, scope=_READ),
    Operation(
        "POST", "/v2/payee-destination", "create_payee_destination", _CALLERS,
        scope=_WRITE, status=201, redirects=True,
    ),
    Operation("GET", "/v2/payee-destination", "read_active_payee_destination", _CALLERS, scope=_READ),
    Operation("GET", "/v2/payee-destination/{destination_id}", "read_payee_destination", _CALLERS, scope=_READ),
    Operation("DELETE", "/v2/payee-destination/{destination_id}", "remove_payee_destination", _CALLERS, scope=_WRITE),
    Operation(
        "POST", _OWN, "keep_own_payee_destination", _SESSION,
        scope=_WRITE, status=201, needs_presence=True, redirects=True,
    ),
    Operation("PUT", _OWN, "change_own_payee_destination", _SESSION, scope=_WRITE, needs_presence=True, redirects=True),
    Operation("GET", _OWN, "read_own_payee_destination", _SESSION, scope=_READ),
    Operation("GET", "/v1/payee-destination/lookup", "look_up_own_payee_destination", _SESSION, scope=_READ),
    Operation("GET", "/v1/payee-destination/payout-lookup", "look_up_payout_destination", _SESSION, scope=_READ),
    Operation("PATCH", "/v1/payee-destination/deactivate", "deactivate_own_payee_destination", _SESSION, scope=_WRITE),
)
