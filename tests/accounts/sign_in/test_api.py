"""Signing in over HTTP: wallets, e-mail users, the session cookie, and what everybody hears who does it wrongly."""

import http.client
import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.timestamps import iso
from chalicelib.platform.access.audit.records import AuditEntry
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.people.records import name_hash
from chalicelib.platform.access.rate_limits.rules import FAILURES, SIGN_INS_PER_MINUTE
from chalicelib.platform.access.sessions.records import Session, SessionPointer
from chalicelib.platform.storage.store import Store
from infra import admin
from tests.bench.calls import counted
from tests.fakes.crash import Crash, FragileClient, Tripwire
from tests.fakes.wallets import EvmWallet, TronWallet, evm_wallet, high_s, tron_wallet, with_v
from tests.fakes.world import PREFIX
from tests.support.api import Configured
from tests.support.client import ORIGIN, TABLES, Api, Reply, Shop, stored
from tests.support.patience import patience
from tests.support.running import running

Wallet = EvmWallet | TronWallet
PASSWORD = "correct horse"
BAD_CHALLENGE = "Invalid or expired challenge: ask for a new one"
BAD_SIGNATURE = "The signature is not the wallet's for this message"
BAD_LOGIN = "Wrong e-mail address or password"
NO_SESSION = "Session is missing or has ended: sign in again"
FIELDS = ("address", "challengeId", "nonce", "message", "signature", "email", "password")
_names = itertools.count()


def new_name() -> str:
    return f"user{next(_names)}"


def challenge(api: Api, address: str, **fields: Any) -> Reply:
    return api.request("POST", "/v1/auth/wallet/challenge", {"address": address, **fields})


def signed(api: Api, wallet: Wallet, **fields: Any) -> dict[str, str]:
    """A new challenge as the wallet answers it."""
    asked = challenge(api, wallet.address, **fields)
    assert asked.status == 201, asked.json
    answer = {name: asked.json[name] for name in ("challengeId", "nonce", "message")}
    return {**answer, "signature": wallet.sign(answer["message"])}


def verify(api: Api, body: dict[str, Any], headers: dict[str, str] | None = None) -> Reply:
    return api.request("POST", "/v1/auth/wallet/verify", body, headers)


def token_of(reply: Reply) -> str:
    found = re.match(r"session_token=(([0-9A-Z]{26}\.){2}[A-Za-z0-9]{43});", reply.headers["set-cookie"])
    assert found is not None, reply.headers["set-cookie"]
    return found[1]


def wallet_token(api: Api, wallet: Wallet) -> str:
    reply = verify(api, signed(api, wallet))
    assert reply.status == 200, reply.json
    return token_of(reply)


def register(api: Api, email: str, password: str = PASSWORD) -> Reply:
    return api.request("POST", "/v1/auth/register", {"email": email, "password": password})


def log_in(api: Api, email: str, password: str = PASSWORD, headers: dict[str, str] | None = None) -> Reply:
    return api.request("POST", "/v1/auth/login", {"email": email, "password": password}, headers)


def cookie(token: str) -> dict[str, str]:
    return {"cookie": f"session_token={token}"}


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def me(api: Api, token: str) -> Reply:
    return api.get("/v1/auth/me", cookie(token))


def record(token: str) -> Session | None:
    return running().store.get(Session, Session.KEY.of(token_hash=credential_hash(token)))


def audit_of(token: str) -> list[AuditEntry]:
    session = record(token)
    assert session is not None
    return list(running().store.query(AuditEntry, AuditEntry.KEY.all(account_id=session.account_id)))


@pytest.fixture
def ann(api: Api) -> tuple[str, str]:
    """An e-mail user: address and session token."""
    email = f"{new_name()}@example.com"
    assert register(api, email).status == 201
    return email, token_of(log_in(api, email))


