"""Views of e-mail addresses, and of the links that are sent to them, on the auth host."""

from chalicelib.accounts.email import flows
from chalicelib.accounts.email.schemas import (
    AddressAnswer,
    Addressed,
    AddressList,
    ChosenLanguage,
    Confirmed,
    LinkSent,
    NewPassword,
    Token,
)
from chalicelib.accounts.sign_in.schemas import Done
from chalicelib.base.languages import language_of
from chalicelib.mail.flows import is_configured
from chalicelib.platform.http.view import AnyCall, Call


def list_addresses(call: Call[None, None]) -> AddressList:
    return _answer_list(call)


def choose_language(call: Call[ChosenLanguage, None]) -> AddressList:
    flows.choose_language(call.services, call.caller.signed_in.person, call.body.language, call.actor)
    return _answer_list(call)


def ask_confirmation(call: Call[Addressed, None]) -> LinkSent:
    person, language = call.caller.signed_in.person, language_of(call.headers.get("accept-language", ""))
    flows.ask_confirmation(call.services, call.caller.account_id, person, call.body.email, language)
    return LinkSent(emailSent=is_configured(call.services))


def confirm_address(call: Call[Token, None]) -> Confirmed:
    return Confirmed(email=flows.confirm(call.services, call.body.token, call.actor))


def forgot_password(call: Call[Addressed, None]) -> LinkSent:
    flows.forgot_password(call.services, call.body.email, language_of(call.headers.get("accept-language", "")))
    return LinkSent(emailSent=is_configured(call.services))


def reset_password(call: Call[NewPassword, None]) -> Done:
    flows.reset_password(call.services, call.body.token, call.body.password, call.actor)
    return Done(success=True)


def _answer_list(call: AnyCall) -> AddressList:
    addresses = flows.addresses_of(call.services, call.caller.signed_in.person)
    listed = [AddressAnswer.of(each) for each in addresses]
    return AddressList(addresses=listed, sendsEmail=is_configured(call.services))
