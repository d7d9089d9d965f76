"""The view for events of the compliance and off-ramp provider."""

from typing import Any, Literal

from pydantic import ConfigDict, Field

from chalicelib.offramp.payers import inbound
from chalicelib.offramp.payers.reports import take_account, take_user
from chalicelib.offramp.service.flows import take
from chalicelib.platform.http.schemas import Input, Output
from chalicelib.platform.http.view import Call, Signed
from chalicelib.platform.outbound.compliance import ProviderAccount, ProviderUser


class ProviderEventBody(Input):
    """One event. It carries the whole present state of one person, bank account or order."""

    model_config = ConfigDict(extra="allow")

    id: str = Field(description="The provider's id of the event")
    account: str = Field(description="The account at the provider that it is for: COMPLIANCE_ACCOUNT")
    kind: Literal["user", "bank_account", "order"] = Field(description="What it is about")
    data: dict[str, Any] = Field(description="Its present state, as the provider answers when it is asked")


class EventTaken(Output):
    received: Literal[True] = Field(description="Always true: also for an event that was taken before")


def receive_event(call: Call[Signed[ProviderEventBody], None]) -> EventTaken:
    subject = inbound.check_event(call.services, call.headers, call.body.raw)
    if isinstance(subject, ProviderUser):
        take_user(call.services, subject)
    elif isinstance(subject, ProviderAccount):
        take_account(call.services, subject)
    else:
        take(call.services, subject)
    return EventTaken(received=True)
