"""A payer with a key and funds, who signs what the API returns, unchanged."""

from typing import Any

from eth_account import Account

from chalicelib.api.shapes import pay_answer
from chalicelib.core.links import SecurePayment
from chalicelib.flows import links
from infra.local.chain import Chain
from tests.fakes.world import World

FUSDC = "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"
FAU = "0x370DE27fdb7D1Ff1e1BaA7D11c5820a324Cf623C"


class Payer:
    def __init__(self, chain: Chain, token: str = FUSDC) -> None:
        account = Account.create()
        self.address, self._key, self._chain = account.address, account.key.hex(), chain
        chain.fund_native(self.address, 10**20)
        chain.fund_token(self.address, token, 10**12)

    def quote(self, world: World, payment: SecurePayment) -> dict[str, Any]:
        """The body of GET /v2/secure-payments/:token/pay for this wallet."""
        quote = links.quote(world.services, payment.link.token, world.account_id, None, self.address, None)
        return pay_answer(quote, "plain").model_dump(exclude_unset=True)

    def pay(self, world: World, payment: SecurePayment) -> list[dict[str, Any]]:
        """Signs and sends every transaction of the quote as it is; returns the receipts."""
        return [self.send(transaction) for transaction in self.quote(world, payment)["transactions"]]

    def send(self, transaction: dict[str, Any]) -> dict[str, Any]:
        receipt = self._chain.send(transaction, self._key)
        assert receipt["status"] == "0x1", receipt
        return receipt