@pytest.mark.parametrize("make", [evm_wallet, tron_wallet])
def test_a_wallet_signs_in_and_the_cookie_says_who_it_is(api: Api, make: Callable[[str], Wallet]) -> None:
    wallet = make(new_name())
    asked = challenge(api, wallet.address)
    assert asked.status == 201 and set(asked.json) == {"challengeId", "nonce", "message", "expiresAt"}
    answer = {name: asked.json[name] for name in ("challengeId", "nonce", "message")}
    reply = verify(api, {**answer, "signature": wallet.sign(answer["message"])})
    assert (reply.status, reply.json) == (200, {})
    known = me(api, token_of(reply))
    assert known.status == 200
    assert known.json == {
        "id": known.json["id"],
        "type": "wallet",
        "address": wallet.address,
        "expiresAt": known.json["expiresAt"],
        "personId": known.json["personId"],
        "provedAt": known.json["provedAt"],
        "provedBy": "wallet",
        "proofs": ["wallet"],
        "secondFactorMissing": False,
        "role": "owner",
        "accounts": [{"id": known.json["id"], "name": wallet.address, "role": "owner"}],
        "identities": [{"id": name_hash(wallet.address), "type": "wallet", "name": wallet.address}],
    }
    assert len(known.json["id"]) == 26
    assert {line.action for line in audit_of(token_of(reply))} == {"account.created", "session.created"}


def test_an_e_mail_user_registers_and_logs_in(api: Api) -> None:
    email = f"{new_name()}@Example.com"
    made = register(api, email)
    assert made.status == 201 and set(made.json) == {"id", "email", "createdAt", "emailSent"}
    assert (made.json["email"], made.json["emailSent"]) == (email.lower(), False), "no sender is configured"
    assert "set-cookie" not in made.headers
    reply = log_in(api, email.upper())
    assert (reply.status, reply.json) == (200, {"id": made.json["id"], "email": email.lower()})
    known = me(api, token_of(reply)).json
    shown = {name: known[name] for name in (*reply.json, "type")}
    assert shown == {**reply.json, "type": "email"}
    assert [(each["type"], each["name"]) for each in known["identities"]] == [("email", email.lower())]


def test_the_cookie_is_for_this_host_over_https_and_out_of_reach_of_scripts(api: Api) -> None:
    email = f"{new_name()}@example.com"
    register(api, email)
    by_email = log_in(api, email).headers["set-cookie"]
    assert re.fullmatch(r"session_token=\w{26}\.\w{26}\.\w{43}; Max-Age=2592000; Path=/; HttpOnly; Secure; SameSite=Lax", by_email)
    by_wallet = verify(api, signed(api, evm_wallet(new_name()))).headers["set-cookie"]
    assert re.fullmatch(r"session_token=\w{26}\.\w{26}\.\w{43}; Path=/; HttpOnly; Secure; SameSite=Lax", by_wallet)


def test_the_cookie_may_be_shared_with_the_api_host(api: Api, configured: Configured) -> None:
    with configured(SESSION_DOMAIN="example.com"):
        reply = verify(api, signed(api, evm_wallet(new_name())))
        out = api.request("POST", "/v1/auth/logout", None, cookie(token_of(reply)))
    for each in (reply, out):
        assert each.headers["set-cookie"].endswith("; Path=/; Domain=example.com; HttpOnly; Secure; SameSite=Lax")


def test_below_a_stage_the_cookie_is_for_that_stage(api: Api, configured: Configured) -> None:
    with configured(AUTH_URL="https://a1.execute-api.test/prod", API_URL="https://a1.execute-api.test/prod"):
        reply = verify(api, signed(api, evm_wallet(new_name())))
        out = api.request("POST", "/v1/auth/logout", None, cookie(token_of(reply)))
    for each in (reply, out):
        assert "; Path=/prod; HttpOnly; Secure" in each.headers["set-cookie"]


def test_a_cookie_that_comes_in_crumbs_is_read_whole(api: Api, ann: tuple[str, str]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=patience(2))
    connection.putrequest("GET", "/v1/auth/me")
    connection.putheader("cookie", f"session_token={ann[1]}")
    connection.putheader("cookie", "theme=dark")
    connection.endheaders()
    assert connection.getresponse().status == 200
    connection.close()


