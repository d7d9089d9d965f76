"""Pays the children of a multicall from one source: those in its own token directly, each other one by a route."""

from collections.abc import Mapping, Sequence

from chalicelib.base.errors import BadRequest
from chalicelib.chains.catalogue.bridges import source_token
from chalicelib.checkout.crosschain.flows import build_routed
from chalicelib.checkout.pipeline import Built, own
from chalicelib.checkout.rules import PayOptions
from chalicelib.crosschain.service.router import flows as router
from chalicelib.crosschain.service.router.flows import QuoteFailure
from chalicelib.crosschain.service.router.rules import Purpose, Route
from chalicelib.crosschain.service.sources.rules import check_bridged, is_own, payer_of, question_for, source_for
from chalicelib.payments.links.multicalls.children import Child, MulticallRefused, Reason, check_count
from chalicelib.payments.links.multicalls.rules import ExecutionKind, execution_kind
from chalicelib.payments.links.records import Link, PayableLink
from chalicelib.payments.payable.rules import Position, SourceToken
from chalicelib.platform.services import Services

_REASONS = {"no_route": Reason.UNSUPPORTED_ROUTE, "unavailable": Reason.QUOTE_UNAVAILABLE}


def children(
    services: Services,
    link: Link,
    parts: Sequence[PayableLink],
    positions: Sequence[Position],
    options: PayOptions,
) -> Built:
    """The children `parts` of a multicall, one position each: by one batch, or by routes.

    Raises MulticallRefused with every child that no route leads to, SetRefused if there are too many; BadRequest if a
    source has to be given, or cannot be.
    """
    source = options.source
    kind = execution_kind(link.execution_kind, [each.owed.request for each in positions])
    if source is None and kind is ExecutionKind.EVM_CROSS_CHAIN:
        raise BadRequest(
            "These children are paid from one source, by a route to each: give chain and token, such as BASE and USDC"
        )
    if source is None or all(is_own(each.due.token, source) for each in positions):
        return own(services, positions, options, batched=True)
    if link.execution_kind == ExecutionKind.EVM_SAME_CHAIN:
        raise BadRequest("This multicall was created to be paid on its own network: omit chain and token")
    count = len(positions)
    check_count(count, services.settings.multicall_max_crosschain_children, Reason.CAP_EXCEEDED)
    payer = payer_of(options.wallet, options.eoa_wallet)
    _refuse(services, parts, _find_unsupported(positions, source))
    paying = source_token(source.chain, source.token)
    assert paying is not None, "a route leads from it"
    bridged = [index for index, each in enumerate(positions) if not is_own(each.due.token, source)]
    wanted = [question_for(positions[index], paying, payer) for index in bridged]
    quoted = router.quotes(services, wanted, Purpose(link.account_id, link.token))
    found = dict(zip(bridged, quoted, strict=True))
    failed = {index: each for index, each in found.items() if isinstance(each, QuoteFailure)}
    _refuse(services, parts, {index: (_REASONS[each.reason], each.message) for index, each in failed.items()})
    routes = [each if isinstance(each := found.get(index), Route) else None for index in range(count)]
    return build_routed(services, positions, routes, paying, options)


def _find_unsupported(positions: Sequence[Position], source: SourceToken) -> dict[int, tuple[Reason, str]]:
    """The positions that no route can lead to from the source, and why."""
    failures = {}
    for index, each in enumerate(positions):
        try:
            if source_for(each.due.token, source) is not None:
                check_bridged(each)
        except BadRequest as error:
            failures[index] = (Reason.UNSUPPORTED_ROUTE, error.message)
    return failures


def _refuse(services: Services, parts: Sequence[PayableLink], failures: Mapping[int, tuple[Reason, str]]) -> None:
    """Raises MulticallRefused if there are failures, with the child at each place and why it failed."""
    if failures:
        blocked = [Child(i, parts[i].link.token, parts[i], reason, text) for i, (reason, text) in failures.items()]
        raise MulticallRefused(blocked, services.clock())
