"""Finds what is due in the token that is paid: by the feeds that a contract converts by, or by a locked rate."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from chalicelib.chains.calldata.conversions.rates import PathRate
from chalicelib.chains.catalogue.conversions import conversion_path
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.payments.currencies.flows import conversion_facts
from chalicelib.payments.currencies.rules import Way, way_of
from chalicelib.payments.payable.rules import Owed, Position, by_contract, by_quote, check_sizes, direct
from chalicelib.payments.rates.records import Rate, RateSource
from chalicelib.payments.rates.rules import RateUnavailable, is_fresh, rate_of_path
from chalicelib.payments.requests.quotes import flows as quotes
from chalicelib.payments.requests.quotes.records import Quote
from chalicelib.payments.requests.records import Request
from chalicelib.platform.services import Services

_PATHS_PER_READ = 40
Pair = tuple[Token, Token]


def price_owed(services: Services, owed: Sequence[Owed], quoted: Mapping[str, Quote]) -> tuple[Position, ...]:
    """The payments of what is owed, all on one network; `quoted` are the quotes by request id.

    One call to the node if contracts convert some of them, for each 40 pairs of currencies. Raises RateUnavailable if
    the contract could not convert now, or only by a rate that is too old; BadRequest for amounts that are too large or
    too small to be paid.
    """
    ways = ways_of(services, owed)
    converted = {_pair(each) for each, way in zip(owed, ways, strict=True) if way is Way.ON_CHAIN}
    found = _contract_rates(services, sorted(converted, key=lambda pair: (pair[0].id, pair[1].id)))
    settings = services.settings
    positions = []
    for each, way in zip(owed, ways, strict=True):
        if way is Way.DIRECT:
            positions.append(direct(each))
        elif way is Way.QUOTED:
            positions.append(by_quote(each, quoted[each.request.request_id]))
        else:
            path, read, rate = found[_pair(each)]
            positions.append(
                by_contract(each, path, read, rate, settings.conversion_slippage_bps, settings.feed_max_age_seconds)
            )
    check_sizes(positions)
    return tuple(positions)


def due(services: Services, owed: Sequence[Owed]) -> tuple[Position, ...]:
    """The payments of what is owed by stored requests; quoted rates are held. Raises as `price_owed`."""
    return price_owed(services, owed, hold(services, owed))


def hold(services: Services, owed: Sequence[Owed]) -> dict[str, Quote]:
    """The quotes of stored requests that are paid by a quoted rate, by request id. Raises RateUnavailable."""
    return quotes.hold(services, _requests_to_quote(services, owed))


def renew_quotes(services: Services, owed: Sequence[Owed]) -> tuple[dict[str, Quote], list[Quote]]:
    """The quotes of stored requests by request id, and those that are not written yet. Raises RateUnavailable."""
    return quotes.renew_quotes(services, _requests_to_quote(services, owed))


def first_quotes(services: Services, owed: Sequence[Owed]) -> dict[str, Quote]:
    """The quotes of requests that are not stored yet, by request id; they are not written. Raises RateUnavailable."""
    return quotes.first(services, _requests_to_quote(services, owed))


def valid_quotes(services: Services, owed: Sequence[Owed]) -> list[dict[str, Quote]]:
    """What `hold` may have returned for one request to a payer who pays it now; nothing is written.

    For several requests none may be paid by a quoted rate.
    """
    quoted = _requests_to_quote(services, owed)
    if not quoted:
        return [{}]
    (request,) = quoted
    valid = quotes.all_valid_at(services.store, request.request_id, services.clock())
    return [{request.request_id: quote} for quote in valid]


def least_due(services: Services, owed: Owed) -> int:
    """What is due in the token that is paid: at the cheapest quote valid now, if it is converted; 0 without one.

    One query if it is converted. Raises RateUnavailable.
    """
    if owed.invoice == owed.token:
        return direct(owed).due.amount
    valid = valid_quotes(services, [owed])
    return min((by_quote(owed, quote).due.amount for each in valid for quote in each.values()), default=0)


def least_asked(services: Services, owed: Owed) -> int | None:
    """What a payer can have been asked for in the token that is paid: at the cheapest quote that is valid now, without
    one at the last that was given; None if none ever was. At most two queries. Raises RateUnavailable."""
    least = least_due(services, owed)
    if least or owed.invoice == owed.token:
        return least
    last = quotes.find_given(services.store, owed.request.request_id, services.clock()).last
    return by_quote(owed, last).due.amount if last is not None else None


def ways_of(services: Services, owed: Sequence[Owed]) -> list[Way]:
    """How each amount is paid. Raises RateUnavailable if this deployment cannot convert one any more."""
    facts, ways = conversion_facts(services), []
    for each in owed:
        way = Way.DIRECT if each.invoice == each.token else way_of(each.invoice, each.token, facts)
        if way is None:
            raise RateUnavailable(f"{each.invoice.id} cannot be converted to {each.token.id} at present")
        ways.append(way)
    return ways


def _requests_to_quote(services: Services, owed: Sequence[Owed]) -> list[Request]:
    return [each.request for each, way in zip(owed, ways_of(services, owed), strict=True) if way is Way.QUOTED]


def _contract_rates(services: Services, pairs: Sequence[Pair]) -> dict[Pair, tuple[tuple[str, ...], PathRate, Rate]]:
    """The path of each pair and the rate that its contract has now, as it was read and as a Rate."""
    found = {}
    for start in range(0, len(pairs), _PATHS_PER_READ):
        some = pairs[start : start + _PATHS_PER_READ]
        paths = [_path(pair) for pair in some]
        read = services.chains.evm(some[0][1].network).read_conversion_rates(paths)
        for pair, path, rate in zip(some, paths, read, strict=True):
            found[pair] = (path, *_check_rate(services, pair, rate))
    return found


def _check_rate(services: Services, pair: Pair, read: PathRate | None) -> tuple[PathRate, Rate]:
    invoice, payment = pair
    if read is None:
        raise RateUnavailable(
            f"The price feeds on {payment.network} give no rate of {invoice.id} in {payment.id} now; "
            "please try again in a minute"
        )
    rate = rate_of_path(invoice, payment, read, RateSource.CHAINLINK, datetime.fromtimestamp(read.updated_at, UTC))
    if not is_fresh(rate, services.clock(), timedelta(seconds=services.settings.feed_max_age_seconds)):
        raise RateUnavailable(
            f"The price feeds on {payment.network} were not updated in time, so that the contract would refuse "
            f"{invoice.id} in {payment.id}; please try again later"
        )
    return read, rate


def _path(pair: Pair) -> tuple[str, ...]:
    path = conversion_path(*pair)
    assert path is not None, "a contract converts only where there is a path"
    return path


def _pair(owed: Owed) -> Pair:
    return owed.invoice, owed.token
