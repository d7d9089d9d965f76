"""What one US dollar is in a token at the time of a payment: kept with the payment, which never waits for it."""

from datetime import datetime, timedelta

from chalicelib.base.frozen import frozen
from chalicelib.chains.catalogue.conversions import conversion_path
from chalicelib.chains.catalogue.tokens import Token, dollar
from chalicelib.payments.currencies.flows import conversion_facts
from chalicelib.payments.currencies.rules import is_priced
from chalicelib.payments.rates import flows
from chalicelib.payments.rates.records import Rate
from chalicelib.platform.services import Services

TRIED_AGAIN = timedelta(seconds=20)
"""How long after a failure a container does not ask for the same rate again, and for none at all if it was slow."""
_SLOW = timedelta(seconds=1)
_MOST_KEPT = 500
"""How many rates a container keeps, so that many payments of a minute cost one reading."""


@frozen
class KeptRate:
    """The rate of one token and minute as a container last read it, None if it could not be had."""

    rate: Rate | None
    read_at: datetime
    has_stalled: bool

    def is_tried_again(self, now: datetime) -> bool:
        return now - self.read_at >= TRIED_AGAIN


def dollar_rate(services: Services, token: Token, instant: datetime) -> Rate | None:
    """What one dollar was in `token` at an instant, as `flows.show_rate_at`; None if that cannot be had.

    It is read once for each token and minute. Where the sources fail, a container is held up by at most one reading in
    20 seconds: after one that took more than a second, no other is made.
    """
    key, now, kept = (token.id, instant.replace(second=0, microsecond=0)), services.clock(), services.dollar_rates
    known: KeptRate | None = kept.get(key)
    newest: KeptRate | None = next(reversed(kept.values()), None)
    if known is not None and (known.rate is not None or not known.is_tried_again(now)):
        return known.rate
    if not _has_rates(services, token) or (newest and newest.has_stalled and not newest.is_tried_again(now)):
        return None
    rate = flows.show_rate_at(services, dollar(), token, instant)
    read_at = services.clock()
    kept.pop(key, None)
    if len(kept) >= _MOST_KEPT:
        del kept[next(iter(kept))]
    kept[key] = KeptRate(rate, read_at, has_stalled=rate is None and read_at - now > _SLOW)
    return rate


def _has_rates(services: Services, token: Token) -> bool:
    """Whether this deployment ever has rates of a token: of one without, none is asked for, and no failure logged."""
    return conversion_path(dollar(), token) is not None or is_priced(dollar(), token, conversion_facts(services))
