"""Too much is paid on a real chain; the refund that the API returns, executed unchanged, brings the payer the excess."""

from typing import Any

import pytest

from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.transfers.api import list_transfers
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.callers import Caller
from chalicelib.platform.access.modes import Mode, Tier
from chalicelib.platform.http.view import Call
from infra.local.chain import Chain
from tests.fakes.world import World
from tests.onchain.ledger import time_of
from tests.onchain.payer import FAU, FUSDC, Payer

NATIVE = "ETH-sepolia-sepolia"


@pytest.fixture
def world(world: World, chain: Chain) -> World:
    """The deployment with the time of the chain."""
    world.now = time_of(chain)
    return world


def transfers_of(world: World, payable: PayableLink) -> list[dict[str, Any]]:
    """The body of GET /v2/secure-payments/:token/transfers."""
    caller = Caller(Mode.API_KEY, world.account_id, "key", "digest", "credential", Tier.DEFAULT, None)
    actor = Actor(world.account_id, "key", "127.0.0.1", "-")
    services = world.services
    path = {"token": payable.link.token}
    call = Call(services, caller, actor, None, None, path, services.clock(), services.entropy)
    found: list[dict[str, Any]] = list_transfers(call).model_dump(mode="json")["transfers"]
    return found


def balance(chain: Chain, who: Payer, token: str | None) -> int:
    return chain.token_balance(token, who.address) if token else chain.native_balance(who.address)


def sent(chain: Chain, who: Payer, transactions: list[dict[str, Any]]) -> int:
    """Sends all of them; returns what they cost in gas, in wei."""
    receipts = [who.send({name: each[name] for name in ("to", "data", "value")}) for each in transactions]
    return sum(int(r["gasUsed"], 16) * int(r["effectiveGasPrice"], 16) for r in receipts)


@pytest.mark.parametrize(("currency", "token", "unit"), [("fUSDC-sepolia", FUSDC, 10**6), (NATIVE, None, 10**18)])
def test_what_was_paid_twice_comes_back_to_the_payer_to_the_last_unit(
    world: World, chain: Chain, payer: Payer, currency: str, token: str | None, unit: int
) -> None:
    payee = Payer(chain)
    payment = world.create_link(
        currency=currency, amount="2", payee=payee.address, fee_percentage=None, fee_address=None
    )
    transactions = payer.quote(world, payment)["transactions"]
    for _ in range(2):
        sent(chain, payer, transactions)
    chain.mine(2)
    assert world.tick() == 2
    exact, duplicate = transfers_of(world, payment)
    assert (exact["classification"], exact["refund"]) == ("exact", None)
    assert (duplicate["classification"], duplicate["excessAmount"]) == ("duplicate", "2")
    assert duplicate["payerAddress"] == duplicate["refund"]["payer"] == payer.address
    before = balance(chain, payer, token), balance(chain, payee, token)
    gas = sent(chain, payee, duplicate["refund"]["transactions"])
    assert balance(chain, payer, token) - before[0] == 2 * unit
    assert before[1] - balance(chain, payee, token) == 2 * unit + (0 if token else gas)
    chain.mine(2)
    assert world.tick() == 0, "a refund is no payment of the link"


def test_more_than_was_asked_for_and_a_token_that_was_not_are_returned_as_far_as_they_were_not_owed(
    world: World, chain: Chain, payer: Payer
) -> None:
    payee = Payer(chain)
    payment = world.create_link(payee=payee.address, fee_percentage=None, fee_address=None)
    approve, pay = payer.quote(world, payment)["transactions"]
    wide = approve["data"].replace(f"{12_500_000:064x}", f"{10**12:064x}")
    for token in (FUSDC, FAU):
        payer.send({**approve, "to": token, "data": wide})
    payer.send({**pay, "data": pay["data"].replace(FUSDC[2:].lower(), FAU[2:].lower())})
    payer.send({**pay, "data": pay["data"].replace(f"{12_500_000:064x}", f"{20_000_000:064x}")})
    chain.mine(2)
    assert world.tick() == 1
    wrong, over = transfers_of(world, payment)
    assert [wrong["classification"], over["classification"]] == ["wrong_token", "over"]
    assert (wrong["currency"], wrong["excessAmount"], over["excessAmount"]) == ("FAU-sepolia", None, "7.5")
    before = balance(chain, payer, FAU), balance(chain, payer, FUSDC)
    for found in (wrong, over):
        sent(chain, payee, found["refund"]["transactions"])
    assert balance(chain, payer, FAU) - before[0] == 12_500_000
    assert balance(chain, payer, FUSDC) - before[1] == 7_500_000
