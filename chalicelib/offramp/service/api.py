"""The view for events of the compliance and off-ramp provider."""

from chalicelib.offramp.payers import inbound
from chalicelib.offramp.payers.reports import take_account, take_user
from chalicelib.offramp.service.flows import take
from chalicelib.offramp.service.schemas import EventTaken, ProviderEventBody
from chalicelib.platform.http.view import Call, Signed
from chalicelib.platform.outbound.compliance import ProviderAccount, ProviderUser


def receive_event(call: Call[Signed[ProviderEventBody], None]) -> EventTaken:
    subject = inbound.check_event(call.services, call.headers, call.body.raw).subject
    if isinstance(subject, ProviderUser):
        take_user(call.services, subject)
    elif isinstance(subject, ProviderAccount):
        take_account(call.services, subject)
    else:
        take(call.services, subject)
    return EventTaken(received=True)
