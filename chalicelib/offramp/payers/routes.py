"""The operations of payers: people who are paid out in fiat.

They are for API keys; a client id alone, whose owner lets it, reads how far the checks of one are.
"""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

_KEY = (Mode.API_KEY,)
_READ, _WRITE = "payers:read", "payers:write"
OPERATIONS = (
    Operation("POST", "/v2/payer", "create_payer", _KEY, scope=_WRITE, is_repeatable=True),
    Operation("GET", "/v2/payer/{client_user_id}", "read_payer", (*_KEY, Mode.CLIENT_ID), scope=_READ),
    Operation("PATCH", "/v2/payer/{client_user_id}", "update_payer", _KEY, scope=_WRITE, is_repeatable=True),
    Operation("DELETE", "/v2/payer/{client_user_id}", "erase_payer", _KEY, scope=_WRITE, is_repeatable=True),
    Operation(
        "POST", "/v2/payer/{client_user_id}/payment-details", "add_payment_details", _KEY, scope=_WRITE, status=201,
        is_repeatable=True,
    ),
    Operation("GET", "/v2/payer/{client_user_id}/payment-details", "list_payment_details", _KEY, scope=_READ),
)
