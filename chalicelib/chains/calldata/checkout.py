"""The transactions that a payer signs to pay requests: approvals and payments, built from plain values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata import batch, fee_proxy
from chalicelib.chains.calldata.batch import BatchItem
from chalicelib.chains.calldata.conversions import proxy
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.calldata.tron import PAYMENT_FEE_LIMIT
from chalicelib.chains.catalogue.contracts import BATCH, ERC20_FEE_PROXY, NATIVE_FEE_PROXY, TRON_BATCH, address_of
from chalicelib.chains.catalogue.conversions import conversion_proxy
from chalicelib.chains.catalogue.tokens import Token

TRANSFER_GAS = 60_000
"""The upper estimate for an approval or a transferFrom; an approval used about 46,000 gas when measured."""
ERC20_PAYMENT_GAS = 130_000
NATIVE_PAYMENT_GAS = 65_000
BATCH_GAS, BATCH_ITEM_GAS = 100_000, 60_000
"""Upper estimates. Measured: 96,000 and 49,000 gas for the fee proxies, about 46,000 per payment of a batch, and a bit
more for tokens behind a proxy contract."""
BATCH_TOKEN_GAS, BATCH_SEARCH_GAS = 100_000, 1_000
"""What each token after the first adds to a batch, and to each payment of it, because the contract searches its list of
tokens for every payment. Measured: 81,000 and 770 gas."""
CONVERSION_GAS = 120_000
"""What a conversion adds to a payment, single or in a batch, along the longest path. Measured with simple doubles of
feeds: 97,000 gas for a token, 107,000 for the native coin; 50,000 within a batch. Real feeds read a second contract."""
MAX_BATCH_ITEMS, MAX_BATCH_GAS = 250, 15_500_000
"""The limits of one transaction. 250 payments in one token use 11.5 million gas and 97 kB, which is below the limits of
a transaction (16.8 million gas, EIP-7825) and of nodes (128 kB). With many tokens the gas limit is reached first."""

MAX_FEE_LIMIT = 15_000 * 10**6
"""Sun; Tron accepts no transaction with a higher fee limit."""
_SUN_PER_ENERGY = 500
"""An upper estimate: the network charges 100 to 210 sun for a unit of energy."""


@frozen
class Due:
    """What is still to be paid for one request, in base units of `token`: the amount, and the fee in addition.

    With a conversion, both are in the invoice currency, as the contracts count it (`on_chain_units`).
    """

    token: Token
    payee: str
    amount: BaseUnits
    fee: BaseUnits
    fee_address: str | None
    reference: bytes
    conversion: proxy.Conversion | None = None

    @property
    def debit(self) -> BaseUnits:
        """The base units of the token to pay; with a conversion the most that it may spend."""
        return BaseUnits(self.amount + self.fee if self.conversion is None else self.conversion.max_to_spend)


@frozen
class Checkout:
    """Transactions in the order in which they are sent: funding, approvals, payments.

    `debits` is the total to pay in each token (amounts, fees and the batch contract's own fee), `spender` the contract
    that takes it. `funding` first transfers the tokens from another wallet.
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
        """The fee limit of a payment transaction on tron, in sun: at least the usual one, more for a large batch."""
        return max(PAYMENT_FEE_LIMIT, min(self.gas * _SUN_PER_ENERGY, MAX_FEE_LIMIT))


def spender_of(token: Token, batched: bool, converted: bool = False) -> str:
    """The contract that transfers a token, or forwards the native coin, for a payment."""
    if converted and not batched:
        return conversion_proxy(token)
    if batched:
        return address_of(TRON_BATCH if token.type == "TRC20" else BATCH, token.network)
    return address_of(NATIVE_FEE_PROXY if token.is_native else ERC20_FEE_PROXY, token.network)


def pay_one(due: Due) -> Checkout:
    """One payment through a fee proxy, or through a conversion proxy."""
    if due.conversion is not None:
        return _convert_one(due, due.conversion)
    token, spender = due.token, spender_of(due.token, batched=False)
    pay = fee_proxy.pay_native if token.is_native else partial(fee_proxy.pay_erc20, token=token.address)
    payment = pay(
        token.network,
        payee=due.payee,
        amount=due.amount,
        reference=due.reference,
        fee_amount=due.fee,
        fee_address=due.fee_address,
    )
    if token.is_native:
        return Checkout(spender, {token: due.debit}, (payment,), NATIVE_PAYMENT_GAS)
    return Checkout(spender, {token: due.debit}, (payment,), ERC20_PAYMENT_GAS)


def _convert_one(due: Due, conversion: proxy.Conversion) -> Checkout:
    token, spender = due.token, spender_of(due.token, batched=False, converted=True)
    proxy.check_end(conversion, token.address)
    paid = proxy.ConvertedPayment(due.payee, due.amount, due.reference, conversion, due.fee, due.fee_address)
    if token.is_native:
        payment = proxy.pay_native_converted(token.network, paid)
        return Checkout(spender, {token: due.debit}, (payment,), NATIVE_PAYMENT_GAS + CONVERSION_GAS)
    payment = proxy.pay_erc20_converted(token.network, paid)
    return Checkout(spender, {token: due.debit}, (payment,), ERC20_PAYMENT_GAS + CONVERSION_GAS)


def pay_together(dues: Sequence[Due], batch_fee_bps: int = 0) -> Checkout:
    """Payments on one network through its batch contract.

    One transaction, or several if there are several fee addresses, more than MAX_BATCH_ITEMS payments, or more gas than
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
        batch_debits = batch.token_debits(items, batch_fee_bps)
        for address, debit in batch_debits.items():
            debits[tokens[address]] = debits.get(tokens[address], 0) + debit
        gas += _batch_gas(len(batch_debits)) + _item_gas(len(batch_debits)) * len(group)
        gas += CONVERSION_GAS * sum(due.conversion is not None for due in group)
    return Checkout(
        spender=spender_of(dues[0].token, batched=True),
        debits={token: BaseUnits(debit) for token, debit in debits.items()},
        payments=tuple(payments),
        gas=gas,
    )


def with_approvals(checkout: Checkout, allowances: Mapping[str, int], resets: frozenset[str] = frozenset()) -> Checkout:
    """The checkout with an approval of exactly the debit for each token whose allowance is below it.

    `resets` are the addresses of tokens whose allowance must be set to 0 before a new approval.
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
    """The checkout of a smart account `wallet`, which first transfers each debit from `owner` by an allowance."""
    funding = tuple(
        erc20.transfer_from(token.address, owner, wallet, debit) for token, debit in checkout.debits.items()
    )
    return replace(checkout, funding=funding, gas=checkout.gas + TRANSFER_GAS * len(funding))


def join_checkouts(parts: Sequence[Checkout]) -> Checkout:
    """Checkouts of one wallet as one: all approvals before all payments. `spender` is that of the last one."""
    debits: dict[Token, int] = {}
    for part in parts:
        for token, debit in part.debits.items():
            debits[token] = debits.get(token, 0) + debit
    return Checkout(
        spender=parts[-1].spender,
        debits={token: BaseUnits(debit) for token, debit in debits.items()},
        payments=tuple(payment for part in parts for payment in part.payments),
        gas=sum(part.gas for part in parts),
        approvals=tuple(approval for part in parts for approval in part.approvals),
    )


def fitting(dues: Sequence[Due]) -> int:
    """How many of the dues, from the first one on, fit into one transaction of `pay_together`."""
    return len(next(_chunks(dues)))


def _groups(dues: Sequence[Due]) -> list[list[Due]]:
    """The dues in their order, grouped by fee address and by size. Dues without a fee join the first fee address."""
    by_address: dict[str | None, list[Due]] = {}
    first = next((due.fee_address for due in dues if due.fee), None)
    for due in dues:
        by_address.setdefault(due.fee_address if due.fee else first, []).append(due)
    return [chunk for group in by_address.values() for chunk in _chunks(group)]


def _chunks(group: Sequence[Due]) -> Iterator[list[Due]]:
    """The dues in their order, each chunk as large as one transaction can be."""
    tokens = len({due.token.id for due in group})
    chunk: list[Due] = []
    gas = 0
    for due in group:
        item_gas = _item_gas(tokens) + (CONVERSION_GAS if due.conversion else 0)
        if chunk and (len(chunk) == MAX_BATCH_ITEMS or gas + item_gas > MAX_BATCH_GAS):
            yield chunk
            chunk = []
        gas = (gas if chunk else _batch_gas(tokens)) + item_gas
        chunk.append(due)
    yield chunk


def _batch_gas(tokens: int) -> int:
    return BATCH_GAS + BATCH_TOKEN_GAS * (tokens - 1)


def _item_gas(tokens: int) -> int:
    return BATCH_ITEM_GAS + BATCH_SEARCH_GAS * (tokens - 1)


def _item(due: Due) -> BatchItem:
    token = None if due.token.is_native else due.token.address
    return BatchItem(token, due.payee, due.amount, due.reference, due.fee, due.conversion)
