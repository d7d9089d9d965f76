"""The authorisation matrix: every operation of the code's own table, every way to call it, everybody's resources."""

import itertools
import json
from dataclasses import replace

import pytest

from chalicelib.accounts.members.records import Invitation
from chalicelib.accounts.payees.records import PayeeDestination
from chalicelib.base.records import Key, Record
from chalicelib.platform.access.audit.records import AuditEntry
from chalicelib.platform.access.credentials.records import Account, ApiKey, ClientId
from chalicelib.platform.access.credentials.rules import SCOPES
from chalicelib.platform.access.modes import Mode, Rate
from chalicelib.platform.access.people.records import Membership, Role
from chalicelib.platform.access.people.roles import OWNERS, PEOPLES_SCOPES, SCOPES_OF
from chalicelib.platform.http.credentials import describe_accepted
from chalicelib.platform.http.operation import OPERATIONS, Operation
from chalicelib.webhooks.endpoints.records import Endpoint
from infra import admin
from tests.fakes.world import clear_tables
from tests.platform.http.roles import MAY_CALL
from tests.support.client import Api
from tests.support.examples import (
    EXAMPLES,
    accepted_ways,
    accepts,
    bar_of,
    example,
    headers_for,
    is_barred,
    prepared,
    request,
)
from tests.support.operations import models, one_of_each_kind
from tests.support.rehearsed import few
from tests.support.running import running
from tests.support.tenants import FLAWS, WAYS, Tenant, Way


def named(value: object) -> str:
    return f"{value.method} {value.path}" if isinstance(value, Operation) else getattr(value, "name", "")


@pytest.fixture(autouse=True)
def new_tables(api: Api) -> None:
    clear_tables()


every_operation = pytest.mark.parametrize("known", OPERATIONS, ids=named)
each_kind = pytest.mark.parametrize("known", few(one_of_each_kind(), OPERATIONS), ids=named)


def test_every_operation_has_an_example_and_every_example_its_operation() -> None:
    differ = EXAMPLES.keys() ^ {(known.method, known.path) for known in OPERATIONS}
    assert differ == set(), "each operation has one entry in EXAMPLES of tests/support/examples.py, and no other has"


def test_the_table_says_what_an_operation_shows_and_looks_up() -> None:
    for known in OPERATIONS:
        fields = getattr(models(known).response, "model_fields", {})
        shows = bool({"secret", "key", "rawKey"} & set(fields)) and known.method == "POST"
        assert known.shows_secret or not shows, f"{known.path} shows a secret: its answer is to be kept encrypted"
        assert known.looks_up_token == (known.path.startswith(("/v2/secure-payments/", "/v2/test/")) and "{token}" in known.path)
        assert known.rate is not Rate.SIGN_IN or known.modes == (Mode.PUBLIC,), "signing in is counted by address"
        assert known.rate is not None or known.modes == (Mode.PUBLIC,)


@every_operation
def test_an_accepted_mode_is_served(api: Api, known: Operation) -> None:
    for way in accepted_ways(known):
        tenant = Tenant()
        reply = request(api, known, headers_for(known, tenant, way), tenant, way)
        if (bar := bar_of(known, way)) is not None:
            assert (way.name, reply.status, reply.message.startswith(bar)) == (way.name, 403, True)
        else:
            assert (way.name, reply.status) == (way.name, known.status), reply.body


@each_kind
def test_every_other_mode_is_403_and_without_a_credential_401(api: Api, known: Operation) -> None:
    tenant = Tenant()
    own = prepared(known, tenant, accepted_ways(known)[0])
    for way in WAYS:
        if not accepts(known, way):
            reply = own.send(api, headers_for(known, tenant, way))
            half = way.name == "orchestrator key" and Mode.ORCHESTRATOR in known.modes
            wanted = "x-client-id is required with x-orchestrator-key" if half else refusal_of(known, way)
            status = 401 if half or way.serves == (Mode.PUBLIC,) else 403
            assert (way.name, reply.status, reply.message) == (way.name, status, wanted)


