"""Builds the transactions that pay a request, and finds the routes by which it can be paid."""

from chalicelib.base.errors import BadRequest, Conflict, Locked
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits, Fee
from chalicelib.chains.catalogue.networks import require_network
from chalicelib.chains.catalogue.tokens import Token, dollar, token_with_id
from chalicelib.checkout import flows as checkout
from chalicelib.checkout.pipeline import Prepared, prepare_checkout
from chalicelib.checkout.requests.rules import Part, amount_due, fee_of, seconds_to_confirm
from chalicelib.checkout.rules import Cart, PayOptions, check_creator
from chalicelib.crosschain.service.payment_intents import flows as payment_intents
from chalicelib.crosschain.service.payment_intents.flows import Offer
from chalicelib.crosschain.service.payment_intents.locks import unlock_request
from chalicelib.crosschain.service.sources.balances import Choice, choices
from chalicelib.crosschain.service.sources.rules import payer_of, source_for
from chalicelib.gasless import flows as gasless
from chalicelib.gasless.records import GaslessPayment
from chalicelib.offramp.service import flows as offramp
from chalicelib.offramp.service.rules import NO_ACCOUNT, ChosenAccount, check_unchosen
from chalicelib.payments.links.errors import LinkAwaitingChain, LinkClosed
from chalicelib.payments.links.flows import require_payable
from chalicelib.payments.links.reading import Viewer, load_request
from chalicelib.payments.links.records import Link, Payable, PayableLink
from chalicelib.payments.payable import conversions
from chalicelib.payments.payable.rules import Owed, being_paid, check_payer
from chalicelib.payments.rates.flows import current_or_none
from chalicelib.payments.rates.rules import value_of
from chalicelib.payments.requests import flows as requests
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import currency_of, remaining
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.ownership import Use, may
from chalicelib.platform.own_accounts.flows import own_addresses
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry


@frozen
class DirectRoute:
    """The payment of a request on its own network and in its own token, with what it costs.

    `network_fee` is an estimate at the present gas price, in base units of the native coin. The fees in dollars have 8
    decimals; they are None where no rate can be had.
    """

    prepared: Prepared
    seconds: int
    network_fee: BaseUnits
    network_fee_in_dollars: BaseUnits | None
    platform_fee: BaseUnits
    platform_fee_in_dollars: BaseUnits | None


def pay(
    services: Services,
    name: str,
    owner: Owner,
    viewer: Viewer,
    options: PayOptions,
    part: Part,
    account: ChosenAccount = NO_ACCOUNT,
) -> Prepared | Offer | GaslessPayment:
    """The transactions that pay a request, or a part of it; `name` is its id or its payment reference.

    The first call stores that the request is being paid, and a later one another fee: at most one write. With a chosen
    bank account they pay the off-ramp provider, whose order is made by the first call (offramp/service/flows.py).
    Raises NotFound, Conflict if nothing is left to pay, what `require_payable` raises if it is part of a link,
    BadRequest for options that it does not support, Forbidden for a fee that a limited client id may not ask for, and
    RateUnavailable.

    Where the credential has payments from another chain signed, it is an offer to sign one, and no transactions; so it
    is with `options.is_gasless`, for a payment on the request's own chain.
    """
    loaded, payable = load_request(services, name, viewer)
    if isinstance(payable, PayableLink) and payable.commerce is not None:
        if part.amount is not None or part.fee.is_charged:
            raise BadRequest("A commerce payment is authorized as a whole, and its fee is taken from what is captured")
        return checkout.pay_by_escrow(services, payable, options)
    cart = _cart_of(services, loaded, payable, owner, options, part, account)
    (position,) = cart.positions
    owed, source = position.owed, source_for(position.due.token, options.source)
    made: Prepared | Offer | GaslessPayment
    if options.is_gasless:
        made = gasless.offer(services, owner, position, options.wallet)
    elif source is not None and owner.uses_payment_intents:
        made = payment_intents.offer(services, owner, position, source, payer_of(options.wallet, None))
    else:
        made = prepare_checkout(services, cart, options)
    if payable.link is None and may(owner, Use.CHANGE, owed.request):
        _store_fee(services, owed.request, owed.fee)
    return made


