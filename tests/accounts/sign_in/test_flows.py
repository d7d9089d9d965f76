"""Signing in by wallet or e-mail, how sessions live on, and how they end."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.accounts.sign_in import flows, open_sessions, wallets
from chalicelib.accounts.sign_in.records import Challenge
from chalicelib.accounts.sign_in.wallets import SignedChallenge
from chalicelib.base.errors import BadRequest, ChainUnavailable, NotFound, TooManyRequests, Unauthorized
from chalicelib.base.signatures import personal_digest
from chalicelib.chains.nodes.agreement import TooFewNodes
from chalicelib.chains.nodes.nodes import NodesDisagree
from chalicelib.platform.access.audit.records import Actor, AuditEntry
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.flows import touch
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.people.records import Person, Role
from chalicelib.platform.access.rate_limits import store as limit_store
from chalicelib.platform.access.rate_limits.records import CallCounter
from chalicelib.platform.access.rate_limits.rules import FAILURES, FAILURES_PER_DAY, Window, failure_windows
from chalicelib.platform.access.sessions.records import Session, SessionKind, SessionPointer
from chalicelib.platform.access.sessions.rules import EMAIL_LIFETIME, WALLET_IDLE
from chalicelib.platform.storage.store import Delete, Throttled
from tests.bench.calls import counted
from tests.fakes.chain import FakeChain, FakeChains
from tests.fakes.lying_node import Liar, served, served_beside, silent
from tests.fakes.wallets import EvmWallet, TronWallet, evm_wallet, high_s, tron_wallet, with_v
from tests.fakes.world import PREFIX, START, World
from tests.support.light_passwords import light_passwords

ACTOR = Actor("", "anonymous", "203.0.113.7", "req-1")
SEPOLIA = 11155111
EMAIL, PASSWORD = "ann@example.com", "correct horse"
CONTRACT = "0x5aFE3855358E112B5647B952709E6165e1c1eEEe"


def asked(world: World, address: str, chain_id: int = 1) -> Challenge:
    return wallets.create_challenge(world.services, address, chain_id)


def answered(challenge: Challenge, signature: str) -> SignedChallenge:
    return SignedChallenge(challenge.challenge_id, challenge.nonce, challenge.message, signature)


def sign_in(world: World, signed: SignedChallenge, replaced: str | None = None) -> tuple[Session, str]:
    return flows.sign_in(world.services, signed, replaced, ACTOR)


def wallet_session(world: World, wallet: EvmWallet | TronWallet | None = None) -> Session:
    signer = wallet or evm_wallet()
    challenge = asked(world, signer.address)
    return sign_in(world, answered(challenge, signer.sign(challenge.message)))[0]


def log_in(world: World, email: str = EMAIL, password: str = PASSWORD, replaced: str | None = None) -> Session:
    return flows.log_in(world.services, email, password, replaced, ACTOR)[0]


def registered(world: World, email: str = EMAIL, password: str = PASSWORD) -> Person:
    return flows.register(world.services, email, password, ACTOR)


def stored(world: World, session: Session) -> Session | None:
    return world.services.store.get(Session, Session.KEY.of(token_hash=session.token_hash))


def audit(world: World, account_id: str) -> list[AuditEntry]:
    return list(world.services.store.query(AuditEntry, AuditEntry.KEY.all(account_id=account_id)))


def items(world: World) -> int:
    names = world.client.list_tables()["TableNames"]
    return sum(world.client.scan(TableName=name)["Count"] for name in names if not name.endswith("-ops"))


def counted_to(world: World, window: Window, calls: int) -> None:
    """The counter of a window as it is after so many calls."""
    limit_store.count(world.services.store, window)
    world.client.update_item(
        TableName=f"{PREFIX}-ops",
        Key={"pk": {"S": f"RATE#{window.key}"}, "sk": {"S": "RATE"}},
        UpdateExpression="SET calls = :calls",
        ExpressionAttributeValues={":calls": {"N": str(calls)}},
    )


@pytest.fixture(autouse=True)
def passwords_of_tests() -> Iterator[None]:
    with light_passwords():
        yield


@pytest.mark.parametrize("wallet", [evm_wallet(), tron_wallet()], ids=["evm", "tron"])
def test_a_wallets_first_sign_in_makes_its_account_and_writes_a_line_for_either(
    world: World, wallet: EvmWallet | TronWallet
) -> None:
    session = wallet_session(world, wallet)
    assert (session.kind, session.subject) == (SessionKind.WALLET, wallet.address)
    identity = person_store.identity(world.services.store, wallet.address)
    assert identity is not None and identity.verified_at == world.now
    person = person_store.find_person(world.services.store, identity.person_id)
    assert person is not None and person.account_id == session.account_id and person.password_hash is None
    (owner,) = person_store.members(world.services.store, session.account_id)
    assert (owner.person_id, owner.role) == (session.person_id, Role.OWNER)
    made, line = sorted(audit(world, session.account_id), key=lambda each: each.action)
    assert (made.actor, made.action, made.target) == (f"person:{session.person_id}", "account.created", session.account_id)
    assert (line.actor, line.action) == (f"person:{session.person_id}", "session.created")
    assert (made.session_id, line.session_id) == (None, session.session_id)
    assert (line.target, line.ip_address, line.request_id) == (session.session_id, "203.0.113.7", "req-1")
    assert items(world) == 9, "person, identity, account, membership, session, two pointers, two lines; no challenge"


def test_the_next_sign_in_is_of_the_same_account(world: World) -> None:
    first, second = wallet_session(world), wallet_session(world)
    assert first.account_id == second.account_id and first.session_id != second.session_id
    actions = sorted(line.action for line in audit(world, first.account_id))
    assert actions == ["account.created", "session.created", "session.created"]


def test_the_message_names_the_site_of_the_settings(world: World) -> None:
    message = asked(world, evm_wallet().address).message
    assert message.startswith("auth.example wants you to sign in with your Ethereum account:")
    assert "URI: https://auth.example\n" in message and "Sign in to Payment Request Service." in message


@pytest.mark.parametrize("spelt", [str.lower, lambda text: "0x" + text[2:].upper(), str])
def test_an_address_in_any_valid_case_is_one_account(world: World, spelt: Any) -> None:
    wallet = evm_wallet()
    challenge = asked(world, spelt(wallet.address))
    assert challenge.address == wallet.address and f"\n{wallet.address}\n" in challenge.message
    session, _ = sign_in(world, answered(challenge, wallet.sign(challenge.message)))
    assert session.subject == wallet.address


@pytest.mark.parametrize(
    "address",
    [
        "",
        "0x",
        "0x" + "1" * 39,
        "0x" + "1" * 41,
        "0X" + "1" * 40,
        evm_wallet().address[:-1],
        evm_wallet().address.swapcase().replace("0X", "0x"),
        evm_wallet().address[2:],
        tron_wallet().address.lower(),
        tron_wallet().address[:-1] + "1",
        "T",
        "vitalik.eth",
        "0x" + "\0" * 40,
    ],
    ids=repr,
)
def test_what_is_no_address_gets_no_challenge(world: World, address: str) -> None:
    with pytest.raises(BadRequest, match="Invalid (EVM |Tron )?address"):
        asked(world, address)
    assert items(world) == 0


def test_a_tron_challenge_ignores_the_chain_that_is_asked_for(world: World) -> None:
    challenge = asked(world, tron_wallet().address, 1)
    assert challenge.chain_id == 728126428 and "Chain ID" not in challenge.message


def test_a_challenge_opens_one_session(world: World) -> None:
    wallet = evm_wallet()
    challenge = asked(world, wallet.address)
    signed = answered(challenge, wallet.sign(challenge.message))
    session, _ = sign_in(world, signed)
    before = items(world)
    with pytest.raises(Unauthorized, match="Invalid or expired challenge: ask for a new one"):
        sign_in(world, signed)
    assert items(world) == before + 1 and len(audit(world, session.account_id)) == 3, "that it was refused"


def test_a_challenge_that_is_used_at_the_same_moment_is_refused(world: World) -> None:
    """The loser has read the challenge; the winner's transaction comes between."""
    wallet = evm_wallet()
    challenge = asked(world, wallet.address)
    signed = answered(challenge, wallet.sign(challenge.message))
    store = world.services.store

    class Overtaken:
        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        def write(self, *writes: Any) -> Any:
            if store.get(Challenge, Challenge.KEY.of(challenge_id=challenge.challenge_id)):
                store.write(Delete(replace(challenge, version=1)))
            return store.write(*writes)

    with pytest.raises(Unauthorized, match="Invalid or expired challenge"):
        flows.sign_in(replace(world.services, store=Overtaken()), signed, None, ACTOR)
    assert items(world) == 0


