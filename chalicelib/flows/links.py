"""A link's life before it is paid: create it, read it, take the calldata, let it expire."""

from dataclasses import dataclass, replace
from datetime import timedelta

from chalicelib.aws.store import WriteConflict
from chalicelib.aws.tables import PAYMENTS, Key, Reference, link_key
from chalicelib.calldata import erc20
from chalicelib.calldata.checkout import Checkout, build_checkout, spender_of
from chalicelib.core.destinations import parse_destination_id
from chalicelib.core.errors import BadRequest, NotFound
from chalicelib.core.link_creation import Draft, Owner, Terms, check_creator, create_link
from chalicelib.core.links import (
    Link,
    LinkStatus,
    Request,
    SecurePayment,
    amount_with_fee,
    check_payable,
    remaining,
    status_at,
)
from chalicelib.core.references import reference_topic
from chalicelib.core.sources import Source, check_source
from chalicelib.core.tokens import Token, token_with_id
from chalicelib.flows import destinations, sweeping
from chalicelib.net.evm import EvmChain, WalletReading
from chalicelib.services import Services

_LONGEST_TOKEN = 64
_EXPIRY_BATCH = 100


@dataclass(frozen=True)
class Quote:
    """What a payer is given: the transactions, and what the wallet held when they were built."""

    payment: SecurePayment
    checkout: Checkout
    wallet: WalletReading | None


def create(services: Services, owner: Owner, draft: Draft) -> SecurePayment:
    """Writes the link, its request and the reference that leads to it. One transaction.

    One read before it when the owner's client id is bound to a payee destination.
    """
    terms = Terms(
        lifetime=timedelta(seconds=services.settings.link_lifetime_seconds),
        strict_checksum=services.settings.interop_checksum == "strict",
    )
    record_id = owner.settings.payee_destination_id
    kept = destinations.bound_to(services, owner.account_id, record_id) if record_id else None
    bound = kept.route if kept else None
    check_creator(owner, bound)
    payment = create_link(draft, owner, terms, services.clock(), services.entropy, bound)
    for item in draft.items:
        if item.destination_id and not parse_destination_id(item.destination_id, strict=False).checksum_ok:
            services.log.warning("wrong checksum in a destination id", extra={"destination_id": item.destination_id})
    for request in payment.requests:
        if request.network not in services.chains.networks:
            raise BadRequest(f"This deployment does not serve {request.network}: payments there would not be seen")
        _refuse_contract_fee(services, payment.link, request)
    references = (
        Reference(reference_topic(bytes.fromhex(r.payment_reference[2:])), r.link_token, r.position)
        for r in payment.requests
    )
    services.store.write(payment.link, *payment.requests, *references)
    return payment


def load_owned(services: Services, token: str, account_id: str, client_id: str | None) -> SecurePayment:
    """The link of this account; one read. Another tenant's link is as unknown as one that never was: NotFound.

    Within an account, a caller with a client id sees the links of that client id and those made without one.
    """
    payment = load(services, token)
    if payment is None or payment.link.account_id != account_id:
        raise NotFound("Secure payment not found")
    if client_id is not None and payment.link.client_id not in (client_id, None):
        raise NotFound("Secure payment not found")
    return payment


def load(services: Services, token: str) -> SecurePayment | None:
    """A link with its requests, in one read."""
    if len(token) > _LONGEST_TOKEN:
        return None
    kinds = {"LINK": Link, "REQUEST": Request}
    records = services.store.query_mixed(kinds, PAYMENTS, link_key(token).pk)
    return SecurePayment(records[0], tuple(records[1:])) if records else None


def describe(
    services: Services, token: str, account_id: str, client_id: str | None, wallet: str | None
) -> tuple[SecurePayment, WalletReading | None]:
    """A payable link, and the balances of `wallet` when one is given (one multicall)."""
    payment = load_owned(services, token, account_id, client_id)
    check_payable(payment, services.clock())
    return payment, _read_wallet(services, payment.requests[0], wallet) if wallet else None


def quote(
    services: Services, token: str, account_id: str, client_id: str | None, wallet: str | None, source: Source | None
) -> Quote:
    """The transactions that pay what is left of a link. Without a wallet no allowance is assumed."""
    payment = load_owned(services, token, account_id, client_id)
    check_payable(payment, services.clock())
    request = payment.requests[0]
    currency = currency_of(request)
    if source is not None:
        check_source(request, currency, source)
    chain = services.chains.of(request.network)
    _refuse_contract_fee(services, payment.link, request)
    if wallet is None:
        return Quote(payment, build_checkout(request, payment.link, currency), None)
    reading = _read_wallet(services, request, wallet)
    debit = amount_with_fee(remaining(request), payment.link)
    reset = 0 < reading.allowance < debit and _refuses_approval(
        chain, wallet, currency, debit
    )
    checkout = build_checkout(request, payment.link, currency, reading.allowance, reset)
    return Quote(payment, checkout, reading)


def expire_due(services: Services) -> int:
    """Writes `expired` on links whose time has passed; returns how many. Readers decide by the clock regardless."""
    now = services.clock()

    def expire(key: Key) -> bool:
        link = services.store.get(Link, key)
        if link is None or link.status is not LinkStatus.PENDING or status_at(link, now) is not LinkStatus.EXPIRED:
            return False
        try:
            services.store.write(replace(link, status=LinkStatus.EXPIRED))
        except WriteConflict:
            return False  # a payment came first; the next sweep looks again
        return True

    return sweeping.each(services, services.store.due(PAYMENTS, now, _EXPIRY_BATCH), expire)


def currency_of(request: Request) -> Token:
    """The token a stored request is paid in."""
    found = token_with_id(request.currency)
    assert found is not None, "a stored request always has a catalogued currency"
    return found


def _read_wallet(services: Services, request: Request, wallet: str) -> WalletReading:
    currency = currency_of(request)
    chain = services.chains.of(request.network)
    return chain.read_wallet(wallet, None if currency.is_native else currency.address, spender_of(currency))


def _refuses_approval(chain: EvmChain, wallet: str, currency: Token, debit: int) -> bool:
    """Whether the token refuses to change an allowance that is not zero, as USDT on mainnet does: asked, not listed."""
    grant = erc20.approve(currency.address, spender_of(currency), debit)
    return chain.would_revert(wallet, grant.to, grant.data)


def _refuse_contract_fee(services: Services, link: Link, request: Request) -> None:
    """The native proxy pays the fee with 2,300 gas, so a contract as fee address makes every payment revert."""
    if link.fee_percentage is None or link.fee_address is None or not currency_of(request).is_native:
        return
    if amount_with_fee(request.amount, link) == request.amount:
        return
    if services.chains.of(request.network).has_code(link.fee_address):
        raise BadRequest(
            f"feeAddress is a contract, which cannot receive a fee in {request.currency}: give a wallet address"
        )
