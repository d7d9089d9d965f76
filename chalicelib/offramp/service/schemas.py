"""Models of the provider's events, and of the answer to one."""

from typing import Any, Literal

from pydantic import ConfigDict, Field

from chalicelib.platform.http.schemas import Input, Output


class ProviderEventBody(Input):
    """One event. It carries the whole present state of one person, bank account or order."""

    model_config = ConfigDict(extra="allow")

    id: str = Field(description="The provider's id of the event")
    account: str = Field(description="The account at the provider that it is for: COMPLIANCE_ACCOUNT")
    kind: Literal["user", "bank_account", "order"] = Field(description="What it is about")
    data: dict[str, Any] = Field(description="Its present state, as the provider answers when it is asked")


class EventTaken(Output):
    received: Literal[True] = Field(description="Always true: also for an event that was taken before")
