"""Multicall payouts: combine payout links under one parent, and read it."""

from chalice import Blueprint

from chalicelib.api.caller import CREDENTIALS, Mode
from chalicelib.api.edge import Call, operation
from chalicelib.api.multicall_shapes import multicall_answer, multicall_created
from chalicelib.api.schemas.multicall import CreateMulticall, MulticallAnswer, MulticallCreated
from chalicelib.flows import branding, multicalls

blueprint = Blueprint(__name__)


@operation(
    blueprint,
    "POST",
    "/v2/secure-payments/multicall-payouts",
    summary="Combine payout links, to be paid together",
    modes=CREDENTIALS,
    scope="secure_payments:write",
    body=CreateMulticall,
    answer=MulticallCreated,
    status=201,
    errors=(400, 401, 403),
)
def create_multicall_payout(call: Call) -> MulticallCreated:
    body: CreateMulticall = call.body
    details = multicalls.create(call.services, call.caller.owner, body.childTokens, body.requestedExecutionKind)
    url = f"{call.services.settings.pay_url}/?token={details.payment.link.token}"
    return multicall_created(details, url)


@operation(
    blueprint,
    "GET",
    "/v2/secure-payments/multicall-payouts/{token}",
    summary="Read a multicall: its children, what blocks them, and totals",
    modes=(Mode.SESSION,),
    answer=MulticallAnswer,
    looks_up_token=True,
    errors=(401, 403, 404, 423),
)
def read_multicall_payout(call: Call) -> MulticallAnswer:
    services = call.services
    details = multicalls.read(services, call.path["token"], call.caller.account_id)
    return multicall_answer(details, branding.of_link(services, details.payment.link), services.settings.confirmations)