def direct_route(
    services: Services, name: str, owner: Owner, viewer: Viewer, wallet: str, part: Part
) -> DirectRoute | None:
    """How `wallet` can pay a request; None if it is paid, expired or locked, if its bank account is not chosen,
    or if it is paid through the escrow. Raises as `prepare_checkout`."""
    loaded, payable = load_request(services, name, viewer)
    if payable.commerce is not None:
        return None
    try:
        options = PayOptions(wallet)
        made = prepare_checkout(services, _cart_of(services, loaded, payable, owner, options, part, None), options)
    except (Conflict, Locked, LinkClosed, LinkAwaitingChain):
        return None
    (position,) = made.cart.positions
    owed, holdings = position.owed, made.holdings
    chain = require_network(owed.request.network)
    assert holdings is not None, "the wallet was read"
    network_fee = BaseUnits(made.checkout.gas * holdings.gas_price)
    platform_fee = owed.fee.on(position.converted.payment_amount if position.converted else position.due.amount)
    coin = token_with_id(chain.native_currency_id) if chain.native_currency_id else None
    return DirectRoute(
        prepared=made,
        seconds=seconds_to_confirm(chain, services.settings.confirmations.get(chain.name, chain.confirmations)),
        network_fee=network_fee,
        network_fee_in_dollars=_in_dollars(services, coin, network_fee),
        platform_fee=platform_fee,
        platform_fee_in_dollars=_in_dollars(services, owed.token, platform_fee) if platform_fee else None,
    )


def routes(
    services: Services, name: str, owner: Owner, viewer: Viewer, wallet: str, part: Part
) -> tuple[DirectRoute | None, tuple[Choice, ...]]:
    """Every route by which `wallet` can pay a request: the direct one, and those from other chains. None, and none of
    them, as for `direct_route`. Raises as `prepare_checkout`."""
    direct = direct_route(services, name, owner, viewer, wallet, part)
    return direct, choices(services, direct.prepared.cart.positions[0], wallet) if direct is not None else ()


def _cart_of(
    services: Services,
    stored: Request,
    payable: Payable,
    owner: Owner,
    options: PayOptions,
    part: Part,
    account: ChosenAccount | None,
) -> Cart:
    """What is due of a request now.

    `account` is None if nothing is to be paid yet: then no bank account is chosen.
    """
    request = unlock_request(services, stored)
    if isinstance(payable, PayableLink):
        require_payable(services, payable)
    amount, is_capped = amount_due(request, part.amount)
    if account is not None:
        request = _with_account(services, owner, request, account)
    elif not request.payee:
        raise Conflict("The bank account to which this request is paid out is not chosen yet")
    fee = fee_of(request, payable.link, part.fee, owner.settings.fee, own_addresses(services))
    _check_options(request, payable.link, options)
    if payable.link is None and fee.is_charged:
        requests.check_limits(services, owner, (), fee.address)
    requests.check_fee_addresses(services, [(request, fee)])
    return Cart(conversions.due(services, [Owed(request, amount, fee)]), payable, is_capped=is_capped)


def _with_account(services: Services, owner: Owner, request: Request, account: ChosenAccount) -> Request:
    """The request with the payee that is paid now: of an off-ramp order, the provider's deposit address."""
    if not request.is_crypto_to_fiat:
        check_unchosen(account)
        return request
    (position,) = conversions.due(services, [Owed(request, remaining(request), Fee())])
    amount = position.converted.payment_amount if position.converted else position.due.amount
    return offramp.for_bank_account(services, owner, request, account, amount)


def _check_options(request: Request, link: Link | None, options: PayOptions) -> None:
    check_payer((request,), options.wallet, "wallet")
    if source_for(currency_of(request), options.source) is not None:
        payer_of(options.wallet, None)
    if link is not None:
        check_creator(options, link)


def _store_fee(services: Services, request: Request, fee: Fee) -> None:
    """Stores since when a request is being paid, and the fee of its newest calldata.

    Raises WriteConflict after five conflicts.
    """

    def store(known: Request) -> None:
        changed = being_paid(known, fee, services.clock())
        if changed != known:
            services.store.write(changed)

    # Again if a payment was recorded meanwhile, or somebody else has asked for calldata.
    retry(5, store, request, lambda: request_store.request(services.store, request.request_id) or request)


def _in_dollars(services: Services, token: Token | None, units: BaseUnits) -> BaseUnits | None:
    """What an amount of a token is worth in dollars, with 8 decimals; None if no rate can be had."""
    rate = current_or_none(services, dollar(), token) if token is not None else None
    return value_of(units, rate, dollar(), token) if token is not None and rate is not None else None
