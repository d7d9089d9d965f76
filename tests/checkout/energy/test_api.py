"""POST /v2/secure-payments/:token/tron/energy: who may ask for energy, for which wallets, and what /pay says of it."""

from dataclasses import replace
from typing import Any

from chalicelib.gasless.energy import store as energy_store
from chalicelib.gasless.energy.records import Stage
from chalicelib.payments.links import reading as link_reading
from tests.checkout.broadcasts.test_api import PAYER
from tests.checkout.test_pay_kinds import pay
from tests.support.browser import BY_PAGE
from tests.support.client import Reply, Shop, let_execute
from tests.support.items import native, tron
from tests.support.node import Node
from tests.support.running import running

PATH = "/v2/secure-payments/{token}/tron/energy"


def ask(shop: Shop, token: str, headers: dict[str, str] | None = None, wallet: str = PAYER.address) -> Reply:
    return shop.api.request("POST", PATH.format(token=token), {"wallet": wallet}, headers or shop.by_key)


def resources(shop: Shop, token: str) -> dict[str, Any]:
    found: dict[str, Any] = pay(shop, token, wallet=PAYER.address)["metadata"]["resources"]
    return found


def known_link(shop: Shop) -> str:
    """A link on Tron that an API key has created: its payee is known."""
    token = shop.link(tron())
    stored = link_reading.load(running(), token)
    assert stored is not None
    running().store.write(replace(stored.link, has_known_payees=True))
    return token


def test_what_a_wallet_lacks_is_delegated_and_said_until_it_is_taken_back(shop: Shop, node: Node) -> None:
    node.native = 0
    token = known_link(shop)
    before = resources(shop, token)
    assert (before["mayDelegate"], "delegation" in before) == (True, False)
    reply = ask(shop, token)
    assert (reply.status, reply.json["energy"], reply.json["bandwidth"]) == (200, 112_200, 885)
    assert len(node.sent) == 2, "of energy and of bandwidth"
    assert ask(shop, token).json == reply.json == resources(shop, token)["delegation"]
    assert (len(node.sent), "mayDelegate" in resources(shop, token)) == (2, False)
    stored = energy_store.delegation(running().store, PAYER.address)
    assert stored is not None and stored.stage is Stage.GIVEN
    running().store.write(replace(stored, stage=Stage.ENDED, check_at=None))
    assert "delegation" not in resources(shop, token)


def test_a_client_id_alone_needs_the_word_of_its_owner_and_the_payment_page_asks_for_none(shop: Shop, node: Node) -> None:
    token = known_link(shop)
    let_execute(shop.client_id, False)
    assert ask(shop, token, shop.by_client).status == 403
    let_execute(shop.client_id)
    assert ask(shop, token, BY_PAGE).status == 403
    for headers in (shop.by_key, shop.by_client):
        reply = ask(shop, token, headers)
        assert (reply.status, reply.message) == (400, "The wallet can pay this link as it is: nothing is delegated")


def test_what_it_is_not_for_is_refused_with_what_to_do(shop: Shop, node: Node) -> None:
    node.native = 0
    assert ask(shop, shop.link(native())).status == 400
    assert "exact case" in ask(shop, known_link(shop), wallet=PAYER.address[:-1] + "1").message
    assert ask(shop, "01M81GWAYH8B9E4T6JT4J6DQAS").status == 404
    node.resources = {"TotalEnergyWeight": -1}
    assert ask(shop, known_link(shop)).status == 503, "and nothing is given"