def test_cookie_and_bearer_are_the_same_session(api: Api) -> None:
    token = wallet_token(api, evm_wallet(new_name()))
    replies = [
        api.get("/v1/auth/me", headers)
        for headers in (
            cookie(token),
            bearer(token),
            {"authorization": f"bearer {token}"},
            {"cookie": f"theme=dark; session_token={token}; other=1"},
        )
    ]
    assert [reply.status for reply in replies] == [200] * 4
    assert len({reply.json["id"] for reply in replies}) == 1


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"cookie": ""},
        {"cookie": "session_token="},
        {"cookie": "session=abc"},
        {"cookie": "session_token=wrong"},
        {"authorization": ""},
        {"authorization": "Bearer"},
        {"authorization": "Bearer "},
        {"authorization": "Bearer wrong"},
        {"authorization": "Basic dXNlcjpwYXNz"},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/auth/me"),
        ("POST", "/v1/auth/logout"),
        ("GET", "/v1/auth/sessions"),
        ("DELETE", "/v1/auth/sessions/01M7VQFVRZV5BJJSN4QTFB4MP3"),
    ],
)
def test_without_a_session_its_operations_are_401(
    api: Api, method: str, path: str, headers: dict[str, str], nothing_written: None
) -> None:
    reply = api.request(method, path, None, headers)
    assert (reply.status, reply.message) == (401, NO_SESSION if "wrong" in str(headers) else "Unauthorized")


def test_an_api_key_is_no_session(api: Api, shop: Shop) -> None:
    assert api.get("/v1/auth/me", shop.by_key).status == 403
    assert api.get("/v1/auth/me", shop.by_client).status == 403


@pytest.mark.parametrize("make", [evm_wallet, tron_wallet])
def test_a_used_challenge_is_401(api: Api, make: Callable[[str], Wallet]) -> None:
    body = signed(api, make(new_name()))
    assert verify(api, body).status == 200
    before = stored()
    reply = verify(api, body)
    assert (reply.status, reply.message) == (401, BAD_CHALLENGE)
    then = {**before, "identity": before["identity"] + 1}
    assert stored() == then and "set-cookie" not in reply.headers, "the account's audit log alone tells of it"


@pytest.mark.parametrize(
    "changes",
    [
        {"challengeId": "01M7VQFVRZV5BJJSN4QTFB4MP3"},
        {"challengeId": ""},
        {"challengeId": "x" * 5000},
        {"nonce": ""},
        {"nonce": "0" * 32},
        {"nonce": "ü"},
        {"message": ""},
        {"message": "Sign in"},
    ],
    ids=str,
)
def test_an_altered_challenge_is_401(api: Api, shop: Shop, changes: dict[str, str]) -> None:
    body = signed(api, evm_wallet(new_name()))
    before = stored()
    reply = verify(api, {**body, **changes})
    assert (reply.status, reply.message) == (401, BAD_CHALLENGE)
    assert stored() == before
    assert verify(api, body).status == 200


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (" wants you", ".evil.example wants you"),
        ("URI: http", "URI: https"),
        ("Chain ID: 1", "Chain ID: 8453"),
        ("Expiration Time: 2", "Expiration Time: 3"),
        ("your Ethereum", "your Tron"),
    ],
)
def test_a_message_of_another_domain_chain_or_time_is_401_though_it_is_signed(api: Api, old: str, new: str) -> None:
    wallet = evm_wallet(new_name())
    body = signed(api, wallet)
    message = body["message"].replace(old, new)
    assert message != body["message"]
    reply = verify(api, {**body, "message": message, "signature": wallet.sign(message)})
    assert (reply.status, reply.message) == (401, BAD_CHALLENGE)


@pytest.mark.parametrize("spoil", [high_s, lambda text: with_v(text, 29), lambda text: with_v(text, 2)])
@pytest.mark.parametrize("make", [evm_wallet, tron_wallet])
def test_a_high_s_or_an_odd_v_is_401(
    api: Api, make: Callable[[str], Wallet], spoil: Callable[[str], str]
) -> None:
    """The challenge names a chain without a node here, so that nobody else can be asked."""
    body = signed(api, make(new_name()), chainId=137)
    reply = verify(api, {**body, "signature": spoil(body["signature"])})
    assert (reply.status, reply.message) == (401, BAD_SIGNATURE)


