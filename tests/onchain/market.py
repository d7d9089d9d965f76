"""A network with price feeds, and somebody who pays there: shared by the tests of conversions."""

from typing import Any

import pytest
from eth_account import Account

from chalicelib.chains.calldata.conversions.proxy import Conversion
from chalicelib.chains.calldata.conversions.rates import PathRate
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.conversions import conversion_path, on_chain_units
from chalicelib.chains.catalogue.tokens import Token, token_with_id
from chalicelib.chains.nodes.evm import EvmChain
from chalicelib.payments.rates.rules import most_to_spend
from infra.local.chain import Chain, RpcError
from infra.local.feeds import set_feed

HOUR = 3600


def token(id: str) -> Token:
    found = token_with_id(id)
    assert found is not None
    return found


USD, EUR, GBP = token("USD"), token("EUR"), token("GBP")
USDC, DAI, ETH = token("USDC-mainnet"), token("DAI-mainnet"), token("ETH-mainnet")


class Market:
    """A network with feeds, and somebody who pays there."""

    def __init__(self, chain: Chain, feeds: dict[tuple[Token, Token], int]) -> None:
        account = Account.create()
        self.chain, self.address, self._key = chain, account.address, account.key.hex()
        self.evm = EvmChain(chain.network, chain.url)
        chain.fund(self.address, 10**6)
        for (base, quote), answer in feeds.items():
            set_feed(chain, base, quote, answer)

    def rate(self, invoice: Token, payment: Token) -> PathRate:
        (found,) = self.evm.read_conversion_rates([path_of(invoice, payment)])
        assert found is not None
        return found

    def most(self, invoice: Token, payment: Token, units: int, slippage_bps: int = 100) -> Conversion:
        """A conversion of `units` minor units at the rate of now, and up to `slippage_bps` worse."""
        rate = self.rate(invoice, payment)
        most = most_to_spend(on_chain_units(invoice, units), rate, slippage_bps)
        return Conversion(path_of(invoice, payment), most, HOUR)

    def send(self, *transactions: Transaction) -> dict[str, Any]:
        """Sends transactions as they are; returns the receipt of the last, which succeeded."""
        for each in transactions:
            receipt = self.chain.send({"to": each.to, "data": each.data, "value": each.value}, self._key)
            assert receipt["status"] == "0x1"
        return receipt

    def refusal(self, *transactions: Transaction) -> str:
        """What the contract says when it refuses the last of the transactions."""
        with pytest.raises(RpcError) as refused:
            self.send(*transactions)
        return str(refused.value)


def path_of(invoice: Token, payment: Token) -> tuple[str, ...]:
    path = conversion_path(invoice, payment)
    assert path is not None
    return path


def market_of_mainnet(chain: Chain) -> Market:
    """Mainnet with feeds of fiat, stablecoins and ether."""
    feeds = {(USDC, USD): 99_970_000, (EUR, USD): 108_000_000, (GBP, USD): 127_000_000, (DAI, USD): 100_020_000}
    return Market(chain, feeds | {(ETH, USD): 250_000_000_000})
