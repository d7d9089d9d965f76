"""Creates payouts and builds the transactions that pay them, alone or many in one."""

from collections.abc import Sequence
from dataclasses import replace

from chalicelib.base.errors import BadRequest, NotFound
from chalicelib.base.frozen import frozen
from chalicelib.base.money import Fee
from chalicelib.chains.catalogue.tokens import family_of
from chalicelib.checkout.payouts.rules import check_fits, check_for_wallets, check_together, check_unpaid
from chalicelib.checkout.pipeline import Prepared, prepare_checkout
from chalicelib.checkout.rules import Cart, PayOptions
from chalicelib.crosschain.service.payment_intents.locks import unlock_request
from chalicelib.payments.links.fees import rules as fees
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.payable import conversions
from chalicelib.payments.payable.rules import Owed, being_paid, check_payer
from chalicelib.payments.requests import flows as requests
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.creation import Draft
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import currency_of, remaining
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.ownership import Use, may, sees
from chalicelib.platform.own_accounts.flows import own_addresses
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.platform.storage.store import LARGEST_TRANSACTION


@frozen
class BatchDraft:
    """What is paid together, as sent: new requests, or stored ones by their ids; by whom, if that is known, and with
    which fee."""

    drafts: tuple[Draft, ...]
    request_ids: tuple[str, ...]
    payer: str | None
    fee: Fee


def pay_out(services: Services, owner: Owner, draft: Draft, options: PayOptions, fee: Fee) -> Prepared:
    """Creates a request and builds the transactions that pay it. One write, after everything was checked and read.

    Raises BadRequest with what to change, Forbidden if the client id may not create it, and RateUnavailable.
    """
    request = requests.payout(services, owner, draft)
    check_payer((request,), options.wallet, "payerWallet")
    return _create_and_pay(services, owner, (request,), options, fee)


def pay_batch(services: Services, owner: Owner, viewer: Viewer, draft: BatchDraft) -> Prepared:
    """Builds the one transaction that pays many requests through the batch contract, and any approvals before it.

    New requests are created after everything was checked and read, in one transaction for 48 of them. Stored ones are
    marked as being paid, in one transaction for 99. Raises as `pay_out`, and NotFound or Conflict for stored requests
    that the caller does not see or that have been paid.
    """
    if draft.request_ids:
        return _pay_stored(services, owner, viewer, draft)
    created = requests.payouts(services, owner, draft.drafts)
    check_together(created)
    check_payer(created, draft.payer, "payer")
    return _create_and_pay(services, owner, created, PayOptions(draft.payer), draft.fee, by_batch=True)


def _create_and_pay(
    services: Services,
    owner: Owner,
    created: Sequence[Request],
    options: PayOptions,
    requested: Fee,
    *,
    by_batch: bool = False,
) -> Prepared:
    fee, now = _fee_of(services, owner, created, requested), services.clock()
    owed = [Owed(being_paid(replace(each, payer=options.wallet), fee, now), each.amount, fee) for each in created]
    quotes = conversions.first_quotes(services, owed)
    positions = conversions.price_owed(services, owed, quotes)
    if by_batch:
        check_fits(positions)
    prepared = prepare_checkout(services, Cart(positions, by_batch=by_batch), options)
    requests.save_many(services, [each.request for each in owed], tuple(quotes.values()))
    return prepared


@retry_conflicts(3)
def _pay_stored(services: Services, owner: Owner, viewer: Viewer, draft: BatchDraft) -> Prepared:
    """Raises WriteConflict if the requests were changed three times meanwhile."""
    stored = _load(services, viewer, draft.request_ids)
    check_for_wallets(stored)
    check_unpaid(stored)
    check_together(stored)
    check_payer(stored, draft.payer, "payer")
    fee = _fee_of(services, owner, stored, draft.fee)
    owed = [Owed(request, remaining(request), fee) for request in stored]
    quotes, unwritten = conversions.renew_quotes(services, owed)
    positions = conversions.price_owed(services, owed, quotes)
    check_fits(positions)
    prepared = prepare_checkout(services, Cart(positions, by_batch=True), PayOptions(draft.payer))
    mine = [request for request in stored if may(owner, Use.CHANGE, request)]
    changed = [being_paid(request, fee, services.clock()) for request in mine]
    written = [*unwritten, *(new for new, old in zip(changed, mine, strict=True) if new != old)]
    for start in range(0, len(written), LARGEST_TRANSACTION):
        services.store.write(*written[start : start + LARGEST_TRANSACTION])
    return prepared


def _load(services: Services, viewer: Viewer, request_ids: Sequence[str]) -> list[Request]:
    """The requests in the given order. Raises BadRequest for one that is named twice or part of a link, NotFound for
    one that does not exist or is not visible to the viewer."""
    repeated = next((each for index, each in enumerate(request_ids) if each in request_ids[:index]), None)
    if repeated is not None:
        raise BadRequest(f"requestIds names {repeated} more than once")
    alone = request_store.standing_alone(services.store, request_ids)
    for request_id in request_ids:
        found = alone.get(request_id)
        if found is None or not sees(viewer, found):
            raise NotFound(f"Request {request_id} not found; requests of links are paid by their links")
    return [unlock_request(services, alone[request_id]) for request_id in request_ids]


def _fee_of(services: Services, owner: Owner, paid: Sequence[Request], requested: Fee) -> Fee:
    """The fee on all of them. Raises BadRequest, and Forbidden for what a limited client id may not pay or ask for."""
    family, own = family_of(currency_of(paid[0])), own_addresses(services)
    fee = fees.resolve(requested, owner.settings.fee, family, own)
    requests.check_limits(services, owner, paid, fee.address if fee.is_charged else None)
    requests.check_fee_addresses(services, ((request, fee) for request in paid))
    return fee
