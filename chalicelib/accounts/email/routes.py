"""The operations about e-mail addresses and the links that are sent to them, on the auth host."""

from chalicelib.platform.access.modes import Mode, Rate
from chalicelib.platform.http.operation import Operation

_PUBLIC = (Mode.PUBLIC,)
_SESSION = (Mode.SESSION,)

OPERATIONS = (
    Operation("GET", "/v1/auth/email", "list_addresses", _SESSION),
    Operation("PUT", "/v1/auth/email", "choose_language", _SESSION, is_repeatable=True),
    Operation(
        "POST", "/v1/auth/email/confirmation", "ask_confirmation", _SESSION, status=202,
        needs_presence=True, changes_sign_in=True,  # an address that is added may set the password
    ),
    Operation("POST", "/v1/auth/email/confirm", "confirm_address", _PUBLIC, rate=Rate.SIGN_IN),
    Operation("POST", "/v1/auth/password/forgot", "forgot_password", _PUBLIC, status=202, rate=Rate.SIGN_IN),
    Operation("POST", "/v1/auth/password/reset", "reset_password", _PUBLIC, rate=Rate.SIGN_IN),
)
