"""Two flows on credentials or sessions, interleaved at each call to DynamoDB: what was ended stays ended."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.accounts.api_keys import flows as api_keys
from chalicelib.accounts.client_ids import flows as client_ids
from chalicelib.accounts.credentials import flows as credentials
from chalicelib.accounts.orchestrators import flows as orchestrators
from chalicelib.accounts.sign_in import flows as sign_in_flows
from chalicelib.accounts.sign_in import open_sessions, wallets
from chalicelib.base.errors import Forbidden, NotFound, ServiceError, Unauthorized
from chalicelib.platform.access.callers import Caller, SentCredential
from chalicelib.platform.access.credentials.flows import record_use
from chalicelib.platform.access.credentials.records import ApiKey, ClientId, CredentialStatus, OrchestratorKey
from chalicelib.platform.access.flows import identify
from chalicelib.platform.access.modes import Mode, Tier
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.sessions import store as session_store
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import WriteConflict
from tests.accounts.sign_in.test_flows import ACTOR, EMAIL, PASSWORD, answered, asked, registered
from tests.fakes.crash import Crash, FragileClient, Interruption, Tripwire
from tests.fakes.wallets import evm_wallet
from tests.fakes.world import World, in_process_aws
from tests.support.light_passwords import light_passwords

NEW_PASSWORD = "another horse"
Flow = Callable[[Services], Any]


@pytest.fixture(autouse=True)
def quick_passwords() -> Iterator[None]:
    with light_passwords():
        yield


def interleavings(flow: Callable[[World], tuple[Flow, Flow]]) -> Iterator[tuple[World, Any]]:
    """Runs the second flow before each call of the first one, in a world of its own each time, and then the other way.

    `flow` prepares a world and returns both. Yields the world and the result of the first flow: what it returned or
    raised. Conflicts of the second one are its own affair.
    """
    for swapped in (False, True):
        position = 1
        while True:
            with in_process_aws() as client:
                world = World(client, seed=position)
                first, second = reversed(flow(world)) if swapped else flow(world)

                def other(second: Flow = second, world: World = world) -> None:
                    with suppress(WriteConflict, ServiceError):
                        second(world.services)

                wire = Interruption(position, other)
                result: Any
                try:
                    result = first(world.start(FragileClient(world.client, wire)))
                except (WriteConflict, ServiceError) as error:
                    result = error
                if wire.calls < position:
                    assert position > 1, "flows make calls"
                    break
                yield world, result
            position += 1


def caller(world: World, token: str) -> Caller:
    return identify(world.services, SentCredential(Mode.SESSION, token), None, "203.0.113.7")


def is_valid(world: World, token: str) -> bool:
    try:
        return caller(world, token).session is not None
    except Unauthorized:
        return False


def log_in(services: Services, password: str = PASSWORD) -> str:
    return sign_in_flows.log_in(services, EMAIL, password, None, ACTOR)[1]


def reset(services: Services) -> int:
    return sign_in_flows.reset_password(services, EMAIL, NEW_PASSWORD, ACTOR)


# --- sessions ---


def test_no_session_of_the_old_password_outlives_a_new_one_wherever_they_meet() -> None:
    tokens: list[str] = []

    def prepare(world: World) -> tuple[Flow, Flow]:
        registered(world)
        tokens[:] = [log_in(world.services)]
        return lambda services: tokens.append(log_in(services)), reset

    for world, _ in interleavings(prepare):
        assert not any(is_valid(world, token) for token in tokens)
        ann = person_store.identity(world.services.store, EMAIL)
        assert ann is not None
        assert session_store.open_sessions(world.services.store, ann.person_id, world.now) == []
        assert is_valid(world, log_in(world.services, NEW_PASSWORD))


def test_a_login_whose_password_is_replaced_meanwhile_is_refused_like_a_wrong_one() -> None:
    def prepare(world: World) -> tuple[Flow, Flow]:
        registered(world)
        return log_in, reset

    refusals = [result for _, result in interleavings(prepare) if isinstance(result, Unauthorized)]
    assert refusals and {error.message for error in refusals} == {"Wrong e-mail address or password"}


def test_all_sessions_end_in_the_transaction_that_sets_the_password_wherever_the_process_dies(world: World) -> None:
    registered(world)
    tokens = [log_in(world.services) for _ in range(5)]
    for fatal in range(1, 8):
        wire = Tripwire(fatal, before=False)
        with pytest.raises(Crash):
            reset(world.start(FragileClient(world.client, wire)))
        is_reset = _has_new_password(world)
        assert {is_valid(world, token) for token in tokens} == {not is_reset}
    assert is_reset
    assert reset(world.services) > 0, "those that were not deleted yet"
    person_id = caller(world, log_in(world.services, NEW_PASSWORD)).signed_in.person.person_id
    assert len(open_sessions.list_open(world.services, person_id)) == 1


def _has_new_password(world: World) -> bool:
    try:
        token = log_in(world.services, NEW_PASSWORD)
    except Unauthorized:
        return False
    return is_valid(world, token)


def test_a_session_in_use_ends_with_the_password_and_is_not_prolonged() -> None:
    tokens: list[str] = []

    def prepare(world: World) -> tuple[Flow, Flow]:
        registered(world)
        tokens[:] = [log_in(world.services)]
        world.advance(60)  # so that its use is written

        def use(services: Services) -> Caller:
            return identify(services, SentCredential(Mode.SESSION, tokens[0]), None, "203.0.113.7")

        return use, reset

    for world, _ in interleavings(prepare):
        assert not is_valid(world, tokens[0])


def test_a_session_that_is_revoked_while_it_is_used_ends() -> None:
    tokens: list[str] = []

    def prepare(world: World) -> tuple[Flow, Flow]:
        registered(world)
        tokens[:] = [log_in(world.services)]
        session = caller(world, tokens[0]).session
        assert session is not None
        world.advance(60)

        def use(services: Services) -> Caller:
            return identify(services, SentCredential(Mode.SESSION, tokens[0]), None, "203.0.113.7")

        return use, lambda services: open_sessions.revoke(services, session.person_id, session.session_id, ACTOR)

    for world, result in interleavings(prepare):
        assert not isinstance(result, WriteConflict)
        assert not is_valid(world, tokens[0])


def test_of_a_wallets_sign_in_and_the_end_of_its_session_both_take_effect() -> None:
    """The session that a sign-in replaces may be ended or used meanwhile; a challenge still opens one session."""

    def prepare(world: World) -> tuple[Flow, Flow]:
        wallet = evm_wallet()

        def signed() -> wallets.SignedChallenge:
            challenge = asked(world, wallet.address)
            return answered(challenge, wallet.sign(challenge.message))

        old = sign_in_flows.sign_in(world.services, signed(), None, ACTOR)[0]
        ready = signed()

        def again(services: Services) -> str:
            return sign_in_flows.sign_in(services, ready, old.token_hash, ACTOR)[0].account_id

        return again, lambda services: open_sessions.log_out(services, old, ACTOR)

    for world, result in interleavings(prepare):
        assert not isinstance(result, WriteConflict)
        identity = person_store.identity(world.services.store, evm_wallet().address)
        assert identity is not None
        assert len(open_sessions.list_open(world.services, identity.person_id)) == 1


def test_a_wallet_that_signs_in_for_the_first_time_twice_at_once_has_one_account() -> None:
    def prepare(world: World) -> tuple[Flow, Flow]:
        wallet = evm_wallet()
        ready = []
        for _ in range(2):
            challenge = asked(world, wallet.address)
            ready.append(answered(challenge, wallet.sign(challenge.message)))
        return (
            lambda services: sign_in_flows.sign_in(services, ready[0], None, ACTOR)[0].account_id,
            lambda services: sign_in_flows.sign_in(services, ready[1], None, ACTOR)[0].account_id,
        )

    for world, result in interleavings(prepare):
        identity = person_store.identity(world.services.store, evm_wallet().address)
        assert identity is not None
        assert [each.account_id for each in person_store.memberships_of(world.services.store, identity.person_id)] == [result]
        assert len(open_sessions.list_open(world.services, identity.person_id)) == 2


# --- keys and client ids ---


def changes_of_key(world: World, key: ApiKey) -> dict[str, Flow]:
    return {
        "renamed": lambda services: api_keys.change_api_key(services, world.actor, key.key_id, {"label": "other"}),
        "other ranges": lambda services: api_keys.change_api_key(
            services, world.actor, key.key_id, {"allowed_ips": ["203.0.113.0/24"]}
        ),
        "switched": lambda services: api_keys.change_api_key(services, world.actor, key.key_id, None),
        "other tier": lambda services: credentials.set_tier(services, world.actor, stored(services, key), Tier.BASIC),
        "used": lambda services: record_use(services, [key.key_id]),
        "revoked": lambda services: api_keys.revoke_api_key(services, world.actor, key.key_id),
    }


def stored(services: Services, key: ApiKey) -> ApiKey:
    found = services.store.get(ApiKey, key.key)
    assert found is not None
    return found


CHANGES = ("renamed", "other ranges", "switched", "other tier", "used", "revoked")


@pytest.mark.parametrize("change", CHANGES)
def test_a_key_that_is_revoked_stays_revoked_whatever_changes_it_meanwhile(change: str) -> None:
    found: list[tuple[ApiKey, str]] = []

    def prepare(world: World) -> tuple[Flow, Flow]:
        key, text = api_keys.create_api_key(world.services, world.actor, {"label": "server"})
        found[:] = [(key, text)]
        changes = changes_of_key(world, key)
        return changes["revoked"], changes[change]

    for world, result in interleavings(prepare):
        key, text = found[0]
        assert stored(world.services, key).status is CredentialStatus.REVOKED
        assert result is None or not isinstance(result, WriteConflict) or change != "revoked"
        with pytest.raises(Unauthorized):
            identify(world.services, SentCredential(Mode.API_KEY, text), None, "203.0.113.7")
        with pytest.raises(NotFound):
            credentials.own_credential(world.services, world.account_id, ApiKey, key.key_id)


def test_of_two_changes_of_a_key_none_is_lost_without_a_word() -> None:
    found: list[ApiKey] = []

    def prepare(world: World) -> tuple[Flow, Flow]:
        key, _ = api_keys.create_api_key(world.services, world.actor, {"label": "server"})
        found[:] = [key]
        changes = changes_of_key(world, key)
        return changes["other ranges"], changes["other tier"]

    for world, result in interleavings(prepare):
        now = stored(world.services, found[0])
        both = (now.allowed_ips, now.tier) == (("203.0.113.0/24",), Tier.BASIC)
        assert both or isinstance(result, WriteConflict)


def test_a_key_is_not_used_from_an_address_after_its_ranges_exclude_it() -> None:
    found: list[str] = []

    def prepare(world: World) -> tuple[Flow, Flow]:
        key, text = api_keys.create_api_key(world.services, world.actor, {"label": "server"})
        found[:] = [text]
        return changes_of_key(world, key)["other ranges"], lambda services: identify(
            services, SentCredential(Mode.API_KEY, text), None, "198.51.100.7"
        )

    for world, _ in interleavings(prepare):
        with pytest.raises(Forbidden):
            identify(world.services, SentCredential(Mode.API_KEY, found[0]), None, "198.51.100.7")


def test_a_client_id_that_is_revoked_stays_revoked_whatever_changes_it_meanwhile() -> None:
    """Also while it is linked to an orchestrator."""
    found: list[ClientId] = []

    def client_of(world: World) -> ClientId:
        client = client_ids.create_client_id(
            world.services, world.actor, {"label": "web", "allowed_domains": ["https://shop.example"]}
        )
        found[:] = [client]
        return client

    def changed(world: World) -> tuple[Flow, Flow]:
        client = client_of(world)
        return (
            lambda services: client_ids.revoke_client_id(services, world.actor, client.record_id),
            lambda services: client_ids.change_client_id(services, world.actor, client.record_id, {"label": "other"}),
        )

    def linked(world: World) -> tuple[Flow, Flow]:
        client = client_of(world)
        platform, _, _ = orchestrators.register(world.services, world.actor, "Platform", "ops@platform.example")
        return (
            lambda services: client_ids.revoke_client_id(services, world.actor, client.record_id),
            lambda services: orchestrators.link_client(
                services, world.actor, platform.orchestrator_id, client.client_id
            ),
        )

    for prepare in (changed, linked):
        for world, _ in interleavings(prepare):
            client = world.services.store.get(ClientId, found[0].key)
            assert client is not None and client.status is CredentialStatus.REVOKED


def test_an_operators_revocation_of_an_orchestrators_key_wins_over_another_tier() -> None:
    found: list[OrchestratorKey] = []

    def prepare(world: World) -> tuple[Flow, Flow]:
        _, key, _ = orchestrators.register(world.services, world.actor, "Platform", "ops@platform.example")
        found[:] = [key]

        def now(services: Services) -> OrchestratorKey:
            key = services.store.get(OrchestratorKey, found[0].key)
            assert key is not None
            return key

        return (
            lambda services: credentials.revoke(services, world.actor, now(services)),
            lambda services: credentials.set_tier(services, world.actor, now(services), Tier.BASIC),
        )

    for world, _ in interleavings(prepare):
        key = world.services.store.get(OrchestratorKey, found[0].key)
        assert key is not None and key.status is CredentialStatus.REVOKED


def test_a_password_that_is_set_twice_at_once_is_one_of_both() -> None:
    def prepare(world: World) -> tuple[Flow, Flow]:
        registered(world)
        return reset, lambda services: sign_in_flows.reset_password(services, EMAIL, "third horse", ACTOR)

    for world, _ in interleavings(prepare):
        accepted = []
        for password in (PASSWORD, NEW_PASSWORD, "third horse"):
            with suppress(Unauthorized):
                accepted.append(is_valid(world, log_in(world.services, password)))
        assert accepted == [True]


def test_a_record_of_the_caller_is_never_another_accounts(world: World) -> None:
    """The membership and the person that a token names are read with it; a token is known only as a whole."""
    registered(world)
    token = log_in(world.services)
    account_id, person_id, secret = token.split(".")
    other = sign_in_flows.register(world.services, "bob@example.com", PASSWORD, replace(ACTOR))
    assert is_valid(world, token) and account_id == caller(world, token).account_id
    for named in (f"{other.account_id}.{other.person_id}", f"{other.account_id}.{person_id}", account_id, "", "."):
        assert not is_valid(world, f"{named}.{secret}")
    for forged in (secret, f"{account_id}.", account_id, f"{account_id}.{person_id}."):
        assert not is_valid(world, forged)
