"""What a payer sees of a link and signs to pay it, for every kind of link."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from chalicelib.accounts.branding.records import PageBranding
from chalicelib.accounts.domains import flows as domains
from chalicelib.accounts.domains.rules import Merchant
from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata import checkout as checkout_calldata
from chalicelib.chains.calldata.checkout import Checkout
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.calldata.wallets import safe
from chalicelib.chains.calldata.wallets.safe import SafeTransaction
from chalicelib.chains.nodes.accounts.balances import TokenReading, WalletReading
from chalicelib.checkout.approvals import payments_of, read_and_build
from chalicelib.checkout.crosschain.step_ids import Step, check_step
from chalicelib.checkout.pipeline import Prepared, prepare_checkout
from chalicelib.checkout.rules import Cart, PayOptions, check_options, is_batched
from chalicelib.commerce.core.rules import CommerceStatus
from chalicelib.commerce.service.payer_calls import PayersCall, check_open, pre_approval_of, reclaim_of
from chalicelib.commerce.service.reading import status_now
from chalicelib.crosschain.service.sources.balances import Sources, read_sources
from chalicelib.crosschain.service.sources.rules import is_offered
from chalicelib.payments.links.errors import LinkCompleted
from chalicelib.payments.links.flows import check_fee_addresses, require_open, require_payable
from chalicelib.payments.links.multicalls import reading as multicall_reading
from chalicelib.payments.links.multicalls.rules import MulticallDetails
from chalicelib.payments.links.outcomes import find_outcomes
from chalicelib.payments.links.reading import Viewer, load_visible
from chalicelib.payments.links.records import Flow, Link, LinkStatus, PayableLink, PaymentType
from chalicelib.payments.links.rules import check_payable
from chalicelib.payments.links.sent_transactions import SentOutcome, warnings
from chalicelib.payments.payable import conversions
from chalicelib.payments.payable.rules import Owed, Position, amounts_owed, check_family, direct, whole_of
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.gasless.records import GaslessPayment

PRE_APPROVAL_GAS = 80_000
"""An upper estimate of the pre-approval for the escrow."""
RECLAIM_GAS = 120_000
"""An upper estimate of taking back what is held."""


@frozen
class Description:
    """What a payer sees of a link. `multicall` is set for multicalls. With a wallet `positions` are set, and `sources`
    for a link that can be paid from several chains, else `checkout` and `holdings`. `commerce` is where the money of a
    commerce payment is. `sent` are transactions that were sent to pay it, with what became of them. `is_gasless` if it
    may be paid without gas (gasless/flows.py)."""

    payable: PayableLink
    multicall: MulticallDetails | None = None
    positions: tuple[Position, ...] = ()
    checkout: Checkout | None = None
    holdings: WalletReading | None = None
    sources: Sources | None = None
    branding: PageBranding | None = None
    merchant: Merchant | None = None
    commerce: CommerceStatus | None = None
    sent: tuple[SentOutcome, ...] = ()
    is_gasless: bool = False


def describe(
    services: Services, token: str, viewer: Viewer, wallet: str | None, asked: Sequence[str] = ()
) -> Description:
    """A payable link with branding and merchant (one read or two), and what `wallet` holds if one is given: one call to
    the node, or to that of each chain from which it can be paid. On Tron a fallback that holds nothing takes the place
    of no wallet.

    A multicall is described even if it cannot be paid, with the block reason of each child, until all are paid. So is a
    commerce payment once the escrow has taken its money: the payer has nothing to pay, and sees where the money is.
    `asked` are hashes of transactions whose outcomes are shown once the link is paid (payments/links/outcomes.py).
    Raises what `require_payable` raises, for a multicall only LinkCompleted and LinkLocked.

    The payment page asks again and again whether the link is paid, and so may learn it a second late; what is signed is
    made of what is stored now (`pay`).
    """
    payable = load_visible(services, token, viewer, may_lag=viewer.reads_any_link and wallet is None)
    details = None
    is_collected = payable.commerce is not None and payable.commerce.is_collected
    if payable.link.payment_type is PaymentType.MULTICALL:
        details = multicall_reading.details(services, payable)
        is_settled = details.status is LinkStatus.COMPLETED
        link = replace(payable.link, status=LinkStatus.COMPLETED) if is_settled else payable.link
        whole = replace(payable, link=link, requests=details.requests)
        _with_outcomes(services, require_open, whole, asked)
    elif not is_collected:
        _with_outcomes(services, require_payable, payable, asked)
    description = _with_looks(services, Description(payable, details, sent=warnings(payable)))
    if payable.commerce is not None:
        check_open(services, payable, payable.commerce)
        description = replace(description, commerce=status_now(services, payable.commerce))
    if details is not None or is_collected:
        return description
    description = replace(description, is_gasless=_is_gasless(services, viewer, payable))
    owed = amounts_owed((payable,))
    if wallet is None:
        return _without_wallet(description, owed)
    check_family(owed[0].token.network, wallet, "wallet")
    positions = conversions.due(services, owed)
    is_single = payable.link.payment_type is PaymentType.SINGLE and payable.commerce is None
    if is_single and services.router.is_configured and is_offered(positions[0]):
        return replace(description, positions=positions, sources=read_sources(services, wallet))
    chain, batched = services.chains.of(owed[0].token.network), is_batched(payable.link)
    holdings, checkout = read_and_build(chain, [each.due for each in positions], wallet, batched=batched)
    return replace(description, positions=positions, checkout=checkout, holdings=holdings)


def _is_gasless(services: Services, viewer: Viewer, payable: PayableLink) -> bool:
    """Whether a link may be paid without gas; of most networks it needs no module to say so."""
    if payable.requests[0].network not in services.settings.relayer_keys:
        return False
    from chalicelib.gasless.flows import is_offered as is_offered_without_gas

    return is_offered_without_gas(services, viewer, payable)


def _without_wallet(description: Description, owed: Sequence[Owed]) -> Description:
    """The description with a fallback wallet on Tron, where `wallet` is optional: one that has nothing, which needs no
    call to a node. Nothing changes on other networks, nor for what is converted: no rate is held without a payer."""
    if owed[0].token.network != "tron" or any(each.invoice != each.token for each in owed):
        return description
    positions = tuple(direct(each) for each in owed)
    nothing = TokenReading(BaseUnits(0), BaseUnits(0))
    holdings = WalletReading(BaseUnits(0), {each.token.address: nothing for each in owed}, BaseUnits(0))
    checkout = payments_of([each.due for each in positions], 0, batched=is_batched(description.payable.link))
    return replace(description, positions=positions, checkout=checkout, holdings=holdings)


def preview(services: Services, payable: PayableLink) -> Description:
    """What a payer without a wallet would see of a link that is not stored. One read or two."""
    return _without_wallet(_with_looks(services, Description(payable)), amounts_owed((payable,)))


def _with_looks(services: Services, description: Description) -> Description:
    """With branding and merchant: one read or two."""
    link = description.payable.link
    branding, merchant = domains.of_page(services, link.client_id, link.has_known_payees)
    if link.flow is Flow.PAY:
        merchant = None  # the client id is the payer's, and not that of who is paid
    return replace(description, branding=branding, merchant=merchant)


def _with_outcomes(
    services: Services,
    require: Callable[[Services, PayableLink], None],
    payable: PayableLink,
    asked: Sequence[str],
) -> None:
    """Raises what `require` raises, LinkCompleted with what became of the transactions that were `asked` for."""
    try:
        require(services, payable)
    except LinkCompleted as error:
        error.sent = find_outcomes(services, payable, asked)
        raise


def pay(services: Services, token: str, viewer: Viewer, options: PayOptions) -> Prepared:
    """The transactions that pay the remaining amount of a link. Without a wallet, allowances are assumed to be zero.

    Raises BadRequest for options that the link does not support, WrongWallet if a payout would be paid by another
    wallet than its creator's, MulticallRefused if a child cannot be paid, RateUnavailable if what is owed cannot be
    converted now, what `require_payable` raises, and for a commerce payment as `pay_by_escrow`.
    """
    return _pay(services, load_visible(services, token, viewer), options)


def pay_gasless(services: Services, token: str, viewer: Viewer, options: PayOptions) -> "GaslessPayment":
    """The payment of what is left of a link that its payer signs and the service makes, for the network's gas in the
    token. What was announced with the reader's own secret locks it for them, too: this cannot be taken back.

    Raises as `pay`, and as `offer_for_link` of gasless/flows.py.
    """
    from chalicelib.gasless import flows as gasless  # loaded by those alone who pay so

    payable = load_visible(services, token, replace(viewer, announcer=None)).without_claim_of(viewer.announcer)
    gasless.check_kind(payable)
    require_payable(services, payable)
    check_options(options, payable.link, (payable,), amounts_owed((payable,)))
    check_fee_addresses(services, (payable,))
    return gasless.offer_for_link(services, viewer, payable, options.wallet)


def reclaim(services: Services, token: str, viewer: Viewer, options: PayOptions) -> Prepared:
    """The one transaction with which the payer of a commerce payment takes back what is held, whatever its link's
    status. One call to the node.

    Raises NotFound, BadRequest for a link that is not a commerce payment, and as `reclaim_of`.
    """
    payable = load_visible(services, token, viewer)
    if payable.commerce is None:
        raise BadRequest("This link is not a commerce payment: there is nothing in escrow to take back")
    made = reclaim_of(services, payable.commerce, options.wallet)
    return _prepare_call(services, payable, made, BaseUnits(0), RECLAIM_GAS, options)


def refresh_step(
    services: Services, token: str, viewer: Viewer, step_id: str, to_chain_id: int, to_address: str
) -> Prepared:
    """The transactions of a route of a link, quoted anew once its quote has expired. Raises as `pay`, and BadRequest
    for a step that is not this link's."""
    payable, step = load_visible(services, token, viewer), Step.parse(step_id)
    check_step(step, payable, to_chain_id, to_address)
    return _pay(services, payable, step.options)


