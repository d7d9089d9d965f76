"""What a client id that its owner limits can do over HTTP when it is sent alone: every operation that makes a link."""

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.accounts.payees.records import PayeeDestination
from chalicelib.chains.catalogue.interop import Destination, destination_id
from chalicelib.payments.links import flows
from chalicelib.payments.links.payouts import flows as payouts
from chalicelib.payments.links.payouts.rules import PayoutDraft
from chalicelib.platform.access.callers import ClientSettings
from chalicelib.platform.access.modes import Mode
from tests.bench.calls import counted
from tests.fakes.destinations import FUSDC_SEPOLIA, SEPOLIA
from tests.fakes.payouts import store_payouts
from tests.fakes.wallets import EvmWallet, evm_wallet
from tests.fakes.world import FEE_ADDRESS, PAYEE, WALLET, World, draft
from tests.support.client import Reply, Shop, item, stored
from tests.support.items import PAYOUTS, payout
from tests.support.opened import by_session
from tests.support.running import running

THIEF = evm_wallet("thief").address
TO_THIEF = item(payee=THIEF, amount="0.01")
LIMITED = "The owner of this client ID limits what it creates without an API key: "


def limit(shop: Shop, **settings: Any) -> None:
    (client,) = shop.api.get("/v2/client-ids", shop.by_key).json
    reply = shop.api.request("PUT", f"/v2/client-ids/{client['id']}", settings, shop.by_key)
    assert reply.status == 200, reply.json


def refused(reply: Reply, why: str) -> None:
    assert (reply.status, reply.json["error"]) == (403, "Forbidden")
    assert reply.message.startswith(f"{LIMITED}{why}") and "PUT /v2/client-ids/{id}" in reply.message


def send_payout(shop: Shop, **fields: str) -> Reply:
    return shop.send("POST", PAYOUTS, payout(**fields))


def bind(shop: Shop, wallet: EvmWallet) -> None:
    route = Destination(wallet.address, SEPOLIA, FUSDC_SEPOLIA)
    record_id = "01M7VQFVRZV5BJJSN4QTFB4MP9"
    made = PayeeDestination(
        record_id, destination_id(route), shop.account_id, wallet.address, FUSDC_SEPOLIA, SEPOLIA, True, running().clock()
    )
    running().store.write(made)
    limit(shop, payeeDestinationId=record_id)


@pytest.fixture
def limited(new_shop: Shop) -> Shop:
    limit(new_shop, allowedPayees=[PAYEE], allowedCurrencies=["fUSDC-sepolia"])
    return new_shop


def test_a_stranger_makes_no_link_to_a_payee_of_his_own(limited: Shop) -> None:
    before = stored()
    refused(limited.create(TO_THIEF, reference="order-1"), f"payee {THIEF} is not in its allowedPayees")
    refused(limited.create(item(), TO_THIEF), f"payee {THIEF} is not in its allowedPayees")
    assert stored() == before
    assert limited.create(item()).status == limited.create(item(payee=PAYEE.lower()), item()).status == 201


def test_a_stranger_chooses_no_other_currency_and_no_fee_of_his_own(limited: Shop) -> None:
    other = item(invoiceCurrency="fUSDT-sepolia", paymentCurrency="fUSDT-sepolia")
    refused(limited.create(other), "currency fUSDT-sepolia is not in its allowedCurrencies")
    refused(limited.create(feePercentage="50", feeAddress=THIEF), f"feeAddress {THIEF} is neither its own nor in")
    limit(limited, feePercentage="0", feeAddress=FEE_ADDRESS)
    assert limited.create(feePercentage="1", feeAddress=FEE_ADDRESS).status == 201


def test_a_payout_is_limited_as_a_link_is(limited: Shop) -> None:
    refused(send_payout(limited, recipient=THIEF), f"payee {THIEF} is not in its allowedPayees")
    refused(send_payout(limited, currency="fUSDT-sepolia"), "currency fUSDT-sepolia is not in its allowedCurrencies")
    refused(send_payout(limited, feePercentage="9", feeAddress=THIEF), f"feeAddress {THIEF} is neither its own nor in")
    assert send_payout(limited).status == 201


@pytest.mark.parametrize(("path", "name"), [("batch-payouts", "tokens"), ("multicall-payouts", "childTokens")])
def test_payouts_to_others_are_not_combined(limited: Shop, path: str, name: str) -> None:
    own = {"client_id": limited.client_id, "created_with": Mode.CLIENT_ID}
    to_thief = [each.link.token for each in store_payouts(running(), limited.account_id, 2, payee=THIEF, **own)]
    allowed = [each.link.token for each in store_payouts(running(), limited.account_id, 2, **own)]
    before = stored()
    for tokens in (to_thief, [allowed[0], to_thief[0]]):
        reply = limited.send("POST", f"/v2/secure-payments/{path}", {name: tokens})
        refused(reply, f"payee {THIEF} is not in its allowedPayees")
    assert stored() == before
    assert limited.send("POST", f"/v2/secure-payments/{path}", {name: allowed}).status == 201


def test_without_payees_it_creates_for_its_bound_destination_alone(new_shop: Shop) -> None:
    limit(new_shop, allowedPayees=[], allowedCurrencies=[])
    refused(new_shop.create(), f"payee {PAYEE} is not in its allowedPayees")
    wallet = evm_wallet("limited shop")
    bind(new_shop, wallet)
    assert new_shop.create({"amount": "5"}).status == 201
    assert send_payout(new_shop, recipient=wallet.address).status == 201
    refused(send_payout(new_shop), f"payee {PAYEE} is not in its allowedPayees")
    refused(
        new_shop.create({"amount": "5"}, feePercentage="1", feeAddress=THIEF), f"feeAddress {THIEF} is neither its own"
    )


def test_a_limit_costs_a_payout_one_read_of_its_destination_and_a_link_none(world: World) -> None:
    settings = ClientSettings(payee_destination_id="01UNKNOWN", allowed_payees=(PAYEE,))
    owner = replace(world.owner, settings=settings, mode=Mode.CLIENT_ID)
    wanted = PayoutDraft(PAYEE, WALLET, "sepolia", "fUSDC-sepolia", "1", draft(items=(), fee_percentage=None, fee_address=None))
    for limited, reads in ((owner, 1), (replace(owner, mode=Mode.API_KEY), 0)):
        with counted(world.client) as calls:
            payouts.create(world.services, limited, None, wanted)
        assert calls.by_operation == {**({"GetItem": 1} if reads else {}), "TransactWriteItems": 1}
    flows.create(world.services, owner, draft(fee_percentage=None, fee_address=None))  # once a minute what the account has chosen
    with counted(world.client) as calls:
        flows.create(world.services, owner, draft(fee_percentage=None, fee_address=None))
    assert calls.by_operation == {"GetItem": 1, "TransactWriteItems": 1}, "as without a limit"


def test_who_holds_a_secret_of_the_account_is_not_limited(limited: Shop) -> None:
    both = {**limited.by_key, "x-client-id": limited.client_id}
    for headers in (limited.by_key, both, by_session(limited.account_id)):
        reply = limited.api.request("POST", "/v2/secure-payments", {"requests": [TO_THIEF]}, headers)
        assert reply.status == 201, reply.json


def test_a_limit_counts_at_once_and_ends_with_null(limited: Shop) -> None:
    refused(limited.create(TO_THIEF), f"payee {THIEF} is not")
    limit(limited, allowedPayees=None)
    assert limited.create(TO_THIEF).status == 201