def test_two_first_sign_ins_of_a_wallet_at_once_make_one_account(world: World) -> None:
    wallet = evm_wallet()
    challenge = asked(world, wallet.address)
    store, other = world.services.store, []

    class Overtaken:
        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        def write(self, *writes: Any) -> Any:
            if not other:
                other.append(wallet_session(world, wallet))
            return store.write(*writes)

    services = replace(world.services, store=Overtaken())
    signed = answered(challenge, wallet.sign(challenge.message))
    session, _ = flows.sign_in(services, signed, None, ACTOR)
    assert session.account_id == other[0].account_id


def test_a_challenge_expires(world: World) -> None:
    wallet = evm_wallet()
    challenge = asked(world, wallet.address)
    world.advance(300)
    with pytest.raises(Unauthorized, match="Invalid or expired challenge"):
        sign_in(world, answered(challenge, wallet.sign(challenge.message)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("auth.example wants", "evil.example wants"),
        ("URI: https://auth.example", "URI: https://evil.example"),
        ("Chain ID: 1\n", "Chain ID: 137\n"),
        ("Chain ID: 1\n", ""),
        ("Version: 1", "Version: 2"),
        ("Issued At: 2026", "Issued At: 2027"),
        ("Expiration Time: 2026", "Expiration Time: 2036"),
        ("Sign in to", "Sign in  to"),
        ("Nonce: ", "Nonce: 0"),
        ("\n", "\r\n"),
        (evm_wallet().address, evm_wallet("other").address),
        (evm_wallet().address, evm_wallet().address.lower()),
    ],
    ids=repr,
)
def test_an_altered_message_is_refused_though_it_is_signed(world: World, old: str, new: str) -> None:
    wallet = evm_wallet()
    challenge = asked(world, wallet.address)
    message = challenge.message.replace(old, new)
    assert message != challenge.message
    signed = replace(answered(challenge, wallet.sign(message)), message=message)
    before = items(world)
    with pytest.raises(Unauthorized, match="Invalid or expired challenge"):
        sign_in(world, signed)
    assert items(world) == before


