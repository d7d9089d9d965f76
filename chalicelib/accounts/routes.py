"""The operations of accounts: people and how they sign in, keys, client ids, and what is set for them."""

from dataclasses import replace

from chalicelib.platform.access.modes import Mode, Rate
from chalicelib.platform.http.operation import Operation

_PUBLIC, _SESSION, _KEY, _PLATFORM = (Mode.PUBLIC,), (Mode.SESSION,), (Mode.API_KEY,), (Mode.ORCHESTRATOR_KEY,)
_CALLERS = (Mode.API_KEY, Mode.CLIENT_ID)
_PASSKEY, _PROOF = "/v1/passkeys/{passkey_id}", "/v1/auth/proofs/passkey"
_MEMBER = "/v1/members/{person_id}"
_CHANGE = "/v1/changes/{change_id}"
_OWN = "/v1/payee-destination"


def _on_both_hosts(*operations: Operation) -> tuple[Operation, ...]:
    """Operations of client ids, on the API host for API keys, and the same on the auth host for sessions."""
    by_session = (
        replace(each, path=each.path.replace("/v2/", "/v1/"), name=f"{each.name}_by_session", modes=_SESSION)
        for each in operations
    )
    return (*operations, *by_session)


ROUTES = {
    "sign_in.api": (
        Operation("POST", "/v1/auth/wallet/challenge", "ask_challenge", _PUBLIC, status=201, rate=Rate.SIGN_IN),
        Operation("POST", "/v1/auth/wallet/verify", "verify_wallet", _PUBLIC, rate=Rate.SIGN_IN, shows_secret=True),
        Operation("POST", "/v1/auth/register", "register", _PUBLIC, status=201, rate=Rate.SIGN_IN),
        Operation("POST", "/v1/auth/login", "log_in", _PUBLIC, rate=Rate.SIGN_IN, shows_secret=True),
        Operation("POST", "/v1/auth/logout", "log_out", _SESSION, before_second_factor=True),
        Operation("GET", "/v1/auth/me", "me", _SESSION, before_second_factor=True),
        Operation("POST", "/v1/auth/switch", "switch_account", _SESSION, shows_secret=True, before_second_factor=True),
        Operation("POST", "/v1/auth/identities/challenge", "ask_to_add_wallet", _SESSION, status=201),
        Operation(
            "POST", "/v1/auth/identities", "add_wallet", _SESSION, status=201, needs_presence=True,
            changes_sign_in=True,
        ),
        Operation(
            "DELETE", "/v1/auth/identities/{identity_id}", "remove_identity", _SESSION, needs_presence=True,
            changes_sign_in=True,
        ),
        Operation("POST", "/v1/auth/proofs/password", "prove_by_password", _SESSION),
        Operation(
            "POST", "/v1/auth/proofs/wallet/challenge", "ask_to_prove_by_wallet", _SESSION, status=201,
            before_second_factor=True,
        ),
        Operation("POST", "/v1/auth/proofs/wallet", "prove_by_wallet", _SESSION, before_second_factor=True),
        Operation("GET", "/v1/auth/sessions", "list_sessions", _SESSION),
        Operation("DELETE", "/v1/auth/sessions/{session_id}", "revoke_session", _SESSION),
    ),
    "email.api": (
        Operation("GET", "/v1/auth/email", "list_addresses", _SESSION),
        Operation("PUT", "/v1/auth/email", "choose_language", _SESSION, is_repeatable=True),
        Operation(
            "POST", "/v1/auth/email/confirmation", "ask_confirmation", _SESSION, status=202, needs_presence=True,
            changes_sign_in=True,  # an address that is added may set the password
        ),
        Operation("POST", "/v1/auth/email/confirm", "confirm_address", _PUBLIC, rate=Rate.SIGN_IN),
        Operation("POST", "/v1/auth/password/forgot", "forgot_password", _PUBLIC, status=202, rate=Rate.SIGN_IN),
        Operation("POST", "/v1/auth/password/reset", "reset_password", _PUBLIC, rate=Rate.SIGN_IN),
    ),
    "passkeys.api": (
        Operation("POST", "/v1/auth/passkey/options", "ask_to_sign_in_by_passkey", _PUBLIC, rate=Rate.SIGN_IN),
        Operation("POST", "/v1/auth/passkey", "sign_in_by_passkey", _PUBLIC, rate=Rate.SIGN_IN, shows_secret=True),
        Operation("POST", f"{_PROOF}/options", "ask_to_prove_by_passkey", _SESSION, before_second_factor=True),
        Operation("POST", _PROOF, "prove_by_passkey", _SESSION, before_second_factor=True),
        Operation(
            "POST", "/v1/passkeys/options", "ask_to_register_passkey", _SESSION, needs_presence=True,
            changes_sign_in=True, before_second_factor=True,
        ),
        Operation(
            "POST", "/v1/passkeys", "register_passkey", _SESSION, status=201, needs_presence=True, changes_sign_in=True,
            before_second_factor=True,
        ),
        Operation("GET", "/v1/passkeys", "list_passkeys", _SESSION, before_second_factor=True),
        Operation("PUT", _PASSKEY, "rename_passkey", _SESSION),
        Operation("DELETE", _PASSKEY, "remove_passkey", _SESSION, needs_presence=True, changes_sign_in=True),
    ),
    "members.api": (
        Operation("GET", "/v1/members", "list_members", _SESSION, scope="members:read"),
        Operation("PUT", _MEMBER, "change_role", _SESSION, scope="members:write", needs_presence=True, redirects=True),
        Operation(
            "DELETE", _MEMBER, "remove_member", _SESSION, scope="members:write", needs_presence=True, redirects=True,
        ),
        Operation(
            "DELETE", f"{_MEMBER}/sessions", "end_sessions_of_member", _SESSION, scope="members:write",
            needs_presence=True,
        ),
        Operation("POST", "/v1/members/leave", "leave_account", _SESSION, before_second_factor=True),
        Operation(
            "POST", "/v1/invitations", "invite", _SESSION, scope="members:write", status=201, shows_secret=True,
            needs_presence=True, redirects=True,
        ),
        Operation("GET", "/v1/invitations", "list_invitations", _SESSION, scope="members:read"),
        Operation("DELETE", "/v1/invitations/{invitation_id}", "withdraw_invitation", _SESSION, scope="members:write"),
        Operation("POST", "/v1/auth/invitations/look-up", "look_up_invitation", _PUBLIC, rate=Rate.SIGN_IN),
        Operation("POST", "/v1/auth/invitations/accept", "accept_invitation", _SESSION),
        Operation("POST", "/v1/auth/invitations/register", "register_invited", _PUBLIC, status=201, rate=Rate.SIGN_IN),
    ),
    "notifications.api": (
        Operation("GET", "/v1/notifications", "read_notifications", _SESSION, scope="account:read"),
        Operation(
            "PUT", "/v1/notifications", "choose_notifications", _SESSION, scope="account:write", is_repeatable=True,
        ),
    ),
    "settings.api": (
        Operation("GET", "/v1/account", "read_account", _SESSION, scope="account:read"),
        Operation(
            "PUT", "/v1/account", "change_account", _SESSION, scope="account:write", needs_presence=True,
            redirects=True,
        ),
    ),
    "changes.api": (
        Operation("GET", "/v1/changes", "list_changes", _SESSION, scope="changes:read"),
        Operation("GET", _CHANGE, "read_change", _SESSION, scope="changes:read"),
        Operation("POST", f"{_CHANGE}/approve", "approve_change", _SESSION, scope="changes:write", needs_presence=True),
        Operation("POST", f"{_CHANGE}/refuse", "refuse_change", _SESSION, scope="changes:write"),
        Operation("POST", f"{_CHANGE}/withdraw", "withdraw_change", _SESSION, scope="changes:read"),
    ),
    "api_keys.api": (
        Operation(
            "POST", "/v1/api-keys", "create_api_key", _SESSION, scope="api_keys:write", status=201, shows_secret=True,
            needs_presence=True, redirects=True,
        ),
        Operation("GET", "/v1/api-keys", "list_api_keys", _SESSION, scope="api_keys:read"),
        Operation("GET", "/v1/api-keys/{key_id}", "read_api_key", _SESSION, scope="api_keys:read"),
        Operation(
            "PUT", "/v1/api-keys/{key_id}", "update_api_key", _SESSION, scope="api_keys:write", needs_presence=True,
            redirects=True,
        ),
        Operation("DELETE", "/v1/api-keys/{key_id}", "revoke_api_key", _SESSION, scope="api_keys:write"),
    ),
    "client_ids.api": _on_both_hosts(
        Operation(
            "POST", "/v2/client-ids", "create_client_id", _KEY, scope="client_ids:write", status=201,
            needs_presence=True, redirects=True,
        ),
        Operation("GET", "/v2/client-ids", "list_client_ids", _KEY, scope="client_ids:read"),
        Operation("GET", "/v2/client-ids/{id}", "read_client_id", _KEY, scope="client_ids:read"),
        Operation(
            "PUT", "/v2/client-ids/{id}", "update_client_id", _KEY, scope="client_ids:write", needs_presence=True,
            redirects=True,
        ),
        Operation("DELETE", "/v2/client-ids/{id}", "revoke_client_id", _KEY, scope="client_ids:write"),
    ),
    "branding.api": _on_both_hosts(
        Operation("PUT", "/v2/client-ids/{id}/branding", "put_branding", _KEY, scope="client_ids:write"),
        Operation("GET", "/v2/client-ids/{id}/branding", "read_branding", _KEY, scope="client_ids:read"),
        Operation("DELETE", "/v2/client-ids/{id}/branding", "remove_branding", _KEY, scope="client_ids:write"),
    ),
    "domains.api": _on_both_hosts(
        Operation("PUT", "/v2/client-ids/{id}/domain", "put_domain", _KEY, scope="client_ids:write"),
        Operation("GET", "/v2/client-ids/{id}/domain", "read_domain", _KEY, scope="client_ids:read"),
        Operation("DELETE", "/v2/client-ids/{id}/domain", "remove_domain", _KEY, scope="client_ids:write"),
        Operation("POST", "/v2/client-ids/{id}/domain/check", "check_domain", _KEY, scope="client_ids:write"),
    ),
    "audit_log.api": (
        Operation("GET", "/v1/audit", "read_audit", (Mode.API_KEY, Mode.SESSION), scope="audit:read"),
    ),
    "payees.api": (
        Operation(
            "GET", "/v2/payee-destination/signing-data", "read_signing_data", _CALLERS, scope="payee_destinations:read",
        ),
        Operation(
            "POST", "/v2/payee-destination", "create_payee_destination", _CALLERS, scope="payee_destinations:write",
            status=201, redirects=True,
        ),
        Operation(
            "GET", "/v2/payee-destination", "read_active_payee_destination", _CALLERS, scope="payee_destinations:read",
        ),
        Operation(
            "GET", "/v2/payee-destination/{destination_id}", "read_payee_destination", _CALLERS,
            scope="payee_destinations:read",
        ),
        Operation(
            "DELETE", "/v2/payee-destination/{destination_id}", "remove_payee_destination", _CALLERS,
            scope="payee_destinations:write",
        ),
        Operation(
            "POST", _OWN, "keep_own_payee_destination", _SESSION, scope="payee_destinations:write", status=201,
            needs_presence=True, redirects=True,
        ),
        Operation(
            "PUT", _OWN, "change_own_payee_destination", _SESSION, scope="payee_destinations:write",
            needs_presence=True, redirects=True,
        ),
        Operation("GET", _OWN, "read_own_payee_destination", _SESSION, scope="payee_destinations:read"),
        Operation(
            "GET", "/v1/payee-destination/lookup", "look_up_own_payee_destination", _SESSION,
            scope="payee_destinations:read",
        ),
        Operation(
            "GET", "/v1/payee-destination/payout-lookup", "look_up_payout_destination", _SESSION,
            scope="payee_destinations:read",
        ),
        Operation(
            "PATCH", "/v1/payee-destination/deactivate", "deactivate_own_payee_destination", _SESSION,
            scope="payee_destinations:write",
        ),
    ),
    "orchestrators.api": (
        Operation(
            "POST", "/v2/orchestrators", "create_orchestrator", _SESSION, scope="orchestrators:write", status=201,
            shows_secret=True, needs_presence=True, redirects=True,
        ),
        Operation("GET", "/v2/orchestrators", "list_orchestrators", _SESSION, scope="orchestrators:read"),
        Operation(
            "DELETE", "/v2/orchestrators/{orchestrator_id}", "revoke_orchestrator", _SESSION,
            scope="orchestrators:write",
        ),
        Operation("GET", "/v2/orchestrators/client-ids", "list_client_links", _PLATFORM),
        Operation("POST", "/v2/orchestrators/client-ids", "link_client_id", _PLATFORM, status=201),
        Operation("DELETE", "/v2/orchestrators/client-ids/{client_id}", "unlink_client_id", _PLATFORM),
    ),
}
