"""Checks announced transactions, those of a link or that of a payment intent: what became of them, and what follows.

    observe    what their chains say of each                      observing.py, bridges/observing.py
    decide     by what was observed                               rules.py, bridges/rules.py
    conclude   by what is recorded once they have ended           bridges/ends.py

Whoever has them checked writes that in one transaction.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.payments.announcements import rules
from chalicelib.payments.announcements.bridges import ends
from chalicelib.payments.announcements.bridges import observing as bridge_observing
from chalicelib.payments.announcements.bridges import rules as bridge_rules
from chalicelib.payments.announcements.bridges.ends import Conclusion
from chalicelib.payments.announcements.bridges.observations import Observation as BridgeObservation
from chalicelib.payments.announcements.observing import observe_announced
from chalicelib.payments.announcements.rules import Observation
from chalicelib.payments.events import Counted
from chalicelib.payments.links.records import (
    AnnouncedStatus,
    AnnouncedTransaction,
    LinkStatus,
    Payable,
    PayableLink,
)
from chalicelib.payments.scanning import store as scan_store
from chalicelib.platform.services import Services


@frozen
class Checked:
    """What a check leads to. `payable` is what was read last, and `observed` what the chains say of the transactions,
    also of those that are left as they were because the recorder has work."""

    conclusion: Conclusion
    payable: Payable
    observed: tuple[AnnouncedTransaction, ...]


@frozen
class _Observed:
    """An announced transaction before a check, with what is known of it now, and what was observed; None if the node
    does not answer, or if nothing has to be observed."""

    before: AnnouncedTransaction
    known: AnnouncedTransaction
    observation: Observation | BridgeObservation | None


def check_transactions(
    services: Services,
    payable: Payable,
    read_again: Callable[[], Payable],
    due: Sequence[AnnouncedTransaction],
    unavailable: set[str],
    notified: int = 0,
    offered: Counted | None = None,
) -> Checked:
    """Checks pending announced transactions; `read_again` reads their payable as it is then, a multicall with the
    requests of its children. `notified` and `offered` as in `ends.conclude_ends`.

    The payable is read after the cursor. An announced transaction ends without payment only if the recorder has no work
    left for it, for links that were merged into it, or for its children: then the payable, read again, has every
    payment up to the cursor; one from another chain ends only then at all. A network that does not answer is added to
    `unavailable`, and not called again. Logs an error, of which an alarm is made, for one from another chain whose
    outcome is overdue.
    """
    now = services.clock()
    in_turn = sorted(due, key=lambda each: each.bridge_transfer is not None)
    found = [_observe(services, payable, each, unavailable) for each in in_turn]
    is_completed = any(each.bridge_transfer is None for each in due) and _is_completed(read_again())
    after = observed = [_decide(each, is_completed, now) for each in found]
    for each in observed:
        _warn_overdue(services, each, now)
    if any(_has_to_be_recorded(each) for each in after):
        if scan_store.has_work(services.store, _payable_ids(payable)):
            later = (
                rules.postpone(one.before, now) if _has_to_be_recorded(other) else other
                for one, other in zip(found, after, strict=True)
            )
            return Checked(Conclusion(tuple(later), notified), payable, tuple(observed))
        payable = read_again()
        after = [_decide(each, _is_completed(payable), now) for each in found]  # by what was recorded since
    conclusion = ends.conclude_ends(services, payable, notified, [each.before for each in found], after, offered)
    return Checked(conclusion, payable, tuple(observed))


def _observe(services: Services, payable: Payable, announced: AnnouncedTransaction, unavailable: set[str]) -> _Observed:
    """What is observed of an announced transaction: nothing of one that was sent if its link is completed, unless it
    comes from another chain: what it brings is the payer's, so its own end is read."""
    if announced.bridge_transfer is not None:
        known = bridge_observing.observe_bridge_transfer(services, payable, announced, unavailable)
        return _Observed(announced, *known)
    assert isinstance(payable, PayableLink), "only links are paid on their own chain by what is announced"
    is_over = announced.safe_tx_hash is None and _is_completed(payable)
    if is_over or announced.network in unavailable:
        return _Observed(announced, announced, None)
    try:
        return _Observed(announced, *observe_announced(services, payable, announced, unavailable))
    except ChainUnavailable as error:
        facts = {"network": announced.network, "reason": error.message}
        services.log.error("announced transaction not checked", extra=facts)
        unavailable.add(announced.network)
        return _Observed(announced, announced, None)


def _decide(found: _Observed, is_completed: bool, now: datetime) -> AnnouncedTransaction:
    if isinstance(found.observation, BridgeObservation):
        return bridge_rules.decide(found.known, found.observation, now)
    if found.observation is None:
        return rules.decide_unobserved(found.known, is_completed, now)
    return rules.decide(found.known, replace(found.observation, is_completed=is_completed), now)


def _has_to_be_recorded(after: AnnouncedTransaction) -> bool:
    """Whether an announced transaction has ended in a way that the recorder might still contradict."""
    is_settled_by_link = after.status is AnnouncedStatus.SETTLED and after.bridge_transfer is None
    return after.status is not AnnouncedStatus.PENDING and not is_settled_by_link


def _is_completed(payable: Payable) -> bool:
    return payable.link is not None and payable.link.status is LinkStatus.COMPLETED


def _payable_ids(payable: Payable) -> tuple[str, ...]:
    link = payable.link
    if link is None:
        return (payable.requests[0].payable_id,)
    return (link.token, *link.merged_tokens, *link.child_tokens)


def _warn_overdue(services: Services, announced: AnnouncedTransaction, now: datetime) -> None:
    bridge_transfer = announced.bridge_transfer
    if bridge_transfer is None or announced.status is not AnnouncedStatus.PENDING:
        return
    if bridge_rules.is_overdue(announced, now):
        facts = {
            "link": announced.link_token, "announced_id": announced.announced_id,
            "stage": bridge_transfer.stage.value, "network": announced.network,
            "tx_hash": announced.transaction_hash, "destination": bridge_transfer.destination,
        }  # fmt: skip
        services.log.error("crosschain outcome unknown", extra=facts)