@pytest.mark.parametrize("field", ["challenge_id", "nonce"])
def test_an_altered_challenge_id_or_nonce_is_refused(world: World, field: str) -> None:
    wallet = evm_wallet()
    challenge, other = asked(world, wallet.address), asked(world, wallet.address)
    signed = answered(challenge, wallet.sign(challenge.message))
    for value in ("", "x" * 3000, "\0", getattr(signed, field).lower() + "x", getattr(other, field)):
        with pytest.raises(Unauthorized, match="Invalid or expired challenge"):
            sign_in(world, replace(signed, **{field: value}))
    assert sign_in(world, signed), "refusals use nothing up"


@pytest.mark.parametrize(
    "spoil",
    [
        high_s,
        lambda signature: with_v(signature, 29),
        lambda signature: with_v(signature, 2),
        lambda signature: with_v(signature, 255),
        lambda signature: with_v(signature, 37),
        lambda signature: "0x" + "00" * 65,
        lambda signature: "0x" + "ff" * 65,
        lambda signature: signature + "00",
        lambda signature: "0x" + signature[66:130] + signature[2:66] + signature[130:],
    ],
)
@pytest.mark.parametrize("chain_id", [1, SEPOLIA], ids=["chain without a node", "chain with a node"])
def test_a_malformed_signature_is_refused(world: World, spoil: Any, chain_id: int) -> None:
    wallet = evm_wallet()
    challenge = asked(world, wallet.address, chain_id)
    with pytest.raises(Unauthorized, match="The signature is not the wallet's for this message"):
        sign_in(world, answered(challenge, spoil(wallet.sign(challenge.message))))


@pytest.mark.parametrize("signature", ["", "0x", "zz", "0x" + "00" * 64, "0x" + "0" * 131, "00" * 65 + "\n"])
def test_what_is_no_signature_is_a_bad_request(world: World, signature: str) -> None:
    challenge = asked(world, evm_wallet().address)
    with pytest.raises(BadRequest, match="Invalid signature"):
        sign_in(world, answered(challenge, signature))


@pytest.mark.parametrize("v", [0, 1, 27, 28])
def test_both_spellings_of_v_are_accepted_and_0x_may_be_left_out(world: World, v: int) -> None:
    wallet = evm_wallet()
    challenge = asked(world, wallet.address)
    signature = wallet.sign(challenge.message)
    if int(signature[-2:], 16) % 27 == v % 27:
        assert sign_in(world, answered(challenge, with_v(signature, v)[2:]))
    else:
        with pytest.raises(Unauthorized):
            sign_in(world, answered(challenge, with_v(signature, v)))


def test_another_wallets_signature_is_refused(world: World) -> None:
    challenge = asked(world, evm_wallet().address)
    with pytest.raises(Unauthorized, match="The signature is not the wallet's"):
        sign_in(world, answered(challenge, evm_wallet("other").sign(challenge.message)))


