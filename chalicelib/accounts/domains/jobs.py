"""The daily check of domains."""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import islice

from chalicelib.accounts.domains import flows, store
from chalicelib.accounts.domains.records import PageDomain
from chalicelib.base.parallel import each_done
from chalicelib.platform.services import Services
from chalicelib.platform.storage import sweeping
from chalicelib.platform.storage.retrying import try_write

BUDGET = timedelta(seconds=35)
"""No group begins later than this: its checks take up to 10 s together, and the function has 60 s."""
_AT_ONCE = 10
"""How many servers are asked at the same time, so that slow ones do not hold up the others for long."""
_BATCH = 100
"""How many due domains of a shard a run takes."""


def check_due(services: Services) -> int:
    """Looks for the proofs that are due; returns how many. Begins at a random shard, and leaves to the next run what
    it has no time for. Raises SweepIncomplete if something failed."""
    now = services.clock()
    due = _groups(store.due(services.store, now, _BATCH, services.entropy(1)[0]))
    in_time = sweeping.in_time(services.log, services.clock, now + BUDGET, due)
    with sweeping.Sweep(services.log) as sweep:
        return sum(sweep.run(lambda group: _check(services, sweep, group), each) for each in in_time)


def _groups(hashes: Iterator[str]) -> Iterator[list[str]]:
    while group := list(islice(hashes, _AT_ONCE)):
        yield group


def _check(services: Services, sweep: sweeping.Sweep, hashes: Iterable[str]) -> int:
    """Only servers are asked at once: records are read before, and written one by one after."""
    now, read = services.clock(), (store.find_domain(services.store, each) for each in hashes)
    domains = [each for each in read if each is not None and each.next_due is not None and each.next_due <= now]
    problems = each_done(lambda each: flows.problem_of(services, each), domains, _AT_ONCE)
    found = zip(domains, problems, strict=True)
    return sum(sweep.run(lambda each: _note(services, *each), each) for each in found)


def _note(services: Services, domain: PageDomain, problem: str | None) -> int:
    """Writes what was found, unless its owner changed the domain, or had it checked, meanwhile."""
    return try_write(services.store, *flows.writes_of_check(services, domain, problem))
