"""The operations that claim to sign the payment of a link, and give the claim back."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

_CALLERS = (Mode.API_KEY, Mode.CLIENT_ID)
_WRITE = "secure_payments:write"
_PATH = "/v2/secure-payments/{token}/signing"

OPERATIONS = (
    Operation(
        "POST", _PATH, "claim_signing", _CALLERS, scope=_WRITE, is_repeatable=True, looks_up_token=True, by_page=True,
    ),
    Operation(
        "DELETE", _PATH, "end_signing", _CALLERS, scope=_WRITE, is_repeatable=True, looks_up_token=True, by_page=True,
    ),
)
