"""The schedule that ends or makes the gasless payments that are due, each network in its share of the time."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from chalicelib.gasless import rules, store
from chalicelib.gasless.ending import end_lost
from chalicelib.gasless.records import GaslessPayment, Stage
from chalicelib.gasless.sending import advance_network, put_off
from chalicelib.gasless.sending import due as still_due
from chalicelib.platform.services import Services
from chalicelib.platform.storage import sweeping

_DUE_PER_SHARD = 500
_TIME_TO_END, _TIME_PER_RUN = timedelta(seconds=10), timedelta(seconds=40)
"""Of a run: for ending payments that are made no more, and in all."""
_TIME_FOR_ENERGY = timedelta(seconds=10)
"""After that: for what is delegated on Tron."""


def run_due(services: Services) -> int:
    """Looks at the batches and the signed payments that are due, and at delegations on Tron; returns at how many. One
    query for each shard.

    Payments that are made no more end first, whatever the nodes do. Then each network has its share of the time, and
    one whose share was too short has what the others left; a network that does not answer is left for a later run.
    Raises SweepIncomplete after a failure.
    """
    now = services.clock()
    batch_ids, payment_ids, wallets = store.due(services.store, now, _DUE_PER_SHARD, services.entropy(1)[0])
    by_network = dict[str, tuple[list[str], list[str]]]()
    for batch in store.batches(services.store, batch_ids):
        by_network.setdefault(batch.network, ([], []))[0].append(batch.batch_id)
    with sweeping.Sweep(services.log) as sweep:
        for payment in _still_wanted(services, sweep, now, payment_ids):
            by_network.setdefault(payment.network, ([], []))[1].append(payment.payment_id)
        cut = _in_turn(services, sweep, now, by_network)
        cut = _in_turn(services, sweep, now, {each: by_network[each] for each in cut})
        looked_at = sweep.run(partial(_look_at_delegations, services), wallets)
    if cut:
        services.log.warning("sweep stopped before its end")
        put_off(services, [each for network in cut for each in still_due(services, by_network[network][1])], None)
    return len(batch_ids) + len(payment_ids) + looked_at


def _look_at_delegations(services: Services, wallets: Sequence[str]) -> int:
    """Looks at the delegations of wallets on Tron; returns at how many."""
    if not wallets:
        return 0
    from chalicelib.gasless.energy import running as energy_running  # most deployments have no stake

    return energy_running.look_at_each(services, wallets, services.clock() + _TIME_FOR_ENERGY)


def _still_wanted(
    services: Services, sweep: sweeping.Sweep, start: datetime, payment_ids: Sequence[str]
) -> list[GaslessPayment]:
    """The signed ones of payments, without those that are made no more, which end as far as there is time. No node is
    asked: no transaction has them. A read of them and their requests, and what `end` needs."""
    signed = [each for each in store.payments(services.store, payment_ids) if each.stage is Stage.SIGNED]
    requests = store.requests(services.store, signed)
    reasons = [(each, rules.why_gone(each, requests.get(each.request_id), services.clock())) for each in signed]
    gone = {each.payment_id: reason for each, reason in reasons if reason is not None}

    def give_up(payment_id: str) -> int:
        end_lost(services, payment_id, gone[payment_id])
        return 1

    for payment_id in sweeping.in_time(services.log, services.clock, start + _TIME_TO_END, gone):
        sweep.run(give_up, payment_id)
    return [each for each in signed if each.payment_id not in gone]


def _in_turn(
    services: Services,
    sweep: sweeping.Sweep,
    start: datetime,
    by_network: Mapping[str, tuple[Sequence[str], Sequence[str]]],
) -> list[str]:
    """Takes the next steps of each network, as far as its share of what is left of the run's time allows; returns the
    networks that need more."""
    cut = list[str]()

    def act(network: str) -> int:
        now, left = services.clock(), len(by_network) - list(by_network).index(network)
        if not advance_network(services, network, *by_network[network], now + (start + _TIME_PER_RUN - now) / left):
            cut.append(network)
        return 1

    for network in by_network:
        sweep.run(act, network)
    return cut
