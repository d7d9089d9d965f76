"""Which requests get an address for plain transfers, who may ask for one, and what is sent to it."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.errors import BadRequest, Conflict, Forbidden, ValidationFailed
from chalicelib.base.money import BaseUnits, Fee
from chalicelib.chains.calldata.plain_transfers import plain_transfer_address
from chalicelib.payments.links import flows as links
from chalicelib.payments.requests import flows as requests
from chalicelib.payments.requests.creation import Draft
from chalicelib.payments.requests.plain_transfers import store
from chalicelib.payments.requests.plain_transfers.flows import CACHED_FOR
from chalicelib.payments.requests.plain_transfers.rules import (
    ACCOUNTS,
    MOST_OF_ACCOUNT,
    MOST_ON_NETWORK,
    MOST_PUBLIC,
    OF_EACH,
    WATCHED_FOR,
    agree_on_each,
    amount_to_send,
    none_left,
    terms_of,
    watched_address_of,
    with_address,
)
from chalicelib.payments.requests.records import Frequency, Recurrence
from chalicelib.payments.requests.references import reference_topic
from chalicelib.payments.requests.targets import Item
from chalicelib.platform.access.callers import ClientSettings, Owner
from chalicelib.platform.access.credentials.records import Account
from chalicelib.platform.access.modes import Mode
from tests.fakes.requests import standalone
from tests.fakes.world import FEE_ADDRESS, PAYEE, START, World, draft

USDC = Item("12.5", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia")
OWNER = Owner("acct", None, None)


def create(world: World, owner: Owner = OWNER, item: Item = USDC, **how: Any) -> Any:
    return requests.create(world.services, owner, Draft(item, **how))


def test_a_request_has_the_address_that_its_terms_give_and_is_found_by_it(world: World) -> None:
    made = create(world, plain_transfer=True)
    assert made.plain_transfer.address == plain_transfer_address(terms_of(made))
    assert made.plain_transfer.watched_until == START + WATCHED_FOR
    (entry,) = store.list_watched(world.services.store, "sepolia")
    assert (entry.address, entry.payee) == (made.plain_transfer.address.lower(), PAYEE.lower())
    assert entry.topic == reference_topic(bytes.fromhex(made.payment_reference[2:]))
    assert store.list_watched(world.services.store, "base") == ()


def test_nobody_gets_an_address_who_has_not_asked_for_one(world: World) -> None:
    assert create(world).plain_transfer is None
    assert create(world, plain_transfer=False).plain_transfer is None
    assert world.create_link().requests[0].plain_transfer is None
    assert store.list_watched(world.services.store, "sepolia") == ()


def test_the_fee_of_a_link_or_client_id_is_part_of_what_is_sent(world: World) -> None:
    link = world.create_link(plain_transfer=True)
    own = link.requests[0].plain_transfer
    assert own is not None
    assert (own.fee_amount, own.fee_address) == (125_000, FEE_ADDRESS)
    assert amount_to_send(link.requests[0]) == 12_625_000
    owner = replace(OWNER, settings=ClientSettings("2", FEE_ADDRESS))
    assert create(world, owner, plain_transfer=True).plain_transfer.fee_amount == 250_000


def test_a_fee_that_rounds_to_nothing_has_no_address(world: World) -> None:
    made = with_address(standalone(world.services, amount=BaseUnits(99)), Fee("1", FEE_ADDRESS), (), {})
    assert made.plain_transfer is not None
    assert (made.plain_transfer.fee_amount, made.plain_transfer.fee_address) == (0, None)


def test_what_is_sent_is_what_is_left_and_nothing_once_it_is_paid(world: World) -> None:
    made = with_address(standalone(world.services), Fee("1", FEE_ADDRESS), (), {})
    assert amount_to_send(replace(made, paid=BaseUnits(12_000_000))) == 500_000 + 125_000
    assert amount_to_send(replace(made, paid=BaseUnits(12_500_000))) == 0
    assert amount_to_send(made.as_cancelled()) == 0


@pytest.mark.parametrize(
    ("item", "how", "said"),
    [
        (Item("1", None, PAYEE, "ETH-sepolia-sepolia", "ETH-sepolia-sepolia"), {}, "too little gas"),
        (Item("1", None, "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8", "USDT-tron", "USDT-tron"), {}, "not offered on tron"),
        (USDC, {"is_crypto_to_fiat": True}, "isCryptoToFiatAvailable"),
        (USDC, {"recurrence": Recurrence("2026-04-01", Frequency.MONTHLY)}, "recurrence"),
    ],
)
def test_what_cannot_have_an_address_is_refused_in_words_and_otherwise_created_without(
    world: World, item: Item, how: dict[str, Any], said: str
) -> None:
    services, now = world.services, world.clock()
    plain = Draft(item, **how)
    made = requests.create_request(plain, (), OWNER, requests.terms_of(services), now, services.entropy, None)
    with pytest.raises(ValidationFailed) as refused:
        with_address(made, Fee(), (), {})
    (problem,) = refused.value.problems
    assert problem.path == ("plainTransfer",)
    assert said in problem.message


def test_an_amount_in_another_currency_is_refused(world: World) -> None:
    made = standalone(world.services, invoice_currency="USD", amount=BaseUnits(12_50000000))
    with pytest.raises(ValidationFailed, match="same invoiceCurrency"):
        with_address(made, Fee(), (), {})


def test_a_batch_has_no_address(world: World) -> None:
    two = replace(draft(plain_transfer=True), items=(USDC, USDC))
    with pytest.raises(ValidationFailed) as refused:
        links.create(world.services, world.owner, two)
    assert "a link for each" in refused.value.problems[0].message
    assert store.list_watched(world.services.store, "sepolia") == ()


def test_a_fee_address_of_another_family_is_refused(world: World) -> None:
    owner = replace(OWNER, settings=ClientSettings("2", "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"))
    with pytest.raises(BadRequest, match="feeAddress"):
        create(world, owner, plain_transfer=True)


def test_a_public_client_id_gets_none_unless_its_account_has_them_for_all(world: World) -> None:
    alone = Owner("acct", "cli_shop", "https://shop.example", mode=Mode.CLIENT_ID)
    with pytest.raises(Forbidden, match="PUT /v1/account"):
        create(world, alone, plain_transfer=True)
    assert create(world, alone).plain_transfer is None
    world.services.store.write(Account("acct", "shop", START, plain_transfers=True))
    world.now += CACHED_FOR
    assert create(world, alone, plain_transfer=True).plain_transfer is not None
    assert create(world, alone).plain_transfer is not None
    assert create(world, alone, plain_transfer=False).plain_transfer is None


def test_with_the_setting_of_the_account_what_cannot_have_an_address_is_created_without(world: World) -> None:
    world.services.store.write(Account("acct", "shop", START, plain_transfers=True))
    native = Item("1", None, PAYEE, "ETH-sepolia-sepolia", "ETH-sepolia-sepolia")
    assert create(world, item=native).plain_transfer is None
    assert world.create_link().requests[0].plain_transfer is not None
    assert all(each.plain_transfer is None for each in links.create(
        world.services, world.owner, replace(draft(), items=(USDC, USDC))
    ).requests)  # fmt: skip


def watched_before(world: World, number: int, account_id: str = "acct", is_public: bool = False) -> None:
    """Has so many addresses be watched on sepolia."""
    first = watched_address_of(with_address(standalone(world.services), Fee(), (), {}))
    assert first is not None
    world.services.store.put_many(
        replace(first, address=f"0x{account_id.encode().hex()}{n:020x}", account_id=account_id, is_public=is_public)
        for n in range(number)
    )
    world.now += CACHED_FOR


def test_an_account_that_has_the_most_addresses_is_refused_one_in_words_and_others_are_not(world: World) -> None:
    watched_before(world, MOST_OF_ACCOUNT - 1)
    assert create(world, plain_transfer=True).plain_transfer is not None
    with pytest.raises(Conflict, match="plainTransfer: 500 addresses on one network are the most of an account"):
        create(world, plain_transfer=True)
    assert create(world, replace(OWNER, account_id="other"), plain_transfer=True).plain_transfer is not None


def test_above_the_most_the_setting_of_the_account_gives_none(world: World) -> None:
    world.services.store.write(Account("acct", "shop", START, plain_transfers=True))
    watched_before(world, MOST_OF_ACCOUNT)
    assert create(world).plain_transfer is None


def test_client_ids_alone_create_fewer_and_leave_the_rest_to_keys(world: World) -> None:
    world.services.store.write(Account("acct", "shop", START, plain_transfers=True))
    alone = Owner("acct", "cli_shop", "https://shop.example", mode=Mode.CLIENT_ID)
    watched_before(world, MOST_PUBLIC - 1, is_public=True)
    assert create(world, alone).plain_transfer is not None
    assert create(world, alone).plain_transfer is None
    with pytest.raises(Conflict, match="client IDs alone"):
        create(world, alone, plain_transfer=True)
    world.now += CACHED_FOR
    assert create(world, alone).plain_transfer is None, "so it is stored"
    assert create(world).plain_transfer is not None


def test_a_network_has_a_ceiling_whoever_asks() -> None:
    counts = Counter({(f"acct{n}", False): MOST_OF_ACCOUNT for n in range(10)})
    reason = f"{MOST_ON_NETWORK} addresses are the most of this network for an account that has 0 of them"
    assert none_left(counts, "other", is_public=False) == reason
    counts["acct0", False] -= 1
    assert none_left(counts, "other", is_public=False) is None


def test_accounts_that_take_all_that_they_can_leave_each_other_one_some_of_its_own() -> None:
    counts = Counter[tuple[str, bool]]()

    def take_all(account_id: str) -> int:
        while none_left(counts, account_id, is_public=False) is None:
            counts[account_id, False] += 1
        return counts[account_id, False]

    greedy = [take_all(f"greedy{number}") for number in range(8 + ACCOUNTS // 2)]
    assert greedy == [MOST_OF_ACCOUNT] * 8 + [OF_EACH] * (ACCOUNTS // 2)
    reason = f"4000 addresses are the most of this network for an account that has {OF_EACH} of them"
    assert none_left(counts, "greedy8", is_public=False) == reason
    others = [take_all(f"other{number}") for number in range(ACCOUNTS // 2)]
    assert (others, counts.total()) == ([OF_EACH] * (ACCOUNTS // 2), MOST_ON_NETWORK)


def test_what_is_at_an_address_is_what_all_nodes_say_alike() -> None:
    zero, one = BaseUnits(0), BaseUnits(1)
    assert agree_on_each([(zero, one, one, None)]) == (0, 1, 1, None)
    assert agree_on_each([(zero, one, one, None), (zero, one, zero, one)]) == (0, 1, None, None)
