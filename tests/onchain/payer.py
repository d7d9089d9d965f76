"""A payer with a key and funds, who signs what the API returns, unchanged."""

from typing import Any

from eth_account import Account

from chalicelib.checkout import flows as checkout
from chalicelib.checkout.schemas.pay_responses import pay_answer
from chalicelib.payments.links.records import PayableLink
from infra.local.chain import Chain
from tests.fakes.world import World

FUSDC = "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"
FAU = "0x370DE27fdb7D1Ff1e1BaA7D11c5820a324Cf623C"


class Payer:
    """Has a million coins and a million of every token of the network's catalogue."""

    def __init__(self, chain: Chain) -> None:
        account = Account.create()
        self.address, self._key, self._chain = account.address, account.key.hex(), chain
        chain.fund(self.address, 10**6)

    def quote(self, world: World, payable: PayableLink, **how: Any) -> dict[str, Any]:
        """The body of GET /v2/secure-payments/:token/pay for this wallet."""
        return pay_body(world, payable, self.address, **how)

    def pay(self, world: World, payable: PayableLink, **how: Any) -> list[dict[str, Any]]:
        """Signs and sends every transaction of the quote as it is; returns the receipts."""
        return [self.send(transaction) for transaction in self.quote(world, payable, **how)["transactions"]]

    def send(self, transaction: dict[str, Any]) -> dict[str, Any]:
        receipt = self._chain.send(transaction, self._key)
        assert receipt["status"] == "0x1", receipt
        return receipt


def pay_body(world: World, payable: PayableLink, wallet: str | None = None, **how: Any) -> dict[str, Any]:
    """The body of GET /v2/secure-payments/:token/pay for any wallet; `how` as in checkout.PayOptions."""
    viewer = checkout.Viewer(world.account_id, None)
    prepared = checkout.pay(world.services, payable.link.token, viewer, checkout.PayOptions(wallet, **how))
    return pay_answer(prepared, "plain").model_dump(exclude_unset=True)
