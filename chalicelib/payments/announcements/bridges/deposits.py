"""Which link a transaction of another chain pays, by the bytes of its deposit alone."""

from collections.abc import Iterable

from chalicelib.base.addresses import evm_address, same_address
from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata import fee_proxy
from chalicelib.chains.calldata.abi import WORD, read_uint
from chalicelib.chains.calldata.bridges.across import encode_deposit
from chalicelib.chains.calldata.transaction import LoggedDeposit, SentTransaction
from chalicelib.chains.catalogue.bridges import SOURCE_SYMBOLS, is_bridgeable, source_networks, source_token
from chalicelib.chains.catalogue.contracts import ACROSS_SPOKE_POOL, address_of
from chalicelib.chains.catalogue.networks import Network, require_network
from chalicelib.chains.catalogue.tokens import require_token, token_at
from chalicelib.crosschain.core.bridged_calls import BridgedCall, has_route_times, read_source
from chalicelib.crosschain.core.records import Deposit
from chalicelib.payments.announcements.bridges.rules import least_input
from chalicelib.payments.links.records import PayableLink, PaymentType
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import currency_of
from chalicelib.platform.services import Services

SELECTOR = 4
_AMOUNT, _FEE, _FEE_ADDRESS = 2 * WORD, 4 * WORD, 5 * WORD
"""Where these are in the arguments of the fee proxy's call (chains/calldata/fee_proxy.py)."""


@frozen
class PaidDeposit:
    """A deposit that pays a request, and the event of it once it is in a block.

    `is_timely`: it can be filled as soon, and as long, as one of a route that /pay shows.
    """

    deposit: Deposit
    is_timely: bool
    logged: LoggedDeposit | None = None


def check_source(payable: PayableLink, chain: str, symbol: str | None) -> Network:
    """The other chain that a link is paid from, in the token with that symbol, or in any if none is named.

    Raises BadRequest if it cannot be paid so.
    """
    first = payable.requests[0]
    label = require_network(first.network).label
    refusal = (
        f"Unsupported crosschain configuration: this link is paid in {first.currency} on {label}, and not from "
        f"{symbol or 'a token'} on {chain}"
    )
    if not all(is_bridgeable(currency_of(request)) for request in payable.requests):
        raise BadRequest(f"{refusal}: {currency_of(first).symbol} is not supported in crosschain payment.")
    if payable.link.payment_type is PaymentType.BATCH:
        raise BadRequest(f"{refusal}: a link of several payments is paid on its own network")
    if source_token(chain, symbol or SOURCE_SYMBOLS[0]) is None:
        labels = ", ".join(each.label for each in source_networks())
        raise BadRequest(f"{refusal}: it can be paid from {' or '.join(SOURCE_SYMBOLS)} on {labels}")
    return next(each for each in source_networks() if each.label == chain)


def deposits_of(source: Network, requests: Iterable[Request], sent: SentTransaction) -> tuple[PaidDeposit, ...]:
    """The deposits of a transaction that pay one of the requests: those that it logged, or will make by its calldata.

    A smart wallet's transaction says nothing before it is in a block, because it is not the bridge that is called.
    """
    pool = address_of(ACROSS_SPOKE_POOL, source.name)
    calls: list[tuple[str, str, LoggedDeposit | None]] = [(sent.to or "", sent.data, None)]
    if sent.block is not None and sent.success:
        calls = [(pool, encode_deposit(each.deposit), each) for each in sent.deposits]
    known, found = tuple(requests), list[PaidDeposit]()
    for to, data, logged in calls:
        called = read_source(source, to, data)
        deposit = _deposit(called, source, known) if called is not None else None
        if called is not None and deposit is not None:
            found.append(PaidDeposit(deposit, has_route_times(called.deposit), logged))
    return tuple(found)


def request_of(requests: Iterable[Request], deposit: Deposit) -> Request | None:
    return next((each for each in requests if each.payment_reference == deposit.payment_reference), None)


def covers(deposit: Deposit, request: Request, due: int | None) -> bool:
    """Whether a deposit brings what is due of a request, and is large enough that somebody fills it.

    One that is not would lock its link until its deadline without the money for it. `due` is None if nobody was asked
    for any amount.
    """
    source = require_token(deposit.input_token)
    least = least_input(deposit.output_amount, currency_of(request).decimals, source.decimals)
    return due is not None and deposit.amount >= due and deposit.input_amount >= least


def least_due_of(services: Services, parts: Iterable[PayableLink], request: Request) -> int | None:
    """What is due of a request in the token that is paid; 0 if nothing is, None if it is converted and no quote was
    given."""
    from chalicelib.payments.payable import conversions  # it is asked once of each deposit
    from chalicelib.payments.payable.rules import amounts_owed

    owed = (each for each in amounts_owed(tuple(parts)) if each.request.request_id == request.request_id)
    return next((conversions.least_asked(services, each) for each in owed), 0)


def _deposit(called: BridgedCall, source: Network, requests: Iterable[Request]) -> Deposit | None:
    """What a deposit pays; None if it is none of the requests, or a token that is not in the catalogue."""
    token = token_at(source.name, called.deposit.input_token)
    if token is None:
        return None
    for request in requests:
        amount = _amount(called, request)
        if amount is not None:
            return Deposit(
                depositor=called.deposit.depositor,
                fallback=called.fallback,
                input_token=token.id,
                input_amount=BaseUnits(called.deposit.input_amount),
                output_amount=BaseUnits(called.deposit.output_amount),
                payment_reference=request.payment_reference,
                amount=amount,
                execution_deadline=called.execution_deadline,
                fill_deadline=called.fill_deadline,
            )
    return None


def _amount(called: BridgedCall, request: Request) -> BaseUnits | None:
    """What a call pays of a request, without the fee; None if it does not, which is so unless the very same call is
    built for the request, or if what is brought is less than what it takes."""
    currency = currency_of(request)
    if called.destination.name != request.network or not same_address(called.deposit.output_token, currency.address):
        return None
    try:
        arguments = bytes.fromhex(called.data[2:])[SELECTOR:]
        amount, fee = read_uint(arguments, _AMOUNT), read_uint(arguments, _FEE)
        payment = fee_proxy.pay_erc20(
            request.network,
            token=currency.address,
            payee=request.payee,
            amount=amount,
            reference=bytes.fromhex(request.payment_reference[2:]),
            fee_amount=fee,
            fee_address=evm_address("0x" + arguments[_FEE_ADDRESS + 12 : _FEE_ADDRESS + WORD].hex()) if fee else None,
        )
    except (ValueError, BadRequest):
        return None
    is_same = same_address(called.target, payment.to) and called.data.lower() == payment.data.lower()
    is_enough = called.deposit.output_amount >= called.amount >= amount + fee
    return BaseUnits(amount) if is_same and is_enough and amount else None
