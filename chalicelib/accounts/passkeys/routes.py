"""The operations of passkeys, on the auth host."""

from chalicelib.platform.access.modes import Mode, Rate
from chalicelib.platform.http.operation import Operation

_PUBLIC, _SESSION = (Mode.PUBLIC,), (Mode.SESSION,)
_PASSKEY, _PROOF = "/v1/passkeys/{passkey_id}", "/v1/auth/proofs/passkey"

OPERATIONS = (
    Operation("POST", "/v1/auth/passkey/options", "ask_to_sign_in_by_passkey", _PUBLIC, rate=Rate.SIGN_IN),
    Operation("POST", "/v1/auth/passkey", "sign_in_by_passkey", _PUBLIC, rate=Rate.SIGN_IN, shows_secret=True),
    Operation("POST", f"{_PROOF}/options", "ask_to_prove_by_passkey", _SESSION, before_second_factor=True),
    Operation("POST", _PROOF, "prove_by_passkey", _SESSION, before_second_factor=True),
    Operation(
        "POST", "/v1/passkeys/options", "ask_to_register_passkey", _SESSION,
        needs_presence=True, changes_sign_in=True, before_second_factor=True,
    ),
    Operation(
        "POST", "/v1/passkeys", "register_passkey", _SESSION,
        status=201, needs_presence=True, changes_sign_in=True, before_second_factor=True,
    ),
    Operation("GET", "/v1/passkeys", "list_passkeys", _SESSION, before_second_factor=True),
    Operation("PUT", _PASSKEY, "rename_passkey", _SESSION),
    Operation("DELETE", _PASSKEY, "remove_passkey", _SESSION, needs_presence=True, changes_sign_in=True),
)
