"""What a caller's credentials say of what the caller creates and uses."""

from dataclasses import replace

import pytest

from chalicelib.base.money import Fee
from chalicelib.platform.access.callers import Caller, ClientSettings, Owner, SentCredential
from chalicelib.platform.access.credentials.records import ApiKey, ClientId, CredentialStatus
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.flows import identify
from chalicelib.platform.access.modes import Mode, Tier
from tests.fakes.memory_store import MemoryStore
from tests.fakes.world import FEE_ADDRESS, START, World

ORIGIN, IP = "https://shop.example", "203.0.113.9"
CLIENT = ClientId(
    "hash",
    "cli_x",
    "01CLIENT",
    "shop",
    "web",
    (ORIGIN,),
    CredentialStatus.ACTIVE,
    START,
    fee_percentage="2.5",
    fee_address=FEE_ADDRESS,
    payee_destination_id="01DESTINATION",
    orchestrator_id="orc1",
    allowed_payees=(FEE_ADDRESS,),
    allowed_currencies=("fUSDC-sepolia",),
)


def caller(key_id: str | None, client: ClientId | None) -> Caller:
    return Caller(
        Mode.API_KEY, "shop", "actor", "digest", "credential", Tier.DEFAULT, ORIGIN, key_id=key_id, client=client, orchestrator_id="orc2"
    )


def test_a_caller_with_a_client_id_creates_for_it_and_by_its_settings() -> None:
    settings = ClientSettings("2.5", FEE_ADDRESS, "01DESTINATION", "orc1", (FEE_ADDRESS,), ("fUSDC-sepolia",))
    assert caller(None, CLIENT).owner == Owner("shop", "cli_x", ORIGIN, settings, "orc2", Mode.API_KEY)
    assert settings.fee == Fee("2.5", FEE_ADDRESS)


def test_a_caller_without_a_client_id_creates_for_the_account_alone() -> None:
    assert caller("01KEY", None).client_id is None
    assert caller("01KEY", None).owner == Owner("shop", None, ORIGIN, ClientSettings(), "orc2", Mode.API_KEY)


def test_use_is_recorded_of_the_key_and_of_the_client_id_that_were_sent() -> None:
    assert caller("01KEY", CLIENT).credential_ids == ("01KEY", "01CLIENT")
    assert caller("01KEY", None).credential_ids == ("01KEY",)
    assert caller(None, CLIENT).credential_ids == ("01CLIENT",)
    assert caller(None, None).credential_ids == ()


def test_a_caller_is_not_banned_and_reads_its_own_links_alone_unless_said_otherwise() -> None:
    one = caller("01KEY", None)
    assert (one.banned_until, one.ban_version, one.reads_any_link, one.scopes) == (None, 0, False, ())


@pytest.mark.parametrize("by_key", [True, False])
@pytest.mark.parametrize("by_client", [True, False])
def test_whether_payers_sign_is_said_by_the_key_and_without_one_by_the_client_id(by_key: bool, by_client: bool) -> None:
    services = replace(World(object()).services, store=MemoryStore())
    key = ApiKey(credential_hash("key"), "01KEY", "shop", "", "key", CredentialStatus.ACTIVE, START)
    client = replace(CLIENT, client_id_hash=credential_hash("cli_x"))
    services.store.write(replace(key, uses_payment_intents=by_key), replace(client, uses_payment_intents=by_client))
    with_key = SentCredential(Mode.API_KEY, "key")
    for sent, expected in (
        (with_key, by_key),
        (replace(with_key, client_id="cli_x"), by_key),
        (SentCredential(Mode.CLIENT_ID, "cli_x"), by_client),
    ):
        assert identify(services, sent, ORIGIN, IP).owner.uses_payment_intents is expected
