"""The operations of an account's members and invitations, on the auth host."""

from chalicelib.platform.access.modes import Mode, Rate
from chalicelib.platform.http.operation import Operation

_PUBLIC, _SESSION = (Mode.PUBLIC,), (Mode.SESSION,)
_READ, _WRITE = "members:read", "members:write"
_MEMBER = "/v1/members/{person_id}"

OPERATIONS = (
    Operation("GET", "/v1/members", "list_members", _SESSION, scope=_READ),
    Operation("PUT", _MEMBER, "change_role", _SESSION, scope=_WRITE, needs_presence=True, redirects=True),
    Operation("DELETE", _MEMBER, "remove_member", _SESSION, scope=_WRITE, needs_presence=True, redirects=True),
    Operation(
        "DELETE", f"{_MEMBER}/sessions", "end_sessions_of_member", _SESSION, scope=_WRITE, needs_presence=True
    ),
    Operation("POST", "/v1/members/leave", "leave_account", _SESSION, before_second_factor=True),
    Operation(
        "POST", "/v1/invitations", "invite", _SESSION,
        scope=_WRITE, status=201, shows_secret=True, needs_presence=True, redirects=True,
    ),
    Operation("GET", "/v1/invitations", "list_invitations", _SESSION, scope=_READ),
    Operation("DELETE", "/v1/invitations/{invitation_id}", "withdraw_invitation", _SESSION, scope=_WRITE),
    Operation("POST", "/v1/auth/invitations/look-up", "look_up_invitation", _PUBLIC, rate=Rate.SIGN_IN),
    Operation("POST", "/v1/auth/invitations/accept", "accept_invitation", _SESSION),
    Operation(
        "POST", "/v1/auth/invitations/register", "register_invited", _PUBLIC, status=201, rate=Rate.SIGN_IN,
    ),
)
