"""What `/pay` says of the routes by which a payment is made from another chain: deadlines, costs, the router's step."""

from collections.abc import Sequence
from typing import Any

from chalicelib.base.money import BaseUnits, format_amount
from chalicelib.base.timestamps import iso
from chalicelib.chains.calldata.checkout import TRANSFER_GAS
from chalicelib.chains.catalogue.networks import require_network
from chalicelib.checkout.crosschain.step_ids import Step
from chalicelib.checkout.pipeline import Prepared
from chalicelib.checkout.schemas import crosschain
from chalicelib.crosschain.service.router.rules import Route
from chalicelib.crosschain.service.sources.rules import cost_of
from chalicelib.payments.transactions import TransactionAnswer


def route_facts(prepared: Prepared) -> dict[str, Any]:
    """The metadata of one payment; empty if it is made on its own chain."""
    if not prepared.routes:
        return {}
    (route,) = routes_of(prepared)
    facts = _deadlines(prepared)
    facts["quoteExpiresAt"] = int(route.expires_at.timestamp())
    facts["costBreakdown"] = _costs(prepared, route)
    return facts


def bundle_facts(prepared: Prepared) -> dict[str, Any]:
    """The metadata of a multicall of which some children are paid by routes."""
    routes, transactions = routes_of(prepared), prepared.checkout.transactions
    facts: dict[str, Any] = {"bridgeTxIndices": [transactions.index(route.transaction) for route in routes]}
    if not routes:
        return facts
    source = routes[0].wanted.source
    through = BaseUnits(sum(route.source_amount for route in routes))
    paid = prepared.checkout.debits[source]
    return {
        **facts,
        **_deadlines(prepared),
        "quoteExpiresAt": iso(min(route.expires_at for route in routes)),
        "bridgeSourceAmount": format_amount(through, source.decimals),
        "sourceSideAmount": format_amount(BaseUnits(paid - through), source.decimals),
        "bridgeFeeAmount": format_amount(BaseUnits(sum(map(cost_of, routes))), source.decimals),
        "sourceToken": source.symbol,
        "sourceTokenAddress": source.address,
        "sourceNetwork": source.network,
        "bridge": ",".join(dict.fromkeys(route.tool for route in routes)),
    }


def routes_of(prepared: Prepared) -> list[Route]:
    """The routes, in the order of the positions that they pay."""
    return [route for route in prepared.routes if route is not None]


def raw_step(prepared: Prepared, link_token: str) -> crosschain.RawStep:
    """The route of a link as a step, made of what was verified."""
    (route,) = routes_of(prepared)
    wanted = route.wanted
    return crosschain.RawStep(
        id=Step.of(link_token, wanted.source, prepared.options).text,
        type="lifi",
        tool=route.tool,
        action=crosschain.StepAction(
            fromChainId=wanted.source.chain_id,
            fromToken=crosschain.StepToken.from_record(wanted.source),
            fromAmount=str(route.source_amount),
            fromAddress=wanted.payer,
            toChainId=wanted.destination.chain_id,
            toToken=crosschain.StepToken.from_record(wanted.destination),
            toAddress=wanted.call.to,
        ),
    )


def destination_call(route: Route) -> crosschain.DestinationCall:
    """The call that pays at the end of a route."""
    token, call = route.wanted.destination, route.wanted.call
    return crosschain.DestinationCall(
        network=token.network,
        chain=require_network(token.network).label,
        chainId=token.chain_id,
        target=call.to,
        contractAddress=call.to,
        calldata=call.data,
    )


def with_sender(prepared: Prepared, answers: Sequence[TransactionAnswer]) -> list[TransactionAnswer]:
    """The transactions of a source chain with the fields that routers give them; gas only where one call is made."""
    gas = {route.transaction: route.gas for route in routes_of(prepared)}
    gas |= dict.fromkeys((*prepared.checkout.funding, *prepared.checkout.approvals), TRANSFER_GAS)
    found = []
    for each, answer in zip(prepared.checkout.transactions, answers, strict=True):
        limit = {"gasLimit": hex(gas[each])} if each in gas else {}
        found.append(answer.model_copy(update={"sender": prepared.options.wallet, "chainType": "evm", **limit}))
    return found


def _deadlines(prepared: Prepared) -> dict[str, Any]:
    routes = routes_of(prepared)
    deadline = int(min(route.execution_deadline for route in routes).timestamp())
    facts: dict[str, Any] = {
        "quoteFetchedAt": iso(min(route.fetched_at for route in routes)),
        "executionDeadline": deadline,
        "executionDeadlineBreakdown": crosschain.DeadlineBreakdown(
            bridge=crosschain.BridgeDeadline(deadline=deadline, source="decoded")
        ),
    }
    if prepared.options.is_safe:
        facts["safePaymentDeadline"] = deadline
    return facts


def _costs(prepared: Prepared, route: Route) -> crosschain.CostBreakdown:
    holdings, checkout = prepared.holdings, prepared.checkout
    assert holdings is not None, "a route is quoted for a wallet, which was read"
    funds = prepared.eoa.holdings if prepared.eoa else holdings
    source, wanted = route.wanted.source, route.wanted
    has_tokens = funds.balance_of(source) >= route.source_amount
    cost = format_amount(cost_of(route), source.decimals)

    def fee(gas: int) -> crosschain.NativeFee:
        chain, units = require_network(source.network), BaseUnits(gas * holdings.gas_price)
        return crosschain.NativeFee(
            required=gas > 0,
            currency=chain.coin.symbol,
            amountNative=format_amount(units, chain.coin.decimals),
            hasEnoughBalance=prepared.options.is_safe or holdings.native_balance >= units,
        )

    approving, all_gas = fee(checkout.gas - route.gas), fee(checkout.gas)
    return crosschain.CostBreakdown(
        approvalFee=approving,
        paymentGasFee=fee(route.gas),
        totalGasFee=all_gas,
        bridgeFee=crosschain.BridgeFee(
            required=True, currency=source.symbol, amount=cost, amountUsd=cost, hasEnoughBalance=has_tokens
        ),
        fundingStatus=crosschain.FundingStatus(
            hasEnoughPaymentToken=has_tokens,
            hasEnoughApprovalGas=approving.hasEnoughBalance,
            hasEnoughOverall=has_tokens and all_gas.hasEnoughBalance,
        ),
        totals=crosschain.CostTotals(
            paymentAmount=format_amount(wanted.amount, wanted.destination.decimals),
            paymentCurrency=wanted.destination.id,
            sourceAmount=format_amount(route.source_amount, source.decimals),
        ),
    )
