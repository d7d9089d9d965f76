"""The view for events of the compliance and off-ramp provider."""

from chalicelib.http.view import Call, Signed
from chalicelib.offramp.flows import take
from chalicelib.offramp.schemas import EventTaken, ProviderEventBody
from chalicelib.outbound.compliance import ProviderAccount, ProviderUser
from chalicelib.payers import inbound
from chalicelib.payers.reports import take_account, take_user


def receive_event(call: Call[Signed[ProviderEventBody], None]) -> EventTaken:
    subject = inbound.checked(call.services, call.headers, call.body.raw).subject
    if isinstance(subject, ProviderUser):
        take_user(call.services, subject)
    elif isinstance(subject, ProviderAccount):
        take_account(call.services, subject)
    else:
        take(call.services, subject)
    return EventTaken(received=True)
