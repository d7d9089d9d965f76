"""The operations to sign in and out and to manage the caller's sessions, on the auth host."""

from chalicelib.platform.access.modes import Mode, Rate
from chalicelib.platform.http.operation import Operation

_PUBLIC = (Mode.PUBLIC,)
_SESSION = (Mode.SESSION,)

OPERATIONS = (
    Operation("POST", "/v1/auth/wallet/challenge", "ask_challenge", _PUBLIC, status=201, rate=Rate.SIGN_IN),
    Operation("POST", "/v1/auth/wallet/verify", "verify_wallet", _PUBLIC, rate=Rate.SIGN_IN, shows_secret=True),
    Operation("POST", "/v1/auth/register", "register", _PUBLIC, status=201, rate=Rate.SIGN_IN),
    Operation("POST", "/v1/auth/login", "log_in", _PUBLIC, rate=Rate.SIGN_IN, shows_secret=True),
    Operation("POST", "/v1/auth/logout", "log_out", _SESSION, before_second_factor=True),
    Operation("GET", "/v1/auth/me", "me", _SESSION, before_second_factor=True),
    Operation("POST", "/v1/auth/switch", "switch_account", _SESSION, shows_secret=True, before_second_factor=True),
    Operation("POST", "/v1/auth/identities/challenge", "ask_to_add_wallet", _SESSION, status=201),
    Operation(
        "POST", "/v1/auth/identities", "add_wallet", _SESSION,
        status=201, needs_presence=True, changes_sign_in=True,
    ),
    Operation(
        "DELETE", "/v1/auth/identities/{identity_id}", "remove_identity", _SESSION,
        needs_presence=True, changes_sign_in=True,
    ),
    Operation("POST", "/v1/auth/proofs/password", "prove_by_password", _SESSION),
    Operation(
        "POST", "/v1/auth/proofs/wallet/challenge", "ask_to_prove_by_wallet", _SESSION,
        status=201, before_second_factor=True,
    ),
    Operation("POST", "/v1/auth/proofs/wallet", "prove_by_wallet", _SESSION, before_second_factor=True),
    Operation("GET", "/v1/auth/sessions", "list_sessions", _SESSION),
    Operation("DELETE", "/v1/auth/sessions/{session_id}", "revoke_session", _SESSION),
)