@each_kind
def test_a_page_that_is_not_ours_gets_no_cookie(api: Api, known: Operation) -> None:
    """Neither a session nor the end of one. A token in `authorization` is left out: no browser sends it by itself."""
    for way in accepted_ways(known):
        if way.name != "e-mail session":
            tenant = Tenant()
            headers = {**headers_for(known, tenant, way), "origin": "http://blog.auth.test"}
            reply = request(api, known, headers, tenant, way)
            assert "set-cookie" not in reply.headers, way.name
            signs_in = known.with_session and ("session_token" in headers.get("cookie", "") or known.signs_in)
            assert reply.status == 403 or known.method == "GET" or not signs_in, way.name


def refusal_of(known: Operation, way: Way) -> str:
    """The message for a credential of a kind that the operation does not accept."""
    if way.serves == (Mode.PUBLIC,):
        return "Unauthorized"
    kinds = {Mode.API_KEY: "x-api-key", Mode.CLIENT_ID: "x-client-id", Mode.SESSION: "A session"}
    return f"{kinds.get(way.serves[0], 'x-orchestrator-key')} is not accepted here: send {describe_accepted(known.modes)}"


OWNED = [known for known in OPERATIONS if EXAMPLES.get((known.method, known.path), example()).others]


@pytest.mark.parametrize("known", OWNED, ids=named)
def test_what_another_tenant_owns_is_as_unknown_as_what_never_was(api: Api, known: Operation) -> None:
    facts, caller = EXAMPLES[known.method, known.path], Tenant()
    for way in accepted_ways(known):
        if not is_barred(known, way):
            reply = request(api, known, headers_for(known, caller, way), Tenant(), way)
            assert reply.status in facts.others, (way.name, reply.body)


@pytest.mark.parametrize("known", [known for known in OPERATIONS if "{" in known.path], ids=named)
def test_an_id_that_is_longer_than_a_key_may_be_is_unknown(api: Api, known: Operation) -> None:
    caller, way = Tenant(), next(way for way in accepted_ways(known) if not is_barred(known, way))
    sent = prepared(known, caller, way)
    for name in sent.path:
        reply = replace(sent, path={**sent.path, name: "x" * 3_000}).send(api, headers_for(known, caller, way))
        assert reply.status in (400, 404), (name, reply.body)


def test_every_operation_that_names_a_record_in_its_path_says_what_others_hear() -> None:
    for known in OPERATIONS:
        if "{" in known.path and known.path != "/v2/currencies/{currency_id}/conversion-routes":
            assert known in OWNED


@each_kind
def test_a_flawed_credential_is_refused_as_specified(api: Api, known: Operation) -> None:
    """At every operation that accepts its mode, with the text of the interface; beside its client id a key too."""
    for way in WAYS:
        flaws = [flaw for flaw in FLAWS if flaw[0] == way.name and way.serves[0] in known.modes]
        if not flaws:
            continue
        tenant = Tenant()
        own = prepared(known, tenant, way)
        for name, flaw, spoil, status, message in flaws:
            headers = headers_for(known, tenant, way)
            reply = own.send(api, spoil(tenant, headers))
            if message.startswith("x-api-key") and "x-client-id" in headers:
                message += ", or leave it out"
            assert (reply.status, reply.message) == (status, message), (name, flaw)
            tenant.mend()


@each_kind
def test_an_api_key_that_lacks_the_scope_is_403_naming_it(api: Api, known: Operation) -> None:
    if Mode.API_KEY not in known.modes or Mode.PUBLIC in known.modes:
        return
    assert known.scope in SCOPES, "what an API key may do must be possible to limit"
    tenant, way = Tenant(), WAYS[1]
    others = tuple(each for each in SCOPES if each != known.scope)
    headers = tenant.spoil(tenant.by_key(), "x-api-key", ApiKey, scopes=others)
    reply = request(api, known, headers, tenant, way)
    assert (reply.status, reply.message) == (403, f"This API key lacks the scope {known.scope}")
    headers = tenant.spoil(tenant.by_key(), "x-api-key", ApiKey, scopes=(known.scope,))
    fresh = Tenant()
    headers = fresh.spoil(headers_for(known, fresh, way), "x-api-key", ApiKey, scopes=(known.scope,))
    assert request(api, known, headers, fresh, way).status == known.status