def test_a_tron_signature_of_version_1_is_401(api: Api) -> None:
    wallet = tron_wallet(new_name())
    body = signed(api, wallet)
    reply = verify(api, {**body, "signature": wallet.sign_v1(body["message"])})
    assert (reply.status, reply.message) == (401, BAD_SIGNATURE)


@pytest.mark.parametrize("signature", ["", "0x", "signature", "0x" + "00" * 64, "0x" + "zz" * 65])
def test_what_is_no_signature_is_400(api: Api, signature: str, nothing_written: None) -> None:
    reply = verify(api, {"challengeId": "01M7", "nonce": "00", "message": "m", "signature": signature})
    assert reply.status == 400 and "Invalid signature" in reply.message


def test_a_lower_case_address_is_signed_in_its_checksummed_form(api: Api) -> None:
    wallet = evm_wallet(new_name())
    asked = challenge(api, wallet.address.lower())
    assert wallet.address in asked.json["message"].split("\n")


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("", "Invalid address: use an EVM (0x...) or a Tron (T...) address"),
        ("vitalik.eth", "Invalid address: use an EVM (0x...) or a Tron (T...) address"),
        ("0x1234", "Invalid EVM address: use 0x followed by 40 hexadecimal digits"),
        (
            "0x627306090abab3A6e1400e9345bC60c78a8BEf57",
            "Invalid EVM address: its upper and lower case do not match the EIP-55 checksum",
        ),
        (
            "TJRabPrwbZy45sbavfcjinPJC18kjpRTv9",
            "Invalid Tron address: use the 34 characters that start with T, in their exact case",
        ),
    ],
)
def test_a_wrong_address_is_400_and_says_why(api: Api, address: str, text: str, nothing_written: None) -> None:
    reply = challenge(api, address)
    assert (reply.status, reply.message) == (400, text)


@pytest.mark.parametrize("chain_id", [0, -1, 1.5, "1", True, 2**53, 10**400, [], {}])
def test_a_chain_id_is_a_positive_whole_number(api: Api, chain_id: Any, nothing_written: None) -> None:
    assert challenge(api, evm_wallet().address, chainId=chain_id).status == 400


def test_the_chain_id_is_1_unless_given_and_tron_has_none(api: Api) -> None:
    assert "\nChain ID: 1\n" in challenge(api, evm_wallet().address).json["message"]
    assert "\nChain ID: 8453\n" in challenge(api, evm_wallet().address, chainId=8453).json["message"]
    assert "Chain ID" not in challenge(api, tron_wallet().address, chainId=1).json["message"]


@pytest.mark.parametrize("path", ["wallet/challenge", "wallet/verify", "register", "login"])
@pytest.mark.parametrize("body", [{}, dict.fromkeys(FIELDS), {name: [1] for name in FIELDS}])
def test_missing_and_wrongly_typed_fields_are_400_by_name(
    api: Api, path: str, body: dict[str, Any], nothing_written: None
) -> None:
    reply = api.request("POST", f"/v1/auth/{path}", body)
    problem = "is required" if not body else "must be a string"
    assert reply.status == 400 and reply.message.endswith(f" {problem}")
    assert all(each["field"] and each["message"] == problem for each in reply.json["errors"])


@pytest.mark.parametrize("path", ["register", "login"])
@pytest.mark.parametrize("password", ["", "1234567", "x" * 101, "\U0001f511" * 7])
def test_a_password_has_8_to_100_characters(
    api: Api, path: str, password: str, nothing_written: None
) -> None:
    body = {"email": f"{new_name()}@example.com", "password": password}
    reply = api.request("POST", f"/v1/auth/{path}", body)
    assert (reply.status, reply.message) == (400, "password must have 8 to 100 characters")


@pytest.mark.parametrize("password", ["12345678", "x" * 100, "\U0001f511" * 8, "\x01" * 8, "pass\x01word"])
def test_any_text_of_that_length_is_a_password(api: Api, password: str) -> None:
    email = f"{new_name()}@example.com"
    assert register(api, email, password).status == 201
    assert log_in(api, email, password).status == 200
    assert log_in(api, email, password[:-1] + "?").status == 401


