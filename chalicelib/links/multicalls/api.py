"""Multicall payouts: combine payout links under one parent, and read it."""

from chalice import Blueprint

from chalicelib.access.modes import CREDENTIALS, Mode
from chalicelib.accounts.branding import flows as branding
from chalicelib.http.edge import operation
from chalicelib.http.operation import Call
from chalicelib.links.multicalls import flows as multicalls
from chalicelib.links.multicalls.schemas import CreateMulticall, MulticallAnswer, MulticallCreated
from chalicelib.links.multicalls.shapes import multicall_answer, multicall_created

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