def test_a_tron_wallet_signs_by_version_2(world: World) -> None:
    wallet = tron_wallet()
    challenge = asked(world, wallet.address)
    for signature in (
        wallet.sign_v1(challenge.message),
        EvmWallet(wallet.key).sign(challenge.message),
        high_s(wallet.sign(challenge.message)),
        tron_wallet("other").sign(challenge.message),
    ):
        with pytest.raises(Unauthorized, match="The signature is not the wallet's"):
            sign_in(world, answered(challenge, signature))
    assert sign_in(world, answered(challenge, wallet.sign(challenge.message)))


def test_a_contract_wallet_is_asked_on_the_chain_of_its_challenge(world: World) -> None:
    challenge = asked(world, CONTRACT, SEPOLIA)
    signature = bytes(range(130))
    signed = answered(challenge, "0x" + signature.hex())
    with pytest.raises(Unauthorized, match="The signature is not the wallet's"):
        sign_in(world, signed)
    world.chain.signed.add((CONTRACT, personal_digest(challenge.message), signature))
    assert sign_in(world, signed)[0].subject == CONTRACT


@pytest.mark.parametrize("is_first", [True, False])
def test_one_node_of_two_signs_nobody_in_with_a_contract_wallet(world: World, is_first: bool) -> None:
    challenge = asked(world, CONTRACT, SEPOLIA)
    signed = answered(challenge, "0x" + "ff" * 130)
    liar = Liar(world.chain, is_valid_signature=lambda *given: True)
    with pytest.raises(NodesDisagree):
        flows.sign_in(served_beside(world.services, "sepolia", liar, is_first), signed, None, ACTOR)
    with pytest.raises(TooFewNodes):
        lonely = served(world.services, "sepolia", liar, Liar(world.chain, is_valid_signature=silent))
        flows.sign_in(lonely, signed, None, ACTOR)
    world.chain.signed.add((CONTRACT, personal_digest(challenge.message), bytes.fromhex("ff" * 130)))
    agreeing = served_beside(world.services, "sepolia", liar, is_first)
    assert flows.sign_in(agreeing, signed, None, ACTOR)[0].subject == CONTRACT


def test_a_contract_wallet_is_somebody_else_on_another_chain(world: World) -> None:
    base = FakeChain("base")
    services = replace(world.services, chains=FakeChains(world.chain, base))
    accounts = set()
    for chain_id, chain in ((SEPOLIA, world.chain), (8453, base), (SEPOLIA, world.chain)):
        challenge = asked(world, CONTRACT, chain_id)
        signature = bytes(range(130))
        chain.signed.add((CONTRACT, personal_digest(challenge.message), signature))
        session, _ = flows.sign_in(services, answered(challenge, "0x" + signature.hex()), None, ACTOR)
        assert (session.subject, session.chain_id) == (CONTRACT, chain_id)
        accounts.add(session.account_id)
    assert len(accounts) == 2


@pytest.mark.parametrize("chain_id", [1, 5, 728126428, 2**53 - 1])
def test_a_contract_wallet_of_a_chain_without_a_node_is_refused(world: World, chain_id: int) -> None:
    challenge = asked(world, CONTRACT, chain_id)
    signature = bytes(range(130))
    world.chain.signed.add((CONTRACT, personal_digest(challenge.message), signature))
    with pytest.raises(Unauthorized, match="The signature is not the wallet's"):
        sign_in(world, answered(challenge, "0x" + signature.hex()))


def test_while_the_node_is_away_nothing_is_decided_and_the_challenge_stays(world: World) -> None:
    challenge = asked(world, CONTRACT, SEPOLIA)
    signature = bytes(range(130))
    world.chain.signed.add((CONTRACT, personal_digest(challenge.message), signature))
    world.chain.is_down = True
    with pytest.raises(ChainUnavailable):
        sign_in(world, answered(challenge, "0x" + signature.hex()))
    world.chain.is_down = False
    assert sign_in(world, answered(challenge, "0x" + signature.hex()))


def test_an_eoa_signs_in_without_any_call_to_a_chain(world: World) -> None:
    world.chain.is_down = True
    wallet = evm_wallet()
    challenge = asked(world, wallet.address, SEPOLIA)
    assert sign_in(world, answered(challenge, wallet.sign(challenge.message)))


