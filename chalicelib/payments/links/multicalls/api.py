"""Views that combine payout links under a multicall, and read the multicall."""

from chalicelib.accounts.branding import flows as branding
from chalicelib.payments.links.multicalls import flows, reading
from chalicelib.payments.links.multicalls.responses import multicall_answer, multicall_created
from chalicelib.payments.links.multicalls.schemas import CreateMulticall, MulticallAnswer, MulticallCreated
from chalicelib.payments.links.schemas import page_url
from chalicelib.platform.http.view import Call


def create_multicall_payout(call: Call[CreateMulticall, None]) -> MulticallCreated:
    body = call.body
    details = flows.create(call.services, call.caller.owner, body.childTokens, body.requestedExecutionKind)
    return multicall_created(details, page_url(details.payable.link, call.services.settings.pay_url))


def read_multicall_payout(call: Call[None, None]) -> MulticallAnswer:
    services = call.services
    details = reading.read(services, call.path["token"], call.caller.account_id)
    client_branding = branding.of_client(services, details.payable.link.client_id)
    return multicall_answer(details, client_branding, services.settings.confirmations)
