"""The schedule's part that takes back what is delegated: once its link is paid or closed, or its time is over."""

from collections.abc import Iterable
from datetime import datetime

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.nodes.agreement import combine_answers
from chalicelib.gasless.energy import flows, rules, store
from chalicelib.gasless.energy.records import EnergyDelegation
from chalicelib.payments.links.reading import load
from chalicelib.payments.links.records import LinkStatus
from chalicelib.payments.links.rules import status_at
from chalicelib.platform.services import Services
from chalicelib.platform.storage import sweeping
from chalicelib.platform.storage.store import WriteConflict


class NotTakenBack(Exception):
    """A delegation could not be taken back for an hour."""


def look_at_each(services: Services, wallets: Iterable[str], deadline: datetime) -> int:
    """Looks at the delegations of wallets, as far as there is time; returns at how many. Raises SweepIncomplete after a
    failure."""
    in_time = sweeping.in_time(services.log, services.clock, deadline, wallets)
    return sweeping.each(services.log, in_time, lambda wallet: look_at(services, wallet))


def look_at(services: Services, wallet: str) -> bool:
    """Takes the next step of a wallet's delegation. Two reads, two requests to each node, up to two signatures, and a
    write.

    Nodes that do not answer, or not alike, have it looked at again. Raises NotTakenBack once that has lasted an hour.
    """
    last = store.delegation(services.store, wallet)
    if last is None or not last.is_open:
        return False
    try:
        stepped = _step(services, last)
    except WriteConflict:
        return True  # another worker took the step
    except ChainUnavailable as error:
        services.log.info("delegation not looked at", extra={"wallet": wallet, "reason": error.reason or error.message})
        stepped = services.store.write(rules.put_off(last, services.clock()))
    if rules.is_overdue(stepped, services.clock()):
        raise NotTakenBack(f"energy delegated to {wallet} could not be taken back since {stepped.until}")
    return True


def _step(services: Services, last: EnergyDelegation) -> EnergyDelegation:
    now, chain = services.clock(), services.chains.tron()
    is_paid, is_payable = _of_link(services, last, now)
    delegated = combine_answers(
        chain,
        lambda node: node.read_delegated(last.owner, last.wallet),
        lambda said: rules.agree_on_delegated(chain.network, said),
    ).value
    is_pending, is_there = rules.may_be_pending(last, delegated), delegated.energy or delegated.bandwidth
    if is_pending or (is_there and rules.is_wanted(last, is_payable, now)):
        kept = services.store.write(rules.put_off(last, now))
        if is_pending:
            flows.send(services, last)
        return kept
    if not is_there:
        ended = services.store.write(rules.end(last, is_paid, now))
        facts = {"wallet": last.wallet, "account_id": last.account_id, "paid": is_paid}
        services.log.info("delegation ended", extra=facts)
        return ended
    block = flows.read_reference(services)
    signed = flows.sign(services, last.owner, last.wallet, delegated, block, takes_back=True)
    taking = services.store.write(rules.take_back(last, signed, block.time + rules.SIGNED_FOR, now))
    flows.send(services, taking)
    return taking


def _of_link(services: Services, delegation: EnergyDelegation, now: datetime) -> tuple[bool, bool]:
    """Whether the link is paid, and whether it can be paid. One read."""
    payable = load(services, delegation.link_token)
    if payable is None:
        return False, False
    return payable.is_paid, not payable.is_paid and status_at(payable.link, now) is LinkStatus.PENDING
