"""Reads what became of transactions that were sent to pay a link."""

from collections.abc import Iterable, Sequence

from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.links.sent_transactions import MAX_ASKED, Outcome, SentOutcome, is_surplus, shown_hash
from chalicelib.payments.requests import list_names
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import Direction, Payment, PaymentStatus
from chalicelib.platform.services import Services
from chalicelib.platform.storage.pages import Listing, page_after

_MAX_OTHERS = 4
"""The most transactions of others that paid too much that are looked up."""
_MAX_LISTED = 250
"""The most payments by one transaction that are read: a link has fewer requests."""


def find_outcomes(services: Services, payable: PayableLink, asked: Sequence[str]) -> tuple[SentOutcome, ...]:
    """What became of the transactions that somebody asks for, and those of others that paid too much.

    One query for each, at most MAX_ASKED and four. A multicall has to be given the requests of its children.
    """
    if not payable.requests:
        return ()
    network = payable.requests[0].network
    own = dict.fromkeys(shown_hash(network, each.lower()) for each in asked[:MAX_ASKED])
    others = dict.fromkeys(each.surplus_hash for each in payable.requests if each.surplus_hash not in (None, *own))
    found = [_outcome(services, payable, network, each) for each in own]
    outcomes = [_outcome(services, payable, network, each) for each in [*others][:_MAX_OTHERS] if each is not None]
    return (*found, *(each for each in outcomes if each.outcome is Outcome.SURPLUS))


def _outcome(services: Services, payable: PayableLink, network: str, tx_hash: str) -> SentOutcome:
    requests = {each.request_id: each for each in payable.requests}
    made = [
        each for each in _payments_of(services, payable, network, tx_hash) if each.status is PaymentStatus.CONFIRMED
    ]
    made = [each for each in made if each.request_id in requests and each.network == network]
    surplus = next((each for each in made if is_surplus(requests[each.request_id], each)), None)
    if surplus is not None:
        return SentOutcome(tx_hash, network, Outcome.SURPLUS, requests[surplus.request_id], surplus.excess)
    return SentOutcome(tx_hash, network, Outcome.COUNTED if made else Outcome.UNKNOWN)


def _payments_of(services: Services, payable: PayableLink, network: str, tx_hash: str) -> Iterable[Payment]:
    """The payments by a transaction; for several requests from a list, which may lag by about a second."""
    if len(payable.requests) == 1:
        return payment_store.payments_by(services.store, payable.requests[0].request_id, network, tx_hash)
    found = Listing(payable.link.account_id, list_names.PAYMENT, {"by_tx": list_names.transaction(tx_hash)})
    listed = page_after(services.store, Payment, found, None, _MAX_LISTED).records
    return [each for each in listed if each.direction is Direction.IN]  # refunds are in the same list
