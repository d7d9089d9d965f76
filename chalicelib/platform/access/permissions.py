"""What a caller may do: the scopes of an API key, or of the role of who is signed in."""

from chalicelib.platform.access.callers import Caller
from chalicelib.platform.access.credentials.rules import check_scope
from chalicelib.platform.access.people.roles import check_role


def check_permitted(caller: Caller, scope: str | None) -> None:
    """Raises Forbidden, naming the scope, unless the caller has it. Client ids and orchestrators have no scopes."""
    if caller.member:
        check_role(caller.member.membership.role, scope)
    else:
        check_scope(caller.scopes, scope)