def test_registering_makes_an_account_that_can_log_in(world: World) -> None:
    user = registered(world, "Ann@Example.com")
    assert user.label == EMAIL and user.created_at == START
    (line,) = audit(world, user.account_id)
    assert (line.actor, line.action, line.target) == (f"person:{user.person_id}", "account.created", user.account_id)
    world.advance(1)
    session = log_in(world, "ANN@example.com")
    assert (session.account_id, session.kind, session.subject) == (user.account_id, SessionKind.EMAIL, EMAIL)
    assert session.expires_at - world.now == EMAIL_LIFETIME
    assert [each.action for each in audit(world, user.account_id)] == ["account.created", "session.created"]


def test_registering_an_address_again_changes_nothing_and_looks_the_same(world: World) -> None:
    user = registered(world)
    before = items(world)
    again = registered(world, EMAIL.upper(), "another password")
    assert (again.label, again.created_at) == (user.label, user.created_at)
    assert again.account_id != user.account_id, "not even the id tells"
    assert items(world) == before
    assert log_in(world).account_id == user.account_id
    with pytest.raises(Unauthorized):
        log_in(world, password="another password")


def test_an_unknown_user_a_wrong_password_and_a_wallets_name_are_refused_with_one_text(world: World) -> None:
    registered(world)
    for email, password in ((EMAIL, "wrong horse"), ("bob@example.com", PASSWORD), (EMAIL, PASSWORD.upper())):
        with pytest.raises(Unauthorized, match="Wrong e-mail address or password"):
            log_in(world, email, password)
    assert items(world) == 8, "person, identity, account, membership, its pointer, a line, and one for each refusal"


@pytest.mark.parametrize("password", ["1234567", "x" * 101])
def test_a_password_of_another_length_is_a_bad_request(world: World, password: str) -> None:
    for refused in (lambda: registered(world, password=password), lambda: log_in(world, password=password)):
        with pytest.raises(BadRequest, match="password must have 8 to 100 characters"):
            refused()
    assert items(world) == 0


def test_a_stranger_who_fails_too_often_does_not_lock_the_user_out_elsewhere(world: World) -> None:
    user = registered(world)
    for _ in range(FAILURES):
        with pytest.raises(Unauthorized):
            log_in(world, password="wrong horse")
    for email in (EMAIL, EMAIL.upper()):
        with pytest.raises(TooManyRequests) as refusal:
            log_in(world, email)
        assert (refusal.value.limit, refusal.value.retry_after) == (FAILURES, 900)
    assert flows.log_in(world.services, EMAIL, PASSWORD, None, replace(ACTOR, ip_address="203.0.113.8"))
    with pytest.raises(Unauthorized):
        log_in(world, "bob@example.com")
    lines = [line for line in audit(world, user.account_id) if line.action == "session.refused"]
    assert len(lines) == FAILURES
    assert {(line.target, line.actor, line.ip_address) for line in lines} == {
        (user.account_id, "anonymous", "203.0.113.7")
    }
    world.advance(900)
    assert log_in(world)


def test_the_right_password_and_registrations_count_nothing(world: World) -> None:
    for _ in range(FAILURES + 1):
        registered(world)
    for _ in range(FAILURES - 1):
        with pytest.raises(Unauthorized):
            log_in(world, password="wrong horse")
    for _ in range(FAILURES + 1):
        assert log_in(world)
    for password in ("1234567", "x" * 101):
        with pytest.raises(BadRequest):
            log_in(world, password=password)
    with pytest.raises(Unauthorized):
        log_in(world, password="wrong horse")
    with pytest.raises(TooManyRequests):
        log_in(world)


def test_guesses_from_many_addresses_are_limited_by_the_day(world: World) -> None:
    registered(world)
    *_, day = failure_windows(EMAIL, "", 1, world.now)
    counted_to(world, day, FAILURES_PER_DAY - 1)
    assert log_in(world)
    with pytest.raises(Unauthorized):
        log_in(world, password="wrong horse")
    with pytest.raises(TooManyRequests) as refusal:
        flows.log_in(world.services, EMAIL, PASSWORD, None, replace(ACTOR, ip_address="203.0.113.8"))
    assert (refusal.value.limit, refusal.value.retry_after) == (FAILURES_PER_DAY, 14 * 3600)


def test_who_is_refused_by_address_does_not_use_up_the_day_of_the_user(world: World) -> None:
    registered(world)
    window, day = failure_windows(EMAIL, ACTOR.ip_address, 1, world.now)
    counted_to(world, window, FAILURES)
    for _ in range(20):
        with pytest.raises(TooManyRequests):
            log_in(world)
    assert limit_store.count(world.services.store, day) == 1


def test_an_unknown_address_is_limited_like_a_known_one(world: World) -> None:
    for _ in range(FAILURES):
        with pytest.raises(Unauthorized):
            log_in(world)
    with pytest.raises(TooManyRequests):
        log_in(world)
    assert items(world) == 0


