"""What each role may do: a role is a set of scopes, those of API keys and those of operations that only people call."""

from chalicelib.base.errors import Forbidden
from chalicelib.platform.access.credentials.rules import SCOPES
from chalicelib.platform.access.people.records import Role

OWNERS = "owners:write"
"""The scope to make owners, and to change and remove them."""
APPROVES = "changes:write"
"""The scope to approve and to refuse changes that wait."""
PEOPLES_SCOPES = (
    "api_keys:read", "api_keys:write", "orchestrators:read", "orchestrators:write", "members:read", "members:write",
    "account:read", "account:write", "changes:read", APPROVES, OWNERS,
)
"""The scopes of operations that only people call: no API key can have one of these."""

_VIEWS = tuple(
    f"{resource}:read"
    for resource in (
        "secure_payments", "requests", "payouts", "webhooks", "client_ids", "payee_destinations", "members", "account",
        "changes",
    )
)
_ADMINISTERS = tuple(scope for scope in (*SCOPES, *PEOPLES_SCOPES) if scope != OWNERS)
SCOPES_OF: dict[Role, tuple[str, ...]] = {
    Role.OWNER: (*_ADMINISTERS, OWNERS),
    Role.ADMIN: _ADMINISTERS,
    Role.FINANCE: (
        *_VIEWS, "secure_payments:write", "requests:write", "payouts:write", "payee_destinations:write", "audit:read",
        APPROVES,
    ),
    Role.SUPPORT: (*_VIEWS, "secure_payments:write"),
    Role.DEVELOPER: (
        *_VIEWS, "api_keys:read", "api_keys:write", "client_ids:write", "webhooks:write", "orchestrators:read",
        "orchestrators:write", "audit:read",
    ),
    Role.VIEWER: _VIEWS,
}


def check_role(role: Role, required: str | None) -> None:
    """Raises Forbidden, naming role and scope, if the role does not have the required scope."""
    if required is not None and required not in SCOPES_OF[role]:
        raise Forbidden(f"Your role in this account is {role}, which lacks the scope {required}")
