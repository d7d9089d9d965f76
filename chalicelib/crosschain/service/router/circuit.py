"""The circuit breaker of the router and the quotas of its requests. Pure.

    closed   questions are asked
    open     nobody asks until `open_until`: after OPEN_AFTER failures in a row, or when the router says so itself
    probe    the first who comes after that asks one question, and moves `open_until` by PROBE_LEASE for the others;
             an answer closes the circuit, a failure opens it for twice as long
"""

from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.base.frozen import frozen
from chalicelib.crosschain.service.router.records import ROUTER, RouterCircuit
from chalicelib.crosschain.service.router.rules import Purpose
from chalicelib.platform.access.rate_limits.rules import Window, window
from chalicelib.webhooks.circuits.rules import pause

OPEN_AFTER = 5
PROBE_LEASE = timedelta(seconds=15)
"""Longer than a question may take, so that one is answered before the next one is asked."""
QUESTIONS, SECONDS = 75, 2 * 3600
"""How many questions the router answers in how long without a key."""
QUESTIONS_WITH_KEY, SECONDS_WITH_KEY = 100, 60
ACCOUNTS = 50
"""How many accounts have a question of their own in each window, whatever others ask."""


def time_closed(circuit: RouterCircuit | None, now: datetime) -> timedelta | None:
    """For how long nobody may ask; None if somebody may."""
    if circuit is None or circuit.open_until is None or now >= circuit.open_until:
        return None
    return circuit.open_until - now


def probing(circuit: RouterCircuit | None, now: datetime) -> RouterCircuit | None:
    """What has to be written before a probe; None if the circuit is closed and everybody may ask."""
    if circuit is None or circuit.open_until is None:
        return None
    return replace(circuit, open_until=now + PROBE_LEASE, updated_at=now)


def after_answers(circuit: RouterCircuit | None, now: datetime) -> RouterCircuit | None:
    """What has to be written after an answer; None if nothing changes."""
    if circuit is None or (circuit.open_until is None and not circuit.failures):
        return None
    return replace(circuit, failures=0, openings=0, open_until=None, updated_at=now)


def after_failures(
    circuit: RouterCircuit | None, count: int, retry_after: timedelta | None, now: datetime
) -> RouterCircuit:
    """The circuit after requests without a usable answer. `retry_after` is what the router said itself, if it did."""
    before = circuit or RouterCircuit(failures=0, openings=0, open_until=None, updated_at=now)
    failed = replace(before, failures=before.failures + count, updated_at=now)
    if failed.failures < OPEN_AFTER and before.open_until is None and retry_after is None:
        return failed
    wait = max(pause(before.openings), retry_after or timedelta())
    return replace(failed, openings=before.openings + 1, open_until=now + wait)


@frozen
class Quotas:
    """The windows in which all containers together count their questions.

    Anybody who has a link can ask for any wallet, and anybody can open accounts. So one link or request may ask a third
    of the questions, and ACCOUNTS of them are kept: each account has its `own` one first, and only further ones are of
    those that are `shared` by all. `router` is what the router itself answers.
    """

    link: Window
    own: Window
    shared: Window
    router: Window


def quotas(has_key: bool, purpose: Purpose, now: datetime) -> Quotas:
    """The quotas of a question at an instant, with a key of the router and without."""
    limit, seconds = (QUESTIONS_WITH_KEY, SECONDS_WITH_KEY) if has_key else (QUESTIONS, SECONDS)
    return Quotas(
        link=window("router_payment", purpose.name, limit // 3, seconds, now),
        own=window("router_account", purpose.account_id, 1, seconds, now),
        shared=window("router_shared", ROUTER, limit - ACCOUNTS, seconds, now),
        router=window("router", ROUTER, limit, seconds, now),
    )
