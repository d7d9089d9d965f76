"""Conversion payments as npm payment-processor builds them: random items, and what it is asked for them."""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from chalicelib.chains.calldata.conversions.proxy import Conversion, ConvertedPayment
from chalicelib.chains.catalogue.conversions import (
    conversion_networks,
    conversion_path,
    on_chain_units,
    payment_currencies,
)
from chalicelib.chains.catalogue.tokens import Token, find_tokens
from chalicelib.payments.requests.references import payment_reference

INVOICES = [token for token in find_tokens(network="fiat") if payment_currencies(token)]
FEE_ADDRESS = "0xC5fdf4076b8F3A5357c5E395ab970B5B54098Fef"
_UNKNOWN_TO_THE_BUILDER = {"USDCn-matic"}
"""Tokens that its own, older currency list lacks."""


@dataclass(frozen=True)
class Item:
    """One payment: amounts in minor units of `invoice`, or of `payment` where that is None (no conversion)."""

    invoice: Token | None
    payment: Token
    payee: str
    amount: int
    fee: int
    max_to_spend: int
    max_rate_age: int
    request_id: str
    salt: str

    @property
    def reference(self) -> bytes:
        return payment_reference(self.request_id, self.salt, self.payee)

    @property
    def conversion(self) -> Conversion:
        assert self.invoice is not None
        path = conversion_path(self.invoice, self.payment)
        assert path is not None
        return Conversion(path, self.max_to_spend, self.max_rate_age)

    def converted(self) -> ConvertedPayment:
        """As we are asked to build it."""
        assert self.invoice is not None
        return ConvertedPayment(
            payee=self.payee,
            amount=on_chain_units(self.invoice, self.amount),
            reference=self.reference,
            conversion=self.conversion,
            fee_amount=on_chain_units(self.invoice, self.fee),
            fee_address=FEE_ADDRESS,
        )

    def asked(self) -> dict[str, Any]:
        """As the builder is asked to; see oracles/payments/build.js."""
        kinds = {
            (True, False): "pn-any-to-erc20-proxy",
            (True, True): "pn-any-to-eth-proxy",
            (False, False): "pn-erc20-fee-proxy-contract",
            (False, True): "pn-eth-fee-proxy-contract",
        }
        currency = self.invoice or self.payment
        if currency.is_fiat:
            stored = {"type": "ISO4217", "value": currency.symbol}
        elif currency.is_native:
            stored = {"type": "ETH", "value": currency.symbol, "network": currency.network}
        else:
            stored = {"type": "ERC20", "value": currency.address, "network": currency.network}
        return {
            "id": kinds[self.invoice is not None, self.payment.is_native],
            "network": self.payment.network,
            "currency": stored,
            "token": None if self.payment.is_native else self.payment.address,
            "payee": self.payee,
            "amount": str(self.amount),
            "feeAmount": str(self.fee),
            "feeAddress": FEE_ADDRESS,
            "maxToSpend": str(self.max_to_spend),
            "maxRateTimespan": str(self.max_rate_age),
            "requestId": self.request_id,
            "salt": self.salt,
        }


def payments_on(network: str) -> list[Token]:
    """The currencies of a network that fiat is converted to, and the builder knows."""
    found = (token for invoice in INVOICES for token in payment_currencies(invoice) if token.network == network)
    return sorted({token for token in found if token.id not in _UNKNOWN_TO_THE_BUILDER}, key=lambda token: token.id)


@st.composite
def items(draw: st.DrawFn, network: str | None = None, converted: bool = True) -> Item:
    payment = draw(st.sampled_from(payments_on(network or draw(st.sampled_from(conversion_networks())))))
    payable = [invoice for invoice in INVOICES if conversion_path(invoice, payment)]
    return Item(
        invoice=draw(st.sampled_from(payable)) if converted else None,
        payment=payment,
        payee="0x" + draw(st.binary(min_size=20, max_size=20).filter(any)).hex(),
        amount=draw(st.integers(1, 10**15)),
        fee=draw(st.integers(1, 10**12)),
        max_to_spend=draw(st.integers(1, 2**200)),
        max_rate_age=draw(st.integers(1, 10**9)),
        request_id="01" + draw(st.binary(min_size=32, max_size=32)).hex(),
        salt=draw(st.binary(min_size=8, max_size=8)).hex(),
    )