def test_a_refused_login_is_the_same_calls_for_a_known_user_and_an_unknown_one(world: World) -> None:
    registered(world)
    made: list[list[str]] = []
    for email in (EMAIL, "bob@example.com"):
        made.append([])
        note = lambda model, **_: made[-1].append(model.name)  # noqa: E731
        world.client.meta.events.register("before-call.dynamodb", note)
        with pytest.raises(Unauthorized):
            log_in(world, email, "wrong horse")
        world.client.meta.events.unregister("before-call.dynamodb", note)
    before = ["UpdateItem", "UpdateItem", "GetItem", "GetItem", "Query"]
    assert made == [[*before, "PutItem"], [*before, "UpdateItem"]], "a write of the entry either way, at the same price"


def test_under_a_throttle_a_login_is_told_to_come_again(world: World) -> None:
    registered(world)
    store = world.services.store

    class Throttling:
        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        def count(self, counter: CallCounter, limit: int, amount: int) -> None:
            raise Throttled

    with pytest.raises(TooManyRequests) as refusal:
        flows.log_in(replace(world.services, store=Throttling()), EMAIL, PASSWORD, None, ACTOR)
    assert refusal.value.retry_after == 1


@pytest.mark.parametrize("wallet", [evm_wallet(), tron_wallet()], ids=["evm", "tron"])
def test_a_refused_answer_is_told_to_the_account_of_the_wallet(world: World, wallet: EvmWallet | TronWallet) -> None:
    account_id = wallet_session(world, wallet).account_id
    used, altered, forged, expired = (asked(world, wallet.address) for _ in range(4))
    sign_in(world, answered(used, wallet.sign(used.message)))
    world.advance(1)
    wrong = [
        answered(used, wallet.sign(used.message)),
        replace(answered(altered, wallet.sign(altered.message)), message=altered.message + "x"),
        replace(answered(altered, wallet.sign(altered.message)), nonce="x"),
        answered(forged, evm_wallet("other").sign(forged.message)),
    ]
    for signed in wrong:
        with pytest.raises(Unauthorized):
            sign_in(world, signed)
    world.advance(300)
    with pytest.raises(Unauthorized):
        sign_in(world, answered(expired, wallet.sign(expired.message)))
    lines = [line for line in audit(world, account_id) if line.action == "session.refused"]
    assert [(line.actor, line.target) for line in lines] == [("anonymous", account_id)] * 5
    for _ in range(FAILURES):
        with pytest.raises(Unauthorized):
            sign_in(world, wrong[0])
    lines = [line for line in audit(world, account_id) if line.action == "session.refused"]
    assert len(lines) == FAILURES, "no more than a password may be guessed"
    assert wallet_session(world, wallet), "a wallet is not locked out: nobody guesses a signature"


def test_a_refused_answer_for_a_contract_wallet_is_told_to_its_account(world: World) -> None:
    challenge = asked(world, CONTRACT, SEPOLIA)
    signature = bytes(range(130))
    world.chain.signed.add((CONTRACT, personal_digest(challenge.message), signature))
    signed = answered(challenge, "0x" + signature.hex())
    session, _ = sign_in(world, signed)
    with pytest.raises(Unauthorized):
        sign_in(world, signed)
    assert "session.refused" in {line.action for line in audit(world, session.account_id)}


def test_a_refused_answer_for_a_wallet_without_account_writes_nothing(world: World) -> None:
    for message in ("", "x", "\n", asked(world, evm_wallet().address).message):
        before = items(world)
        with pytest.raises(Unauthorized):
            sign_in(world, SignedChallenge("never", "x", message, "0x" + "00" * 65))
        assert items(world) == before


def test_a_session_that_is_used_while_it_is_replaced_ends_all_the_same_and_one_is_opened(world: World) -> None:
    registered(world)
    wallet, old = evm_wallet(), log_in(world)
    store, account_id = world.services.store, old.account_id

    class Overtaken:
        """Another request of the old session is noted before the first transaction."""

        overtakes = True

        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        def write(self, *writes: Any) -> Any:
            if self.overtakes:
                self.overtakes = False
                world.advance(60)
                touch(world.services, old)
            return store.write(*writes)

    new, _ = flows.log_in(
        replace(world.services, store=Overtaken()), EMAIL, PASSWORD, old.token_hash, ACTOR
    )
    assert [each.session_id for each in open_sessions.list_open(world.services, old.person_id)] == [new.session_id]
    old = new
    challenge = asked(world, wallet.address)
    signed = answered(challenge, wallet.sign(challenge.message))
    new, _ = flows.sign_in(replace(world.services, store=Overtaken()), signed, old.token_hash, ACTOR)
    assert stored(world, new) is not None and stored(world, old) is None
    assert [line.action for line in audit(world, account_id)].count("session.replaced") == 2


