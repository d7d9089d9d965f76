"""Operations on a sandbox: they move a virtual chain or the clock, and what follows is done at once.

That is what schedules and queues do in live mode; only webhooks are sent by the queues, as there.

    count ── new blocks, in one transaction ── scan ── record ── by the clock also: expire, repeat deliveries
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import cast

from chalicelib.base.addresses import address_of_log
from chalicelib.base.errors import BadRequest, Conflict, TooManyRequests
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits, parse_amount
from chalicelib.chains.calldata.checkout import spender_of
from chalicelib.chains.catalogue.networks import ALL_NETWORKS, require_network
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.payments.announcements import tracking
from chalicelib.payments.links import expiry
from chalicelib.payments.links.records import Payable
from chalicelib.payments.payable.rules import Owed, check_family, check_payer, direct, whole_of
from chalicelib.payments.recording.jobs import record_transfers
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.scanning import flows as scanning
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.platform.storage.store import Delete, Write
from chalicelib.sandbox import rules, store
from chalicelib.sandbox.opening import SandboxQueue, open_sandbox
from chalicelib.sandbox.records import OperationCount, VirtualBlock, VirtualChain, VirtualTransaction
from chalicelib.sandbox.rules import VirtualPayment
from chalicelib.webhooks import publisher

PARTS = {"full": (1, 1), "half": (1, 2), "double": (2, 1)}
"""What is paid of the rest, as a fraction."""
_SECONDS = 12
"""An operation begins no scan, nor what follows, after this time: the API has 29 seconds for a response."""
_EXPIRY = timedelta(seconds=5)
_PAYER = "0x7e57000000000000000000000000000000007e57"


@frozen
class Wanted:
    """What is to be paid: a part of the rest (PARTS), or a decimal amount of the token. A `token` other than the one
    that is asked for is a wrong payment. Without `is_confirmed` the payment is in the newest block, not deeper."""

    amount: str = "full"
    token: Token | None = None
    payer: str | None = None
    is_confirmed: bool = True


@frozen
class Outcome:
    """What an operation did: how many transfers its scans found, how many links expired, and the sandbox's time.

    Unless it `is_complete` there was not enough time: the next operation on the network, or the clock, goes on.
    """

    now: datetime
    found: int = 0
    expired: int = 0
    is_complete: bool = True


@frozen
class Paid:
    """A payment on a virtual chain, and what followed."""

    network: str
    tx_hash: str
    block_number: int
    outcome: Outcome


@frozen
class ChainState:
    """A virtual chain after an operation."""

    network: str
    head: int
    outcome: Outcome


def pay(services: Services, account_id: str, payable: Payable, wanted: Wanted) -> Paid:
    """Pays a link or request on the virtual chain of the token: the rest of each of its requests, or a part of it, by
    one transaction with the logs of the fee proxies. As on any chain, it is not asked whether it can be paid.

    Raises BadRequest for an amount or a payer that cannot be, Conflict for what is not paid in test mode.
    """
    _count(services)
    payments = _payments(payable, wanted)
    network = payments[0].token.network
    default = payable.link.creator_wallet if payable.link and payable.link.creator_wallet else _PAYER
    payer = wanted.payer or address_of_log(default, require_network(network).family)
    check_family(network, payer, "payer")
    check_payer((each.request for each in whole_of(payable)), wanted.payer, "payer")
    block = _mine_payment(services, network, payer, payments, wanted.is_confirmed)
    return Paid(network, block.tx_hash, block.number, _catch_up(services, account_id, [network]))


def mine_blocks(services: Services, account_id: str, network: str, count: int) -> ChainState:
    """Mines blocks without payments."""
    _count(services)
    mined = _mine(services, network, count)
    return ChainState(network, mined.head, _catch_up(services, account_id, [network]))


def reorganise(services: Services, account_id: str, network: str, depth: int, *, moves: bool) -> ChainState:
    """Removes the newest blocks of a virtual chain. Its payments in them vanish, or are in later blocks if it `moves`
    them. Raises BadRequest if there are not so many blocks, Conflict after too many reorganisations."""
    _count(services)
    after = _reorganise(services, network, depth, moves=moves)
    return ChainState(network, after.head, _catch_up(services, account_id, [network]))


def advance_clock(services: Services, account_id: str, seconds: int) -> Outcome:
    """Moves the clock of the sandbox on, and the chains with it: what ends or is due by then ends and is done.

    Raises BadRequest beyond rules.MOST_AHEAD.
    """
    _count(services)
    ahead = _advance(services, seconds)
    later = open_sandbox(services.real, account_id, ahead)
    networks = _used_networks(later)
    for network in networks:
        _mine(later, network, _confirmations(later, network))
    outcome = _catch_up(later, account_id, networks)
    if not outcome.is_complete:
        return outcome
    expired = expiry.expire_due(later, _EXPIRY)
    tracking.track_due(later)
    publisher.sweep(later)
    return replace(outcome, expired=expired)


def read_chains(services: Services) -> list[VirtualChain]:
    """The virtual chains that have blocks. One read."""
    return sorted(store.chains(services.store, services.chains.networks), key=lambda each: each.network)


def _count(services: Services) -> None:
    """Counts an operation; raises TooManyRequests above OPERATIONS_PER_DAY. One write."""
    now = services.real.clock()
    ends_at = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    counter = OperationCount(now.date().isoformat(), ends_at)
    if store.count(services.store, counter, rules.OPERATIONS_PER_DAY) is None:
        raise TooManyRequests(int((ends_at - now).total_seconds()), rules.OPERATIONS_PER_DAY)


def _payments(payable: Payable, wanted: Wanted) -> list[VirtualPayment]:
    """What is sent for each request. Raises BadRequest, Conflict."""
    owed = whole_of(payable)
    if not owed:
        raise Conflict("A multicall is paid by its children in test mode: pay each of them")
    if payable.commerce is not None or any(each.invoice != each.token for each in owed):
        raise Conflict("Commerce payments and converted amounts cannot be paid in test mode")
    if wanted.amount not in PARTS and len(owed) > 1:
        raise BadRequest("amount is of one request: send full, half or double for several")
    return [_payment(each, wanted) for each in owed]


def _payment(owed: Owed, wanted: Wanted) -> VirtualPayment:
    """The payment of one request; of one that is paid, its amount again."""
    token = wanted.token or owed.token
    check_family(token.network, owed.request.payee, "the payee")
    if wanted.amount in PARTS:
        times, of = PARTS[wanted.amount]
        rest = (owed.amount or owed.request.amount) * times // of
        amount = rest * 10**token.decimals // 10**owed.token.decimals
    else:
        amount = parse_amount(wanted.amount, token.decimals)
    if not amount:
        raise BadRequest("The amount is less than the smallest unit of the token: pay more")
    due = direct(replace(owed, amount=BaseUnits(amount))).due
    return VirtualPayment(replace(due, token=token), token)


@retry_conflicts(5)
def _mine_payment(
    services: Services, network: str, payer: str, payments: Sequence[VirtualPayment], is_confirmed: bool
) -> VirtualBlock:
    known, now = _chain(services, network), services.clock()
    block = VirtualBlock(
        network=network,
        number=known.head + 1,
        tx_hash="0x" + services.entropy(32).hex(),
        sender=payer,
        to=spender_of(payments[0].token, batched=False),
        logs=rules.logs_of(payer, payments),
    )
    place = VirtualTransaction(network, block.tx_hash, block.number)
    count = _confirmations(services, network) if is_confirmed else 1
    services.store.write(rules.mine(known, count, now), block, place)
    return block


@retry_conflicts(5)
def _mine(services: Services, network: str, count: int) -> VirtualChain:
    return services.store.write(rules.mine(_chain(services, network), count, services.clock()))


@retry_conflicts(5)
def _reorganise(services: Services, network: str, depth: int, *, moves: bool) -> VirtualChain:
    known = _chain(services, network)
    after = rules.remove_blocks(known, depth, services.clock())
    removed = store.blocks_between(services.store, network, known.head - depth + 1, known.head)
    places = store.places(services.store, network, [each.tx_hash for each in removed])
    writes: list[Write] = [*map(Delete, removed)]
    for block in removed:
        number = block.number + depth if moves else None
        writes.append(replace(places[block.tx_hash], number=number))
        if number is not None:
            writes.append(replace(block, number=number, version=0))
    return services.store.write(after, *writes)


@retry_conflicts(5)
def _advance(services: Services, seconds: int) -> int:
    known = store.sandbox(services.store)
    ahead = known.seconds_ahead + seconds
    if ahead > rules.MOST_AHEAD.total_seconds():
        raise BadRequest(f"The clock would be more than {rules.MOST_AHEAD.days} days ahead of the real time")
    services.store.write(replace(known, seconds_ahead=ahead))
    return ahead


def _chain(services: Services, network: str) -> VirtualChain:
    return store.chain(services.store, network) or rules.new_chain(network, services.clock())


def _confirmations(services: Services, network: str) -> int:
    return services.settings.confirmations.get(network, require_network(network).confirmations)


def _used_networks(services: Services) -> list[str]:
    """The networks of requests and payments in the sandbox. Two reads."""
    names = [each.name for each in ALL_NETWORKS]
    used = request_store.networks_with_requests(services.store, names)
    return sorted(used | {each.network for each in store.chains(services.store, names)})


def _catch_up(services: Services, account_id: str, networks: Sequence[str]) -> Outcome:
    """Scans networks, and records what was found: by a store without the request's idempotency key, as nothing of it
    is made twice however often it is done."""
    inside = open_sandbox(services.real, account_id, keeps_back=services.settings.queue("recordings"))
    kept, left, found = cast(SandboxQueue, inside.queue).kept, list(networks), 0
    deadline = inside.clock() + timedelta(seconds=_SECONDS)
    while (left or kept) and inside.clock() < deadline:
        if kept:
            record_transfers(inside, kept.pop(0).text)
        else:
            found += scanning.scan(inside, left.pop(0))
    now = inside.clock()
    return Outcome(now, found, is_complete=not left and not kept and now < deadline)