@pytest.mark.parametrize("path", ["register", "login"])
def test_a_password_with_the_character_zero_is_400(api: Api, path: str, nothing_written: None) -> None:
    reply = api.request("POST", f"/v1/auth/{path}", {"email": f"{new_name()}@example.com", "password": "pass\0word"})
    assert reply.status == 400 and reply.message.startswith("password")


def test_a_challenge_id_with_the_character_zero_is_400(api: Api, shop: Shop) -> None:
    reply = verify(api, {**signed(api, evm_wallet(new_name())), "challengeId": "\0"})
    assert reply.status == 400 and reply.message.startswith("challengeId")


def test_a_lone_surrogate_is_400(api: Api, nothing_written: None) -> None:
    body = b'{"email": "ann@example.com", "password": "abcdefgh\\ud800"}'
    for path in ("register", "login"):
        assert api.request("POST", f"/v1/auth/{path}", body, {"content-type": "application/json"}).status == 400


@pytest.mark.parametrize("email", ["", "ann", "ann@example", "a@b.c\n", "a" * 250 + "@example.com"])
def test_what_is_no_e_mail_address_is_400(api: Api, email: str, nothing_written: None) -> None:
    for reply in (register(api, email), log_in(api, email)):
        assert (reply.status, reply.message) == (400, "email must be an e-mail address, such as ann@shop.example")


def test_a_taken_address_gets_the_same_answer_and_nothing_is_written(api: Api, ann: tuple[str, str]) -> None:
    email, _ = ann
    fresh, before = register(api, f"{new_name()}@example.com"), stored()
    again = register(api, email, "another password")
    assert again.status == fresh.status == 201
    assert set(again.json) == set(fresh.json) and again.json["email"] == email
    assert [len(again.json[name]) for name in ("id", "createdAt")] == [26, 24]
    ignored = ("x-request-id", "date", "content-length", "ratelimit-remaining", "ratelimit-reset")
    shown = [{k: v for k, v in reply.headers.items() if k not in ignored} for reply in (again, fresh)]
    assert shown[0] == shown[1]
    assert stored() == before
    assert log_in(api, email, "another password").status == 401
    assert log_in(api, email).status == 200


def test_an_unknown_user_and_a_wrong_password_hear_the_same(api: Api, ann: tuple[str, str]) -> None:
    before = stored()
    replies = [log_in(api, ann[0], "wrong horse"), log_in(api, f"{new_name()}@example.com")]
    assert [(reply.status, reply.message) for reply in replies] == [(401, BAD_LOGIN)] * 2
    assert replies[0].body == replies[1].body
    then = {**before, "identity": before["identity"] + 1}
    assert stored() == then and all("set-cookie" not in reply.headers for reply in replies), "one audit line, Ann's"


def test_an_idempotency_key_does_not_tell_an_unknown_user_from_a_wrong_password(api: Api, ann: tuple[str, str]) -> None:
    """A refusal that is kept is marked as replayed: that of a known user has an audit line, and must not be kept for it."""
    for email in (ann[0], f"{new_name()}@example.com"):
        for _ in range(2):
            reply = log_in(api, email, "wrong horse", {"idempotency-key": f"{email}-1"})
            assert (reply.status, reply.message, "idempotent-replayed" in reply.headers) == (401, BAD_LOGIN, False)


def test_logging_out_ends_the_session_and_clears_the_cookie(api: Api, ann: tuple[str, str]) -> None:
    _, token = ann
    session = record(token)
    assert session is not None
    reply = api.request("POST", "/v1/auth/logout", None, cookie(token))
    assert (reply.status, reply.json) == (200, {"success": True})
    assert reply.headers["set-cookie"] == "session_token=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Lax"
    assert record(token) is None
    assert me(api, token).status == 401
    assert api.request("POST", "/v1/auth/logout", None, cookie(token)).status == 401
    lines = running().store.query(AuditEntry, AuditEntry.KEY.all(account_id=session.account_id))
    assert [line.action for line in lines] == ["account.created", "session.created", "session.ended"]
    assert lines[-1].actor == f"person:{session.person_id}"


