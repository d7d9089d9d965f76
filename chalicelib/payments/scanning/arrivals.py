"""Notices what has arrived at addresses for plain transfers, before anybody has it paid out.

Once a minute the balances of all addresses of a network are read at the newest block that was read of it, so after the
confirmations, from every node. A balance is what has arrived and is not paid out, whatever came and went; strangers
cannot make reading it cost more, and after a fork the next reading is of the other blocks.

What has arrived decides nothing: it counts once it is paid out, by what the log has (plain_transfers/logs.py).
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.agreement import combine_answers
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.plain_transfers.records import WatchedAddress
from chalicelib.payments.requests.plain_transfers.rules import agree_on_each
from chalicelib.payments.requests.plain_transfers.store import list_watched
from chalicelib.payments.requests.records import Reference
from chalicelib.payments.scanning import store, watched_addresses
from chalicelib.platform.services import Services
from chalicelib.platform.storage import sweeping
from chalicelib.platform.storage.retrying import try_write

_TIME_PER_RUN = timedelta(seconds=15)
"""A run notes no further arrival after this time: the next one does."""


def note_arrivals(services: Services, network: str) -> int:
    """Notes what is at the addresses of a network now, where that has changed; returns of how many.

    An address of which the nodes do not say the same stays as it was, and so do all while less than two of several
    answer. A query for each MB of addresses, a read, and two requests to each node; for what has changed a read of all
    references, and for each address up to two reads and a write. Raises SweepIncomplete after a failure.
    """
    watched = list_watched(services.store, network) if network != "tron" else ()
    cursor = store.cursor(services.store, network)
    if not watched or cursor is None or cursor.is_paused:
        return 0
    addresses = [watched_addresses.as_in_logs(each) for each in watched]
    read_to = cursor.scanned_to
    try:
        amounts = combine_answers(
            services.chains.evm(network), lambda node: node.read_plain_balances(addresses, read_to), agree_on_each
        ).value
    except ChainUnavailable as error:
        services.log.warning("arrivals not read", extra={"network": network, "reason": error.reason or error.message})
        return 0
    changed = [
        (each, amount)
        for each, amount in zip(watched, amounts, strict=True)
        if amount is not None and amount != each.arrived
    ]
    return _note_each(services, changed) if changed else 0


def _note_each(services: Services, changed: Sequence[tuple[WatchedAddress, BaseUnits]]) -> int:
    """Notes what is at some addresses, from a random one on, as far as there is time."""
    found = request_store.references(services.store, {each.topic for each, _ in changed})
    references = {each.topic: each for each in found}
    first = int.from_bytes(services.entropy(2)) % len(changed)
    ordered = [*changed[first:], *changed[:first]]
    deadline = services.clock() + _TIME_PER_RUN
    with sweeping.Sweep(services.log) as sweep:
        return sum(
            sweep.run(partial(_note, services, references.get(watched.topic), watched), amount)
            for watched, amount in sweeping.in_time(services.log, services.clock, deadline, ordered)
        )


def _note(services: Services, reference: Reference | None, watched: WatchedAddress, amount: BaseUnits) -> int:
    """Notes what is at an address; returns 1, or 0 if that is left to the next reading.

    It becomes less only once the payments are recorded that made it less: else it would for a moment be neither there
    nor paid.
    """
    after = replace(watched, arrived=amount)
    if reference is None:
        return int(try_write(services.store, after))
    if amount < watched.arrived and store.has_work(services.store, [reference.payable_id]):
        return 0
    request = request_store.request_at(services.store, reference)
    own = request.plain_transfer if request is not None else None
    if request is None or own is None:
        return int(try_write(services.store, after))
    noted = replace(request, plain_transfer=replace(own, arrived=amount))
    if not try_write(services.store, after, noted):  # it is being paid, or changed by its owner
        return 0
    facts = {"network": watched.network, "address": watched.address, "amount": amount}
    services.log.info("arrival noted", extra={**facts, "request_id": request.request_id})
    return 1
