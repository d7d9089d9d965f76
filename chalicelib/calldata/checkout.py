"""What a payer signs for one request: the approvals it needs and the payment, from plain values."""

from dataclasses import dataclass

from chalicelib.calldata import erc20, fee_proxy
from chalicelib.calldata.transaction import Transaction
from chalicelib.core.contracts import ERC20_FEE_PROXY, NATIVE_FEE_PROXY, address_of
from chalicelib.core.links import Link, Request, fee_on, remaining
from chalicelib.core.money import BaseUnits
from chalicelib.core.tokens import Token

APPROVAL_GAS = 60_000
ERC20_PAYMENT_GAS = 130_000
NATIVE_PAYMENT_GAS = 65_000
"""Upper estimates: approve measures about 46,000 gas, the proxies 96,000 and 49,000, proxied tokens somewhat more."""


@dataclass(frozen=True)
class Checkout:
    """Transactions in the order they are sent, the payment last. `debit` is amount and fee in base units."""

    transactions: tuple[Transaction, ...]
    debit: BaseUnits
    gas: int

    @property
    def approvals(self) -> int:
        return len(self.transactions) - 1


def spender_of(token: Token) -> str:
    """The fee proxy that takes the token, or forwards the native coin."""
    return address_of(NATIVE_FEE_PROXY if token.is_native else ERC20_FEE_PROXY, token.network)


def build_checkout(
    request: Request, link: Link, token: Token, allowance: int = 0, reset_first: bool = False
) -> Checkout:
    """Pays what remains of the request, with the fee on that part on top.

    An approval comes first only when `allowance` is short, for the exact debit; `reset_first` withdraws the old
    allowance before, for tokens that refuse to change one that is not zero.
    """
    amount = remaining(request)
    fee = fee_on(amount, link)
    debit = BaseUnits(amount + fee)
    reference = bytes.fromhex(request.payment_reference[2:])
    if token.is_native:
        payment = fee_proxy.pay_native(
            token.network,
            payee=request.payee,
            amount=amount,
            reference=reference,
            fee_amount=fee,
            fee_address=link.fee_address,
        )
        return Checkout((payment,), debit, NATIVE_PAYMENT_GAS)
    payment = fee_proxy.pay_erc20(
        token.network,
        token=token.address,
        payee=request.payee,
        amount=amount,
        reference=reference,
        fee_amount=fee,
        fee_address=link.fee_address,
    )
    approvals = _approvals(token, debit, allowance, reset_first)
    return Checkout((*approvals, payment), debit, ERC20_PAYMENT_GAS + APPROVAL_GAS * len(approvals))


def _approvals(
    token: Token, debit: BaseUnits, allowance: int, reset_first: bool
) -> tuple[Transaction, ...]:
    if allowance >= debit:
        return ()
    grant = erc20.approve(token.address, spender_of(token), debit)
    return (erc20.approve(token.address, spender_of(token), 0), grant) if reset_first else (grant,)