@pytest.mark.parametrize("header", [cookie, bearer])
def test_a_login_ends_the_session_it_comes_with(
    api: Api, ann: tuple[str, str], header: Callable[[str], dict[str, str]]
) -> None:
    email, old = ann
    new = token_of(log_in(api, email, headers=header(old)))
    assert new != old
    assert (me(api, old).status, me(api, new).status) == (401, 200)


def test_a_wallets_sign_in_ends_the_session_it_comes_with(api: Api, ann: tuple[str, str]) -> None:
    reply = verify(api, signed(api, evm_wallet(new_name())), cookie(ann[1]))
    assert (reply.status, me(api, ann[1]).status) == (200, 401)


def test_a_stale_cookie_does_not_hinder_signing_in(api: Api, ann: tuple[str, str]) -> None:
    email, token = ann
    api.request("POST", "/v1/auth/logout", None, cookie(token))
    assert log_in(api, email, headers=cookie(token)).status == 200
    assert log_in(api, email, headers={"cookie": "session_token=; a=\x01"}).status == 200


def test_an_idle_session_is_401(api: Api) -> None:
    token = wallet_token(api, evm_wallet(new_name()))
    services, session = running(), record(token)
    assert session is not None
    assert session.expires_at - session.last_seen_at == timedelta(minutes=15)
    services.store.write(replace(session, expires_at=services.clock()))
    reply = me(api, token)
    assert (reply.status, reply.message) == (401, NO_SESSION)


def test_use_is_noted_and_keeps_a_wallet_session_alive(api: Api) -> None:
    token = wallet_token(api, evm_wallet(new_name()))
    store, session = running().store, record(token)
    assert session is not None
    pointer = store.get(SessionPointer, SessionPointer.KEY.of(person_id=session.person_id, session_id=session.session_id))
    assert pointer is not None
    earlier = timedelta(minutes=14)
    begun = replace(session, last_seen_at=session.last_seen_at - earlier, expires_at=session.expires_at - earlier)
    store.write(begun, pointer)
    reply = me(api, token)
    used = record(token)
    assert used is not None and used.expires_at - begun.expires_at >= earlier
    assert reply.json["expiresAt"] == iso(used.expires_at)


def test_own_sessions_are_listed_newest_first_and_can_be_ended(api: Api, ann: tuple[str, str]) -> None:
    email, first = ann
    second = token_of(log_in(api, email))
    listed = api.get("/v1/auth/sessions", cookie(second))
    assert listed.status == 200
    assert [set(each) for each in listed.json] == [{"id", "accountId", "createdAt", "lastSeenAt", "expiresAt", "current"}] * 2
    assert [each["current"] for each in listed.json] == [True, False]
    other = listed.json[1]["id"]
    reply = api.request("DELETE", f"/v1/auth/sessions/{other}", None, cookie(second))
    assert (reply.status, reply.json) == (200, {"success": True})
    assert (me(api, first).status, me(api, second).status) == (401, 200)
    assert audit_of(second)[-1].action == "session.revoked" and audit_of(second)[-1].target == other
    again = api.request("DELETE", f"/v1/auth/sessions/{other}", None, cookie(second))
    assert (again.status, again.message) == (404, "Session not found")


def test_a_session_of_another_account_is_404(api: Api, ann: tuple[str, str]) -> None:
    stranger = wallet_token(api, evm_wallet(new_name()))
    mine = api.get("/v1/auth/sessions", cookie(ann[1])).json[0]["id"]
    before = stored()
    for session_id in (mine, "unknown", "x" * 300):
        reply = api.request("DELETE", f"/v1/auth/sessions/{session_id}", None, cookie(stranger))
        assert (reply.status, reply.message) == (404, "Session not found")
    assert stored() == before and me(api, ann[1]).status == 200


def clear_counters(keep: str = "nothing") -> None:
    """Forgets how often anybody called, except in the windows that are named `keep`."""
    client, table = running().store.client, f"{PREFIX}-ops"
    for found in client.scan(TableName=table)["Items"]:
        if found["pk"]["S"].startswith("RATE#") and not found["pk"]["S"].startswith(f"RATE#{keep}#"):
            client.delete_item(TableName=table, Key={"pk": found["pk"], "sk": found["sk"]})


