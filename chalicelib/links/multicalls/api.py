"""Multicall payouts: combine payout links under one parent, and read it."""

from chalicelib.accounts.branding import flows as branding
from chalicelib.http.view import Call
from chalicelib.links.multicalls import flows as multicalls
from chalicelib.links.multicalls.responses import multicall_answer, multicall_created
from chalicelib.links.multicalls.schemas import CreateMulticall, MulticallAnswer, MulticallCreated


def create_multicall_payout(call: Call[CreateMulticall, None]) -> MulticallCreated:
    body = call.body
    details = multicalls.create(call.services, call.caller.owner, body.childTokens, body.requestedExecutionKind)
    url = f"{call.services.settings.pay_url}/?token={details.payment.link.token}"
    return multicall_created(details, url)


def read_multicall_payout(call: Call[None, None]) -> MulticallAnswer:
    services = call.services
    details = multicalls.read(services, call.path["token"], call.caller.account_id)
    own = branding.of_client(services, details.payment.link.client_id)
    return multicall_answer(details, own, services.settings.confirmations)
