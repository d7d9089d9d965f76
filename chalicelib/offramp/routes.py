"""The operations of payers, people who are paid out in fiat, and the one that the off-ramp provider calls.

Those of payers are for API keys; a client id alone, whose owner lets it, reads how far the checks of one are.
"""

from chalicelib.platform.access.modes import Mode, Rate
from chalicelib.platform.http.operation import Operation

_KEY = (Mode.API_KEY,)
_PUBLIC = (Mode.PUBLIC,)

ROUTES = {
    "service.api": (
        Operation(
            "POST", "/v2/provider-events", "receive_event", _PUBLIC, rate=Rate.PROVIDER_EVENT, is_repeatable=True,
        ),
    ),
    "payers.api": (
        Operation("POST", "/v2/payer", "create_payer", _KEY, scope="payers:write", is_repeatable=True),
        Operation("GET", "/v2/payer/{client_user_id}", "read_payer", (*_KEY, Mode.CLIENT_ID), scope="payers:read"),
        Operation(
            "PATCH", "/v2/payer/{client_user_id}", "update_payer", _KEY, scope="payers:write", is_repeatable=True,
        ),
        Operation(
            "DELETE", "/v2/payer/{client_user_id}", "erase_payer", _KEY, scope="payers:write", is_repeatable=True,
        ),
        Operation(
            "POST", "/v2/payer/{client_user_id}/payment-details", "add_payment_details", _KEY, scope="payers:write",
            status=201, is_repeatable=True,
        ),
        Operation(
            "GET", "/v2/payer/{client_user_id}/payment-details", "list_payment_details", _KEY, scope="payers:read",
        ),
    ),
}