def first_refusal(ask: Callable[[], Reply], limit: int) -> Reply:
    """The first 429 of many requests; twice the limit, as a window may end in between."""
    return next(reply for reply in (ask() for _ in range(2 * limit + 1)) if reply.status == 429)


@pytest.mark.parametrize("path", ["wallet/challenge", "wallet/verify", "register", "login"])
def test_signing_in_is_limited_by_address(api: Api, configured: Configured, path: str) -> None:
    with configured(RATE_LIMIT_SCALE="1"):
        clear_counters()
        reply = first_refusal(lambda: api.request("POST", f"/v1/auth/{path}", {}), SIGN_INS_PER_MINUTE)
        clear_counters()
    assert reply.message == "ThrottlerException: Too Many Requests"
    assert 1 <= int(reply.headers["retry-after"]) <= 60


def test_guesses_at_a_password_are_limited_by_user_too(
    api: Api, configured: Configured, ann: tuple[str, str]
) -> None:
    def guess() -> Reply:
        clear_counters(keep="failure")
        return log_in(api, ann[0], "wrong horse")

    with configured(RATE_LIMIT_SCALE="1"):
        reply = first_refusal(guess, FAILURES)
        clear_counters()
    assert reply.message == "ThrottlerException: Too Many Requests"
    assert 1 <= int(reply.headers["retry-after"]) <= 15 * 60


def test_a_repeated_login_under_one_key_is_one_session_and_its_cookie_is_kept_encrypted(
    api: Api, ann: tuple[str, str]
) -> None:
    email, _ = ann
    headers = {"idempotency-key": new_name()}
    first, again = log_in(api, email, headers=headers), log_in(api, email, headers=headers)
    assert again.headers["idempotent-replayed"] == "true"
    assert (again.body, again.headers["set-cookie"]) == (first.body, first.headers["set-cookie"])
    client = running().store.client
    for name in TABLES:
        text = str(client.scan(TableName=f"{PREFIX}-{name}")["Items"])
        assert token_of(first) not in text and PASSWORD not in text


def test_no_password_token_nonce_or_signature_is_logged(api: Api, ann: tuple[str, str]) -> None:
    email, _ = ann
    body = signed(api, evm_wallet(new_name()))
    token = token_of(verify(api, body))
    verify(api, body)
    log_in(api, email, "a wrong password")
    me(api, token)
    register(api, email, "another password")
    text = api.log.getvalue()
    for secret in (token, body["nonce"], body["signature"][2:], "a wrong password", "another password", email):
        assert secret not in text


def test_the_dashboard_may_read_answers_and_send_cookies_another_page_may_not(
    api: Api, configured: Configured
) -> None:
    with configured(SESSION_ORIGINS='["https://dashboard.example"]'):
        for path in ("/v1/auth/me", "/v1/auth/sessions"):
            dashboard = api.get(path, {"origin": "https://dashboard.example"})
            assert dashboard.headers["access-control-allow-credentials"] == "true"
            assert "access-control-allow-credentials" not in api.get(path, {"origin": ORIGIN}).headers


def test_the_auth_host_is_healthy(api: Api) -> None:
    reply = api.get("/v1/health")
    assert (reply.status, reply.json) == (200, {"status": "ok"})


def test_a_new_password_ends_every_session_at_once_and_costs_no_further_read(api: Api) -> None:
    """Also if the operator's command dies before it deletes them."""
    email = "reset@shop.example"
    register(api, email)
    token = token_of(log_in(api, email))
    assert api.get("/v1/auth/me", cookie(token)).status == 200
    dying = FragileClient(running().store.client, Tripwire(4, before=False))
    with pytest.raises(Crash):
        admin.reset_password(replace(running(), store=Store(PREFIX, dying)), email, "another horse")
    with counted(running().store.client) as calls:
        assert api.get("/v1/auth/me", cookie(token)).status == 401
    assert calls.by_operation["BatchGetItem"] == 1
    assert log_in(api, email, "another horse").status == 200