def test_opening_a_session_and_ending_the_one_before_are_one_transaction(world: World) -> None:
    registered(world)
    old = log_in(world)
    with counted(world.client) as calls:
        log_in(world, replaced=old.token_hash)
    assert calls.by_operation["TransactWriteItems"] == 1 and calls.by_operation["PutItem"] == 0


def test_a_new_password_ends_the_sessions_and_the_old_one(world: World) -> None:
    user = registered(world)
    first, second = log_in(world), log_in(world)
    stranger = wallet_session(world)
    world.advance(1)
    operator = Actor("", "operator", "", "")
    assert flows.reset_password(world.services, EMAIL.upper(), "another horse", operator) == 2
    assert [stored(world, each) for each in (first, second)] == [None, None] and stored(world, stranger) is not None
    lines = [(line.actor, line.action) for line in audit(world, user.account_id)][-3:]
    assert sorted(lines) == [("operator", "person.password_reset"), *[("operator", "session.revoked")] * 2]
    with pytest.raises(Unauthorized):
        log_in(world)
    assert log_in(world, password="another horse").account_id == user.account_id
    with pytest.raises(NotFound):
        flows.reset_password(world.services, "bob@example.com", "another horse", operator)
    with pytest.raises(BadRequest):
        flows.reset_password(world.services, EMAIL, "short", operator)


def test_a_sign_in_ends_the_session_it_was_sent_with(world: World) -> None:
    registered(world)
    old = log_in(world)
    new = log_in(world, replaced=old.token_hash)
    assert stored(world, old) is None and stored(world, new) is not None
    assert [each.session_id for each in open_sessions.list_open(world.services, new.person_id)] == [new.session_id]
    lines = {(line.actor, line.action, line.target) for line in audit(world, new.account_id)}
    assert lines >= {
        (f"person:{new.person_id}", "session.created", new.session_id),
        (f"person:{new.person_id}", "session.replaced", old.session_id),
    }
    assert len(lines) == 4


def test_a_sign_in_ends_a_session_of_another_account_too(world: World) -> None:
    registered(world)
    old = wallet_session(world)
    world.advance(1)
    log_in(world, replaced=old.token_hash)
    assert stored(world, old) is None
    assert audit(world, old.account_id)[-1].action == "session.replaced"


def test_a_refused_sign_in_ends_nothing(world: World) -> None:
    registered(world)
    old = log_in(world)
    with pytest.raises(Unauthorized):
        log_in(world, password="wrong horse", replaced=old.token_hash)
    assert stored(world, old) is not None


def test_a_token_that_is_no_session_or_an_ended_one_does_not_hinder_a_sign_in(world: World) -> None:
    registered(world)
    old = wallet_session(world)
    world.advance(3600)
    assert log_in(world, replaced=credential_hash("never a token"))
    assert log_in(world, replaced=old.token_hash)
    actions = {line.action for line in audit(world, old.account_id)}
    assert actions == {"account.created", "session.created"}


def test_use_prolongs_a_wallet_session_and_its_pointer(world: World) -> None:
    session = wallet_session(world)
    for _ in range(10):
        world.advance(14 * 60)
        session = touch(world.services, session)
        assert stored(world, session) == session
        assert session.expires_at == world.now + WALLET_IDLE
    pointer = world.services.store.get(SessionPointer, SessionPointer.KEY.of(person_id=session.person_id, session_id=session.session_id))
    assert pointer is not None and (pointer.expires_at, pointer.version) == (session.expires_at, session.version)


def test_use_is_written_at_most_every_ten_seconds(world: World) -> None:
    session = wallet_session(world)
    world.advance(9)
    assert touch(world.services, session) is session
    world.advance(1)
    assert touch(world.services, session).version == 2


def test_use_of_an_e_mail_session_does_not_prolong_it(world: World) -> None:
    registered(world)
    session = log_in(world)
    world.advance(3600)
    used = touch(world.services, session)
    assert used.last_seen_at == world.now and used.expires_at == START + EMAIL_LIFETIME


def test_use_noted_by_two_requests_at_once_is_written_by_one(world: World) -> None:
    session = wallet_session(world)
    world.advance(60)
    used = touch(world.services, session)
    assert touch(world.services, session) is session
    assert stored(world, session) == used