def pay_by_escrow(services: Services, payable: PayableLink, options: PayOptions) -> Prepared:
    """The approval and the pre-approval with which a wallet lets the escrow take all of a commerce payment, never a
    payment by a fee proxy; the buyer's wallet if none is named.

    One read and one write at most, and the calls to the node of `prepare_checkout`. Raises as `pay`, Conflict if it is
    authorized already, and BadRequest for options that it does not support.
    """
    require_payable(services, payable)
    assert payable.commerce is not None, "it is paid through the escrow"
    if options.source is not None or options.eoa_wallet is not None:
        raise BadRequest("A commerce payment is made by one wallet on its own network: omit chain, token and eoaWallet")
    made = pre_approval_of(services, payable, options.wallet)
    return _prepare_call(services, payable, made, payable.commerce.max_amount, PRE_APPROVAL_GAS, options)


def _prepare_call(
    services: Services, payable: PayableLink, made: PayersCall, debit: BaseUnits, gas: int, options: PayOptions
) -> Prepared:
    """A call of the payer that takes at most `debit` from its wallet, with the approvals that this needs."""
    (position,) = (direct(each) for each in whole_of(payable))
    call = Checkout(made.transaction.to, {position.due.token: debit}, (made.transaction,), gas)
    return prepare_checkout(services, Cart((position,), payable, call=call), replace(options, wallet=made.payer))


