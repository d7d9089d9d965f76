"""What a payer signs for what is owed: the approvals it needs and the payments, from plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from chalicelib.base.money import BaseUnits
from chalicelib.calldata import batch, erc20, fee_proxy
from chalicelib.calldata.batch import BatchItem
from chalicelib.calldata.transaction import Transaction
from chalicelib.calldata.tron import PAYMENT_FEE_LIMIT
from chalicelib.catalogue.contracts import BATCH, ERC20_FEE_PROXY, NATIVE_FEE_PROXY, TRON_BATCH, address_of
from chalicelib.catalogue.tokens import Token

TRANSFER_GAS = 60_000
"""Of an approval or a transferFrom: approve measures about 46,000 gas."""
ERC20_PAYMENT_GAS = 130_000
NATIVE_PAYMENT_GAS = 65_000
BATCH_GAS, BATCH_ITEM_GAS = 100_000, 60_000
"""Upper estimates: the proxies measure 96,000 and 49,000 gas, a batch about 46,000 for each payment, proxied tokens
somewhat more."""
BATCH_TOKEN_GAS, BATCH_SEARCH_GAS = 100_000, 1_000
"""What every further token of a batch adds, and adds for each of its payments, for which the contract goes through its
list of tokens: measured 81,000 and 770."""
MAX_BATCH_ITEMS, MAX_BATCH_GAS = 250, 15_500_000
"""In one transaction: 250 of one token take 11.5 million gas and 97 kB, below what a transaction may have (EIP-7825:
16.8 million) and what nodes pass on (128 kB); of many tokens gas is the narrower limit."""

MAX_FEE_LIMIT = 15_000 * 10**6
"""Sun; the network takes no transaction with a fee limit above it."""
_SUN_PER_ENERGY = 500
"""Burnt energy costs 100 to 210 sun."""


@dataclass(frozen=True)
class Due:
    """What one request is still owed: base units of `token`, and the fee on top, with who receives it."""

    token: Token
    payee: str
    amount: BaseUnits
    fee: BaseUnits
    fee_address: str | None
    reference: bytes

    @property
    def debit(self) -> BaseUnits:
        return BaseUnits(self.amount + self.fee)


@dataclass(frozen=True)
class Checkout:
    """Transactions in the order they are sent: funding, approvals, payments.

    `debits` is what each token takes in all (amounts, fees and the batch contract's own fee); `spender` is the contract
    that takes it. `funding` draws the tokens from another wallet first.
    """

    spender: str
    debits: Mapping[Token, BaseUnits]
    payments: tuple[Transaction, ...]
    gas: int
    approvals: tuple[Transaction, ...] = ()
    funding: tuple[Transaction, ...] = ()

    @property
    def transactions(self) -> tuple[Transaction, ...]:
        return (*self.funding, *self.approvals, *self.payments)

    @property
    def fee_limit(self) -> int:
        """The most that one payment on tron may burn, in sun: the usual limit, or three times what a batch may take."""
        return max(PAYMENT_FEE_LIMIT, min(self.gas * _SUN_PER_ENERGY, MAX_FEE_LIMIT))


def spender_of(token: Token, batched: bool) -> str:
    """The contract that takes a token, or forwards the native coin."""
    if batched:
        return address_of(TRON_BATCH if token.type == "TRC20" else BATCH, token.network)
    return address_of(NATIVE_FEE_PROXY if token.is_native else ERC20_FEE_PROXY, token.network)


def pay_one(due: Due) -> Checkout:
    """One payment through a fee proxy."""
    token, spender = due.token, spender_of(due.token, batched=False)
    if token.is_native:
        payment = fee_proxy.pay_native(
            token.network,
            payee=due.payee,
            amount=due.amount,
            reference=due.reference,
            fee_amount=due.fee,
            fee_address=due.fee_address,
        )
        return Checkout(spender, {token: due.debit}, (payment,), NATIVE_PAYMENT_GAS)
    payment = fee_proxy.pay_erc20(
        token.network,
        token=token.address,
        payee=due.payee,
        amount=due.amount,
        reference=due.reference,
        fee_amount=due.fee,
        fee_address=due.fee_address,
    )
    return Checkout(spender, {token: due.debit}, (payment,), ERC20_PAYMENT_GAS)


def pay_together(dues: Sequence[Due], batch_fee_bps: int = 0) -> Checkout:
    """Payments of one network through its batch contract, in one transaction.

    There are more transactions where one cannot do it: a batch has one fee address, MAX_BATCH_ITEMS payments and
    MAX_BATCH_GAS.
    """
    network = dues[0].token.network
    tokens = {None if due.token.is_native else due.token.address: due.token for due in dues}
    debits: dict[Token, int] = {}
    payments, gas = [], 0
    for group in _groups(dues):
        items = [_item(due) for due in group]
        fee_address = next((due.fee_address for due in group if due.fee), None)
        if dues[0].token.type == "TRC20":
            payments.append(batch.pay_tron_batch(network, items, fee_address))
        else:
            payments.append(batch.pay_batch(network, items, fee_address, batch_fee_bps))
        taken = batch.token_debits(items, batch_fee_bps)
        for address, debit in taken.items():
            debits[tokens[address]] = debits.get(tokens[address], 0) + debit
        gas += _batch_gas(len(taken)) + _item_gas(len(taken)) * len(group)
    return Checkout(
        spender=spender_of(dues[0].token, batched=True),
        debits={token: BaseUnits(debit) for token, debit in debits.items()},
        payments=tuple(payments),
        gas=gas,
    )


def with_approvals(checkout: Checkout, allowances: Mapping[str, int], resets: frozenset[str] = frozenset()) -> Checkout:
    """The checkout with an approval, of exactly the debit, for each token whose allowance is short.

    `resets` are the tokens (their addresses) whose old allowance has to be withdrawn before.
    """
    approvals: list[Transaction] = []
    for token, debit in checkout.debits.items():
        if token.is_native or allowances.get(token.address, 0) >= debit:
            continue
        if token.address in resets:
            approvals.append(erc20.approve(token.address, checkout.spender, 0))
        approvals.append(erc20.approve(token.address, checkout.spender, debit))
    return replace(checkout, approvals=tuple(approvals), gas=checkout.gas + TRANSFER_GAS * len(approvals))


def with_funding(checkout: Checkout, owner: str, wallet: str) -> Checkout:
    """The checkout for a smart account `wallet` that first draws every debit from `owner`, who approved it for that."""
    funding = tuple(
        erc20.transfer_from(token.address, owner, wallet, debit) for token, debit in checkout.debits.items()
    )
    return replace(checkout, funding=funding, gas=checkout.gas + TRANSFER_GAS * len(funding))


def _groups(dues: Sequence[Due]) -> list[list[Due]]:
    """The dues in their order, parted by fee address; those without a fee go with the first that has one."""
    by_address: dict[str | None, list[Due]] = {}
    first = next((due.fee_address for due in dues if due.fee), None)
    for due in dues:
        by_address.setdefault(due.fee_address if due.fee else first, []).append(due)
    groups = []
    for group in by_address.values():
        tokens = len({due.token.id for due in group})
        size = min(MAX_BATCH_ITEMS, (MAX_BATCH_GAS - _batch_gas(tokens)) // _item_gas(tokens))
        groups += [group[start : start + size] for start in range(0, len(group), size)]
    return groups


def _batch_gas(tokens: int) -> int:
    return BATCH_GAS + BATCH_TOKEN_GAS * (tokens - 1)


def _item_gas(tokens: int) -> int:
    return BATCH_ITEM_GAS + BATCH_SEARCH_GAS * (tokens - 1)


def _item(due: Due) -> BatchItem:
    token = None if due.token.is_native else due.token.address
    return BatchItem(token, due.payee, due.amount, due.reference, due.fee)