def test_use_does_not_bring_an_ended_session_back(world: World) -> None:
    session = wallet_session(world)
    open_sessions.log_out(world.services, session, ACTOR)
    world.advance(60)
    touch(world.services, session)
    assert stored(world, session) is None and open_sessions.list_open(world.services, session.person_id) == []


def test_logging_out_ends_the_session_and_writes_one_line(world: World) -> None:
    session = wallet_session(world)
    world.advance(1)
    open_sessions.log_out(world.services, session, replace(ACTOR, name="session:mine"))
    assert stored(world, session) is None
    assert world.services.store.query(SessionPointer, SessionPointer.KEY.all(person_id=session.person_id)) == ()
    line = audit(world, session.account_id)[-1]
    assert (line.account_id, line.actor, line.action) == (session.account_id, "session:mine", "session.ended")
    open_sessions.log_out(world.services, session, ACTOR)
    assert len(audit(world, session.account_id)) == 3, "to end it twice is to end it once"


def test_logging_out_wins_over_a_use_at_the_same_moment(world: World) -> None:
    session = wallet_session(world)
    world.advance(60)
    store = world.services.store

    class Overtaken:
        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        def write(self, *writes: Any) -> Any:
            touch(world.services, session)
            return store.write(*writes)

    open_sessions.log_out(replace(world.services, store=Overtaken()), session, ACTOR)
    assert stored(world, session) is None


def test_the_list_shows_the_open_sessions_of_one_account_newest_first(world: World) -> None:
    wallet_session(world, evm_wallet("stranger"))
    first = wallet_session(world)
    world.advance(WALLET_IDLE.total_seconds())
    second = wallet_session(world)
    world.advance(1)
    third = wallet_session(world)
    found = open_sessions.list_open(world.services, first.person_id)
    assert [each.session_id for each in found] == [third.session_id, second.session_id]


def test_an_own_session_can_be_revoked_and_nobody_elses(world: World) -> None:
    mine, other = wallet_session(world), wallet_session(world, evm_wallet("other"))
    for session_id in (other.session_id, "", "x" * 500, "\0", mine.session_id.lower()):
        with pytest.raises(NotFound, match="Session not found"):
            open_sessions.revoke(world.services, mine.person_id, session_id, ACTOR)
    assert stored(world, other) is not None
    world.advance(1)
    open_sessions.revoke(world.services, mine.person_id, mine.session_id, ACTOR)
    assert stored(world, mine) is None
    assert audit(world, mine.account_id)[-1].action == "session.revoked"
    with pytest.raises(NotFound):
        open_sessions.revoke(world.services, mine.person_id, mine.session_id, ACTOR)


def test_a_session_that_ended_by_itself_is_not_found(world: World) -> None:
    session = wallet_session(world)
    world.now += WALLET_IDLE + timedelta(seconds=1)
    with pytest.raises(NotFound):
        open_sessions.revoke(world.services, session.account_id, session.session_id, ACTOR)


def test_each_flow_makes_as_few_calls_as_it_states(world: World) -> None:
    def calls(flow: Callable[[], object]) -> dict[str, int]:
        with counted(world.client) as found:
            flow()
        return dict(found.by_operation)

    wallet, transaction = evm_wallet(), {"TransactWriteItems": 1}
    challenge = asked(world, wallet.address)
    signed = answered(challenge, wallet.sign(challenge.message))
    assert calls(lambda: asked(world, wallet.address)) == {"PutItem": 1}
    assert calls(lambda: sign_in(world, signed)) == {"GetItem": 2, **transaction}
    assert calls(lambda: registered(world)) == transaction
    assert calls(lambda: registered(world)) == transaction, "the same for a taken address"
    counted_and_given_back = {"UpdateItem": 2 * 2}
    assert calls(lambda: log_in(world)) == {"GetItem": 2, "Query": 1, **counted_and_given_back, **transaction}
    session = log_in(world)
    assert calls(lambda: touch(world.services, session)) == {}
    assert calls(lambda: open_sessions.list_open(world.services, session.person_id)) == {"Query": 2, "BatchGetItem": 1}
    world.advance(60)
    assert calls(lambda: touch(world.services, session)) == transaction
    assert calls(lambda: open_sessions.log_out(world.services, session, ACTOR)) == {"GetItem": 1, **transaction}


def test_no_token_and_no_password_is_stored(world: World) -> None:
    registered(world)
    _, token = flows.log_in(world.services, EMAIL, PASSWORD, None, ACTOR)
    for name in world.client.list_tables()["TableNames"]:
        text = str(world.client.scan(TableName=name)["Items"])
        assert token not in text and PASSWORD not in text