def _pay(services: Services, payable: PayableLink, options: PayOptions) -> Prepared:
    if payable.commerce is not None:
        return pay_by_escrow(services, payable, options)
    link, parts = payable.link, _payable_parts(services, payable, partial(require_payable, services))
    owed = amounts_owed(parts)
    check_options(options, link, parts, owed)
    check_fee_addresses(services, parts)
    children = parts if link.payment_type is PaymentType.MULTICALL else ()
    cart = Cart(conversions.due(services, owed), payable, children, is_batched(link))
    return prepare_checkout(services, cart, options)


def signable_transactions(services: Services, token: str, viewer: Viewer, wallet: str) -> tuple[Transaction, ...]:
    """Every transaction that `wallet` can sign to pay a link on Tron: approvals of zero and of the whole debit, for any
    allowance that it has now, and the payments; with a quoted rate, by each quote that is valid now. No call to a node.

    Raises BadRequest for a link on another network, and as `pay` if the link cannot be paid.
    """
    payable = load_visible(services, token, viewer)
    now = services.clock()
    parts = _payable_parts(services, payable, lambda checked: check_payable(checked, now))
    owed = amounts_owed(parts)
    if owed[0].token.network != "tron":
        raise BadRequest(f"This link is paid on {owed[0].token.network}: only transactions on tron are broadcast here")
    check_options(PayOptions(wallet), payable.link, parts, owed)
    found: list[Transaction] = []
    for quotes in conversions.valid_quotes(services, owed):
        dues = [each.due for each in conversions.price_owed(services, owed, quotes)]
        checkout = payments_of(dues, 0, batched=is_batched(payable.link))
        resets = frozenset(token.address for token in checkout.debits)
        found += checkout_calldata.with_approvals(checkout, {}, resets).transactions
    return tuple(found)


def safe_transactions(services: Services, link: Link, parts: Sequence[PayableLink]) -> tuple[SafeTransaction, ...]:
    """Every transaction that `/pay` can return for a Safe to pay the remaining amounts of `parts`, whatever its
    allowances are; one without approvals also as a plain call. One call to the node if the link is a batch.

    None if something is converted: what `/pay` returned depends on the rate at that time.
    """
    owed = amounts_owed(parts)
    if not owed or any(each.invoice != each.token for each in owed):
        return ()
    name, batched = owed[0].token.network, is_batched(link)
    dues = [direct(each).due for each in owed]
    paid = payments_of(dues, services.chains.of(name).read_batch_fee() if batched else 0, batched=batched)
    resets = frozenset(token.address for token in paid.debits if not token.is_native)
    approved = (checkout_calldata.with_approvals(paid, {}), checkout_calldata.with_approvals(paid, {}, resets))
    bundles = [safe.bundle(name, each.transactions) for each in (paid, *approved)]
    only = paid.transactions[0] if len(paid.transactions) == 1 else None
    return tuple(dict.fromkeys([*bundles, *([SafeTransaction(only.to, only.value, only.data, 0)] if only else [])]))


def _payable_parts(
    services: Services, payable: PayableLink, check: Callable[[PayableLink], None]
) -> tuple[PayableLink, ...]:
    """The links that are paid: the link itself, or the children of a multicall. `check` raises if it cannot be paid."""
    if payable.link.payment_type is PaymentType.MULTICALL:
        return multicall_reading.payable_children(services, payable, check)
    check(payable)
    return (payable,)
