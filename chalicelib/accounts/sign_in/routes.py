"""The operations to sign in and out and to manage the caller's sessions, on the auth host."""

from chalicelib.access.modes import Mode, Rate
from chalicelib.http.operation import Operation

OPERATIONS = (
    Operation(
        "POST", "/v1/auth/wallet/challenge", "ask_challenge",
        "Ask for a text that a wallet is to sign",
        modes=(Mode.PUBLIC,),
        rate=Rate.SIGN_IN,
        status=201,
        errors=(400, 429),
    ),
    Operation(
        "POST", "/v1/auth/wallet/verify", "verify_wallet",
        "Sign in with the signed text",
        modes=(Mode.PUBLIC,),
        rate=Rate.SIGN_IN,
        errors=(400, 401, 429, 503),
        shows_secret=True,
    ),
    Operation(
        "POST", "/v1/auth/register", "register",
        "Register with an e-mail address; the response does not show whether it was registered before",
        modes=(Mode.PUBLIC,),
        rate=Rate.SIGN_IN,
        status=201,
        errors=(400, 429),
    ),
    Operation(
        "POST", "/v1/auth/login", "log_in",
        "Sign in with e-mail address and password",
        modes=(Mode.PUBLIC,),
        rate=Rate.SIGN_IN,
        errors=(400, 401, 429),
        shows_secret=True,
    ),
    Operation(
        "POST", "/v1/auth/logout", "log_out",
        "End this session",
        modes=(Mode.SESSION,),
        errors=(401,),
    ),
    Operation(
        "GET", "/v1/auth/me", "me",
        "Who is signed in",
        modes=(Mode.SESSION,),
        errors=(401,),
    ),
    Operation(
        "GET", "/v1/auth/sessions", "list_sessions",
        "List your open sessions, the newest first",
        modes=(Mode.SESSION,),
        errors=(401,),
    ),
    Operation(
        "DELETE", "/v1/auth/sessions/{session_id}", "revoke_session",
        "End one of your sessions",
        modes=(Mode.SESSION,),
        errors=(401, 404),
    ),
)
