"""What must be true of what is stored, beside the truth that only a simulation knows: chains, purses, receivers."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from json import dumps
from typing import Any

from chalicelib.commerce.core.records import CommercePayment
from chalicelib.payments.requests.records import Request
from chalicelib.recurring.records import RecurringPayment
from chalicelib.relayer.holdings.records import HoldingsTotal
from chalicelib.webhooks.deliveries.records import Delivery
from infra.check.invariants import Found, Picture, Violation


@dataclass(frozen=True)
class Notification:
    """A request that a receiver answered by 200: to which URL, the id of the delivery, the body."""

    url: str
    delivery_id: str
    body: Mapping[str, Any]


@dataclass(frozen=True)
class Truth:
    """What only a simulation knows, of blocks that are confirmed.

    moved       the transfers of each request's token to its payee with its reference: (hash without 0x, base units)
    purses      what each wallet has gained of each token, all in lower case
    secrets     a text that stands in what is known of persons, and nowhere else
    escrowed    what the escrow holds of a payment, and could take back of it, by its hash
    balances    what the service's account has of a token on a network
    signed      how many payments from another chain a wallet has signed
    deposited   how many of them were put into the bridge
    periods     how many payments the contract of recurring payouts has made by the permit with a nonce
    """

    moved: Mapping[str, Sequence[tuple[str, int]]]
    notifications: Sequence[Notification]
    purses: Mapping[tuple[str, str], int]
    strangers: frozenset[str]
    public_urls: frozenset[str]
    secrets: str
    escrowed: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    balances: Mapping[tuple[str, str], int] = field(default_factory=dict)
    signed: Mapping[str, int] = field(default_factory=dict)
    deposited: Mapping[str, int] = field(default_factory=dict)
    periods: Mapping[int, int] = field(default_factory=dict)


def chains_agree(picture: Picture, truth: Truth) -> Found:
    """A request has received what its chain moved to its payee, neither more nor less."""
    escrowed = {each.request_id for each in picture.all(CommercePayment)}
    for request in picture.all(Request):
        if request.request_id in escrowed:
            continue
        moved = sum(amount for _, amount in truth.moved.get(request.request_id, ()))
        is_converted = request.invoice_currency not in (None, request.currency)
        stored = request.received if is_converted else request.paid
        if stored != moved and not (is_converted and request.dust_count):
            yield request.request_id, f"has {stored}, its chain moved {moved}"


def conserved_balances(picture: Picture, truth: Truth) -> Found:
    """What some lose of a token, others gain."""
    sums = Counter[str]()
    for (_, token), amount in truth.purses.items():
        sums[token] += amount
    yield from ((token, f"{amount} came from nowhere") for token, amount in sums.items() if amount)


def strangers_gain_nothing(picture: Picture, truth: Truth) -> Found:
    """Who does not keep to the rules is not richer by it."""
    for (wallet, token), amount in truth.purses.items():
        if wallet in truth.strangers and amount > 0:
            yield wallet, f"gained {amount} of {token}"


def receivers_notified_once(picture: Picture, truth: Truth) -> Found:
    """Everything that was announced reached each of its webhooks, and is one delivery, however often it was tried."""
    by_text: dict[tuple[str, str], set[str]] = defaultdict(set)
    for sent in truth.notifications:
        by_text[sent.url, dumps(dict(sent.body), sort_keys=True)].add(sent.delivery_id)
    for (url, text), deliveries in by_text.items():
        if len(deliveries) > 1:
            yield url, f"was notified by {len(deliveries)} deliveries: {text[:300]}"
    reached = {sent.delivery_id for sent in truth.notifications}
    for each in picture.all(Delivery):
        if each.delivery_id not in reached:
            yield each.delivery_id, f"{each.kind} of {each.created_at} never reached its receiver: it is {each.state}"


def escrow_agrees(picture: Picture, truth: Truth) -> Found:
    """The escrow holds of each payment what the books say, and has taken what they say."""
    for each in picture.all(CommercePayment):
        known = truth.escrowed.get(each.payment_hash or "", (0, 0))
        if known != (each.capturable, each.refundable):
            yield each.request_id, f"the escrow has {known}, the books {(each.capturable, each.refundable)}"


def account_agrees(picture: Picture, truth: Truth) -> Found:
    """The service's account has of each token what it holds for its owners, neither more nor less."""
    totals = {(each.network, each.token.lower()): each.total for each in picture.all(HoldingsTotal)}
    for place, amount in truth.balances.items():
        if amount != totals.get(place, 0):
            yield "/".join(place), f"the account has {amount}, the books {totals.get(place, 0)}"


def deposited_once(picture: Picture, truth: Truth) -> Found:
    """No wallet pays more often than it has signed."""
    for wallet, count in truth.deposited.items():
        if count > truth.signed.get(wallet, 0):
            yield wallet, f"signed {truth.signed.get(wallet, 0)} payments, {count} were made"


def periods_agree(picture: Picture, truth: Truth) -> Found:
    """A recurring payout has counted as many payments as the contract has made."""
    for each in picture.all(RecurringPayment):
        made = truth.periods.get(each.permit.nonce, 0)
        if made != each.processed:
            yield each.recurring_id, f"has counted {each.processed}, the contract made {made}"


def personal_data_stays(picture: Picture, truth: Truth) -> Found:
    """Nothing that is known of a person reaches a webhook that anybody can register."""
    for each in truth.notifications:
        if each.url in truth.public_urls and truth.secrets in dumps(dict(each.body)):
            yield each.url, f"{each.body.get('event')} has personal data"


TRUTHS: tuple[Callable[[Picture, Truth], Found], ...] = (
    chains_agree, conserved_balances, strangers_gain_nothing, receivers_notified_once, personal_data_stays,
    escrow_agrees,
    account_agrees, deposited_once, periods_agree,
)  # fmt: skip


def truth_violations(picture: Picture, truth: Truth) -> Iterator[Violation]:
    """Everything in a picture that contradicts the truth."""
    for invariant in TRUTHS:
        for about, how in invariant(picture, truth):
            yield Violation(invariant.__name__, about, how)