@pytest.mark.parametrize("role", Role)
def test_the_scopes_of_a_role_are_those_of_what_it_may_call(role: Role) -> None:
    by_session = [known for known in OPERATIONS if Mode.SESSION in known.modes]
    assert MAY_CALL[Role.OWNER] == {known.name for known in by_session}, "roles.py says who may call it"
    allowed = {known.name for known in by_session if known.scope is None or known.scope in SCOPES_OF[role]}
    assert allowed == MAY_CALL[role]


@pytest.mark.parametrize("role", few([Role.FINANCE, Role.VIEWER], Role))
def test_a_role_may_call_what_it_is_for_and_hears_which_scope_it_lacks(api: Api, role: Role) -> None:
    for known in OPERATIONS:
        if Mode.SESSION not in known.modes:
            continue
        clear_tables()
        tenant = Tenant()
        way = Way(f"session of {role}", (Mode.SESSION,), lambda tenant: tenant.by_role(role))
        reply = request(api, known, headers_for(known, tenant, way), tenant, way)
        if known.name in MAY_CALL[role]:
            assert (known.name, reply.status) == (known.name, known.status), reply.body
        else:
            message = f"Your role in this account is {role}, which lacks the scope {known.scope}"
            assert (known.name, reply.status, reply.message) == (known.name, 403, message)


UNLOGGED = {
    "ask_to_add_wallet", "ask_to_prove_by_wallet", "ask_to_prove_by_passkey", "ask_to_register_passkey", "ask_confirmation",
    "test_webhook", "redeliver", "redeliver_failed", "choose_language", "end_sessions_of_member",
    "remove_branding_by_session", "remove_domain_by_session", "check_domain_by_session",
}
"""Which change nothing of the account, or whose examples do not."""


def test_each_change_of_an_account_in_a_session_has_an_entry_that_names_the_person(api: Api) -> None:
    rooms = ("chalicelib.accounts", "chalicelib.webhooks")
    changing = [known for known, module in OPERATIONS.items() if known.method != "GET" and module.startswith(rooms)]
    for known in [each for each in changing if Mode.SESSION in each.modes]:
        clear_tables()
        tenant, way = Tenant(), WAYS[5]
        headers, own = headers_for(known, tenant, way), prepared(known, tenant, way)
        before = entries()
        assert own.send(api, headers).status == known.status
        actors = {each.actor for key, each in entries().items() if key not in before}
        assert all(each.startswith("person:") for each in actors), known.name
        assert bool(actors) != (known.name in UNLOGGED), known.name


def entries() -> dict[Key, AuditEntry]:
    return {each.key: each for each, _ in running().store.scan((AuditEntry,)) if isinstance(each, AuditEntry)}


REDIRECTING = {
    "create_api_key", "update_api_key", "create_client_id_by_session", "update_client_id_by_session", "create_webhook", "rotate_webhook_secret",
    "create_orchestrator", "keep_own_payee_destination", "change_own_payee_destination", "change_role", "remove_member", "invite",
    "change_account", "toggle_webhook", "add_wallet", "remove_identity", "ask_to_register_passkey", "register_passkey", "remove_passkey",
    "approve_change", "ask_confirmation", "end_sessions_of_member",
}
"""What redirects money, or says who may do so."""


def test_what_redirects_money_needs_a_proof_of_presence_in_a_session_and_nothing_else_does(api: Api) -> None:
    by_session = [known for known in OPERATIONS if Mode.SESSION in known.modes]
    assert {known.name for known in by_session if known.needs_presence} == REDIRECTING
    for known in by_session:
        clear_tables()
        tenant, way = Tenant(), WAYS[5]
        headers = tenant.unproved(headers_for(known, tenant, way))
        reply = request(api, known, headers, tenant, way)
        if known.needs_presence:
            assert (known.name, reply.status, reply.json["code"]) == (known.name, 403, "presence_required")
            assert "wallet" in reply.json["proofs"]
        else:
            assert (known.name, reply.status) == (known.name, known.status), reply.body


