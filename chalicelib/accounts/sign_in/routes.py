"""The operations to sign in and out and to manage the caller's sessions, on the auth host."""

from chalicelib.platform.access.modes import Mode, Rate
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation(
        "POST", "/v1/auth/wallet/challenge", "ask_challenge",
        "Ask for a text that a wallet is to sign",
        description="The message follows EIP-4361 and is valid for five minutes and one sign-in.",
        modes=(Mode.PUBLIC,),
        rate=Rate.SIGN_IN,
        status=201,
        errors=(400, 429),
    ),
    Operation(
        "POST", "/v1/auth/wallet/verify", "verify_wallet",
        "Sign in with the signed text",
        description=(
            "Sets the session cookie. The first sign-in of a wallet makes its account. 401 for a wrong signature or a "
            "challenge that was used."
        ),
        modes=(Mode.PUBLIC,),
        rate=Rate.SIGN_IN,
        errors=(400, 401, 429, 503),
        shows_secret=True,
    ),
    Operation(
        "POST", "/v1/auth/register", "register",
        "Register with an e-mail address",
        description=(
            "The response does not show whether the address was registered before. No e-mail is sent. Sign in "
            "afterwards."
        ),
        modes=(Mode.PUBLIC,),
        rate=Rate.SIGN_IN,
        status=201,
        errors=(400, 429),
    ),
    Operation(
        "POST", "/v1/auth/login", "log_in",
        "Sign in with e-mail address and password",
        description=(
            "Sets the session cookie. The message of 401 is the same for an unknown address and for a wrong password."
        ),
        modes=(Mode.PUBLIC,),
        rate=Rate.SIGN_IN,
        errors=(400, 401, 429),
        shows_secret=True,
    ),
    Operation(
        "POST", "/v1/auth/logout", "log_out",
        "End this session",
        description="Clears the session cookie.",
        modes=(Mode.SESSION,),
        errors=(401,),
    ),
    Operation(
        "GET", "/v1/auth/me", "me",
        "Who is signed in",
        description="An `address` for a wallet, an `email` otherwise.",
        modes=(Mode.SESSION,),
        errors=(401,),
    ),
    Operation(
        "GET", "/v1/auth/sessions", "list_sessions",
        "List your open sessions, the newest first",
        description="`current` is true for the session of this request.",
        modes=(Mode.SESSION,),
        errors=(401,),
    ),
    Operation(
        "DELETE", "/v1/auth/sessions/{session_id}", "revoke_session",
        "End one of your sessions",
        description="Whoever uses it has to sign in again.",
        modes=(Mode.SESSION,),
        errors=(401, 404),
    ),
)
