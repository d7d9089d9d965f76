"""Rules of plain transfers: which requests get an address for them, what it is made of, and how much is sent to it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from chalicelib.base.addresses import hex_address
from chalicelib.base.errors import BadRequest, Forbidden
from chalicelib.base.money import BaseUnits, Fee
from chalicelib.chains.calldata.plain_transfers import PlainTransferTerms, plain_transfer_address
from chalicelib.chains.catalogue.recipients import OwnAddresses, parse_recipient
from chalicelib.chains.catalogue.tokens import Token, family_of
from chalicelib.payments.requests.field_problems import Path, refuse_field
from chalicelib.payments.requests.plain_transfers.records import PlainTransfer, WatchedAddress
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.references import reference_topic
from chalicelib.payments.requests.rules import currency_of, remaining
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.modes import Mode

WATCHED_FOR = timedelta(days=90)
FIELD = "plainTransfer"
MOST_ON_NETWORK = 5_000
"""The most addresses of a network: each tick asks for the transfers of all, 500 in a request."""
OF_EACH, ACCOUNTS = 20, 50
"""So many addresses of a network are kept for each of so many accounts: anybody can open accounts, and a few of them
would else have all of them for months."""
MOST_OF_ACCOUNT = 500
MOST_PUBLIC = 50
"""The most of an account's addresses on a network that client ids alone have created."""


def check_may_ask(owner: Owner) -> None:
    """Raises Forbidden for a client id that is sent alone: each address is watched, and the id is public."""
    if owner.mode is Mode.CLIENT_ID:
        raise Forbidden(
            "This client ID alone gets no addresses for plain transfers, which the service has to watch: send an "
            "x-api-key. The owner can have every payment get one by plainTransfers of PUT /v1/account"
        )


def none_left(counts: Counter[tuple[str, bool]], account_id: str, is_public: bool) -> str | None:
    """Why no more addresses are watched on a network for an account; None if they are."""
    public = counts[account_id, True]
    own = public + counts[account_id, False]
    if is_public and public >= MOST_PUBLIC:
        return f"{MOST_PUBLIC} addresses on this network that client IDs alone created are the most of an account"
    if own >= MOST_OF_ACCOUNT:
        return f"{MOST_OF_ACCOUNT} addresses on one network are the most of an account"
    most = MOST_ON_NETWORK if own < OF_EACH else MOST_ON_NETWORK - OF_EACH * ACCOUNTS
    if counts.total() >= most:
        return f"{most} addresses are the most of this network for an account that has {own} of them"
    return None


def with_address(request: Request, fee: Fee, path: Path, own: OwnAddresses, *, is_public: bool = False) -> Request:
    """The request with an address for plain transfers. `fee` is what each payment from it pays, for its whole amount;
    `own` are addresses that receive nothing (`parse_recipient`).

    Raises ValidationFailed, which says why it cannot have one.
    """
    reason = refusal(request)
    if reason is not None:
        raise refuse_field((*path, FIELD), reason)
    charged = fee.on(request.amount)
    receiver = _receiver(fee, currency_of(request), own) if charged else None
    terms = _terms(request, charged, receiver)
    until = request.created_at + WATCHED_FOR
    made = PlainTransfer(plain_transfer_address(terms), until, charged, receiver, is_public)
    return replace(request, plain_transfer=made)


def refusal(request: Request) -> str | None:
    """Why a request cannot have an address for plain transfers; None if it can."""
    token = currency_of(request)
    if family_of(token) != "evm":
        return f"is not offered on {request.network}: choose a token on another network, or leave it out"
    if token.is_native:
        return f"is not offered in {token.symbol}: exchanges send coins with too little gas for a contract. Use a token"
    if request.invoice_currency is not None:
        return "needs an amount in the token that is paid: give the same invoiceCurrency and paymentCurrency"
    if request.is_crypto_to_fiat:
        return "cannot be given with isCryptoToFiatAvailable, where the payee is known later"
    if request.recurrence is not None:
        return "cannot be given with recurrence: create a request for each payment"
    return None


def terms_of(request: Request) -> PlainTransferTerms:
    """What the address of a request is made of. The request has one."""
    own = request.plain_transfer
    assert own is not None, "only a request with an address for plain transfers has terms of it"
    return _terms(request, own.fee_amount, own.fee_address)


def watched_address_of(request: Request) -> WatchedAddress | None:
    """What finds the transfers of a request's address; None if it has none."""
    own = request.plain_transfer
    if own is None:
        return None
    return WatchedAddress(
        network=request.network,
        address=hex_address(own.address),
        topic=reference_topic(bytes.fromhex(request.payment_reference[2:])),
        token_address=hex_address(currency_of(request).address),
        payee=hex_address(request.payee),
        watched_until=own.watched_until,
        account_id=request.account_id,
        is_public=own.is_public,
    )


def amount_to_send(request: Request) -> BaseUnits:
    """What has to arrive at the address of a request, so that it is paid: what is left, and the fee."""
    left, own = remaining(request), request.plain_transfer
    return BaseUnits(left + own.fee_amount) if left and own is not None else BaseUnits(0)


def agree_on_each(answers: Sequence[Sequence[BaseUnits | None]]) -> tuple[BaseUnits | None, ...]:
    """What all nodes say alike is at each address, of answers of equal length; None of one where they differ."""
    each_said = zip(*answers, strict=True)
    return tuple(said[0] if len(set(said)) == 1 else None for said in each_said)


def _receiver(fee: Fee, token: Token, own: OwnAddresses) -> str:
    assert fee.address is not None, "a fee is charged only with an address"
    try:
        return parse_recipient(fee.address, family_of(token), own)
    except BadRequest as error:
        raise BadRequest(f"feeAddress: {error.message}") from None


def _terms(request: Request, fee_amount: BaseUnits, fee_address: str | None) -> PlainTransferTerms:
    return PlainTransferTerms(
        network=request.network,
        payee=request.payee,
        token=currency_of(request).address,
        reference=bytes.fromhex(request.payment_reference[2:]),
        fee_amount=fee_amount,
        fee_address=fee_address,
    )
