"""Views of an account's settings."""

from chalicelib.accounts.settings import flows
from chalicelib.accounts.settings.schemas import AccountAnswer, ChangeAccount
from chalicelib.platform.http.view import Call


def read_account(call: Call[None, None]) -> AccountAnswer:
    low = flows.networks_low_on_gas(call.services, call.caller.signed_in.membership.role)
    return AccountAnswer.of(flows.read(call.services, call.caller.account_id), low)


def change_account(call: Call[ChangeAccount, None]) -> AccountAnswer:
    return AccountAnswer.of(flows.change(call.services, call.actor, call.caller.signed_in, call.body.settings()))