def test_a_password_changes_no_way_to_sign_in_of_who_has_a_passkey_or_a_wallet_in_any_account(api: Api) -> None:
    """Passkeys and wallets are the person's: an account that demands nothing is no way around one that does."""
    changing = {known for known in OPERATIONS if known.changes_sign_in}
    assert {known.name for known in changing} == {
        "add_wallet", "remove_identity", "ask_to_register_passkey", "register_passkey", "remove_passkey",
        "ask_confirmation",
    }
    for known, factor in itertools.product(changing, ("passkey", "wallet")):
        tenant, way = Tenant(), WAYS[6]
        headers = headers_for(known, tenant, way)
        own = prepared(known, tenant, way)
        tenant.demand_second_factor()
        if factor == "passkey":
            tenant.passkey_id(way)
        else:
            tenant.wallet_proof(way)
        switched = api.request("POST", "/v1/auth/switch", {"accountId": tenant.other_account(way)}, headers)
        assert switched.status == 200, switched.body
        reply = own.send(api, {"cookie": switched.headers["set-cookie"].split(";")[0]})
        assert (known.name, reply.status, reply.json["code"]) == (known.name, 403, "presence_required")
        assert factor in reply.json["proofs"] and "password" not in reply.json["proofs"]


WAITING = {
    "create_api_key", "update_api_key", "create_client_id", "create_client_id_by_session", "update_client_id",
    "update_client_id_by_session", "create_webhook", "toggle_webhook", "rotate_webhook_secret", "create_payee_destination",
    "keep_own_payee_destination", "change_own_payee_destination", "change_role", "remove_member", "invite",
    "change_account", "create_orchestrator",
}
"""What may redirect money of an account, or say who may do so: with approvals the example or another body waits."""
NOT_OF_THE_ACCOUNT = {"register_invited", "accept_invitation"}
"""Whom the account has invited: the invitation has waited."""


@pytest.mark.parametrize("role", few([Role.OWNER, "API key", "client id"], [*Role, "API key", "client id"]))
def test_with_approvals_no_operation_of_any_role_or_key_redirects_money_at_once(api: Api, role: Role | str) -> None:
    """Of whatever an operation writes, nothing redirects money of the account: what does is answered by 202."""
    assert {known.name for known in OPERATIONS if known.redirects} == WAITING
    mode = {"API key": Mode.API_KEY, "client id": Mode.CLIENT_ID}.get(role, Mode.SESSION)
    for known in OPERATIONS:
        if mode not in known.modes or known.name in {*NOT_OF_THE_ACCOUNT, "approve_change"}:
            continue
        clear_tables()
        tenant = Tenant()
        way = next((each for each in WAYS if each.name == role), None) or Way(
            f"session of {role}", (Mode.SESSION,), lambda tenant: tenant.by_role(Role(role))
        )
        headers = headers_for(known, tenant, way)
        own = prepared(known, tenant, way)
        tenant.switch_approvals_on()
        before = directing(tenant)
        reply = own.send(api, headers)
        assert reply.status in (known.status, 202, 403, 409), (known.name, reply.body)
        redirected = [key for key, each in directing(tenant).items() if each.redirects(before.get(key))]
        assert not redirected, (known.name, reply.status, redirected)
        assert reply.status != 202 or known.redirects or known.status == 202, known.name


def directing(tenant: Tenant) -> dict[Key, Record]:
    """The records of the account that say where money goes, and who may do so."""
    kinds = ((Account, ApiKey, ClientId, Membership, PayeeDestination, Invitation), (Endpoint,))
    found = [record for of_table in kinds for record, _ in running().store.scan(of_table)]
    return {each.key: each for each in found if getattr(each, "account_id", None) == tenant.account_id}


def test_a_password_alone_does_nothing_where_a_second_factor_is_demanded_but_end_or_complete_it(api: Api) -> None:
    open_to_it = {known.name for known in OPERATIONS if known.before_second_factor}
    assert open_to_it == {
        "log_out", "me", "switch_account", "leave_account", "ask_to_prove_by_wallet", "prove_by_wallet",
        "ask_to_prove_by_passkey", "prove_by_passkey", "ask_to_register_passkey", "register_passkey", "list_passkeys",
    }
    for known in OPERATIONS:
        if Mode.SESSION in known.modes and known.name not in open_to_it:
            clear_tables()
            tenant, way = Tenant(), WAYS[6]
            headers = headers_for(known, tenant, way)
            own = prepared(known, tenant, way)
            tenant.demand_second_factor()
            reply = own.send(api, headers)
            assert (known.name, reply.status, reply.json["code"]) == (known.name, 403, "second_factor_required")


