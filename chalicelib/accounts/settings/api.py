"""Views of an account's settings."""

from chalicelib.accounts.settings import flows
from chalicelib.accounts.settings.schemas import AccountAnswer, ChangeAccount
from chalicelib.platform.http.view import AnyCall, Call


def read_account(call: Call[None, None]) -> AccountAnswer:
    return AccountAnswer.of(flows.read(call.services, call.caller.account_id), _low_networks(call))


def change_account(call: Call[ChangeAccount, None]) -> AccountAnswer:
    session = call.caller.signed_in.session
    changed = flows.change(call.services, call.actor, session, call.body.settings())
    return AccountAnswer.of(changed, _low_networks(call))


def _low_networks(call: AnyCall) -> list[str] | None:
    return flows.networks_low_on_gas(call.services, call.caller.signed_in.membership.role)