def test_every_scope_is_one_of_an_operation_and_no_key_has_those_of_people() -> None:
    used = {known.scope for known in OPERATIONS} - {None}
    assert used | {OWNERS} >= set(PEOPLES_SCOPES) and not set(PEOPLES_SCOPES) & set(SCOPES)
    for known in OPERATIONS:
        assert known.scope is None or known.scope in (*SCOPES, *PEOPLES_SCOPES)
        assert known.scope not in PEOPLES_SCOPES or known.modes == (Mode.SESSION,)


def test_a_key_counts_before_a_client_id_and_both_before_a_session(api: Api) -> None:
    """Supplement, part 1: a session is consulted only when no credential header is present that counts here or is wrong."""
    tenant, other = Tenant(), Tenant()
    session = tenant.by_wallet()
    for header, value in (("x-api-key", "key_unknown"), ("x-client-id", "cli_unknown"), ("x-orchestrator-key", "x")):
        reply = api.request("GET", "/v1/auth/me", None, {**session, header: value})
        assert (header, reply.status) == (header, 401)
    key = other.by_key()
    token = other.link_token()
    assert api.get(f"/v2/secure-payments/{token}", {**key, **session}).status == 200
    assert api.get(f"/v2/secure-payments/{token}", {**key, **tenant.by_client()}).status == 401


def test_of_two_credentials_the_first_counts_that_the_operation_accepts(api: Api) -> None:
    tenant = Tenant()
    both = {**tenant.by_key(), **tenant.by_client()}
    wallet = f"/v2/payee-destination?walletAddress={tenant.wallet.address}"
    assert api.get(wallet, both).status == 200
    assert api.get("/v2/client-ids", both).status == 200


def test_a_session_that_a_browser_sends_along_does_not_close_what_is_public(api: Api) -> None:
    for headers in ({"cookie": "session_token=old"}, {"authorization": "Bearer old"}):
        assert api.get("/v2/currencies", headers).status == 200


def test_the_cookie_is_found_between_others_and_two_of_them_have_no_meaning(api: Api) -> None:
    token = Tenant().by_wallet()["cookie"]
    for cookies in (f'a={{"b": 1}}; {token}', f"{token};x", f"a=b;{token}; c=d, e", f"; ;{token}"):
        assert api.get("/v1/auth/me", {"cookie": cookies}).status == 200, cookies
    other = Tenant().by_wallet()["cookie"]
    assert api.get("/v1/auth/me", {"cookie": f"{token}; {other}"}).status == 401
    assert api.get("/v1/auth/me", {"cookie": f"{token}; {token}"}).status == 200


def test_nobody_lists_what_is_anothers(api: Api) -> None:
    mine, theirs = Tenant(), Tenant()
    secrets = [theirs.link_token(), theirs.webhook_of_account(), theirs.key_id(), theirs.client_record_id()]
    for known in OPERATIONS:
        if known.method != "GET" or "{" in known.path or EXAMPLES[known.method, known.path].query:
            continue
        for way in WAYS:
            if accepts(known, way) and not is_barred(known, way):
                text = api.get(known.path, way.headers(mine)).body.decode()
                assert not any(secret in text for secret in (*secrets, theirs.account_id)), known


def test_the_operators_revocation_holds_at_once(api: Api) -> None:
    tenant = Tenant()
    key = tenant.by_key()
    assert api.get("/v2/client-ids", key).status == 200
    admin.revoke(running(), key["x-api-key"])
    assert api.get("/v2/client-ids", key).status == 401


def test_no_refusal_repeats_the_credential(api: Api) -> None:
    for name, _, spoil, _, _ in FLAWS:
        way, tenant = next(way for way in WAYS if way.name == name), Tenant()
        headers = spoil(tenant, way.headers(tenant))
        text = json.dumps(api.request("POST", "/v2/secure-payments", {}, headers).json)
        assert not any(value and value in text for value in headers.values())

