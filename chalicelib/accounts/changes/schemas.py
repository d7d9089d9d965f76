"""Models of changes that wait."""

import json
from typing import Annotated, Any, Self

from pydantic import Field

from chalicelib.accounts.changes.records import ChangeState, PendingChange
from chalicelib.platform.http.fields import Limit
from chalicelib.platform.http.schemas import Input, Output, iso_or_none, unsent


class ChangesQuery(Input):
    cursor: Annotated[str, Field(pattern=r"^[0-9A-HJKMNP-TV-Z]{26}$")] | None = Field(
        None, description="nextCursor of the page before"
    )
    limit: Limit = Field(50, description="Changes on a page")


class Effect(Output):
    """What a change does to one record: the fields by which it is known and those that change; all of one that is new
    or switched on."""

    resource: str = Field(
        description="account, api_key, client_id, invitation, member, orchestrator, payee_destination or webhook"
    )
    before: dict[str, Any] | None = Field(description="Null for a new record")
    after: dict[str, Any] | None = Field(description="Null for a record that is removed")


class ChangeAnswer(Output):
    """A change as it was asked for. `path` and `request` are what the operation was sent, `effects` what it does."""

    id: str
    operation: str = Field(description="Of this API, by its operation id")
    path: dict[str, str]
    request: dict[str, Any] | None = Field(description="The body; null without one")
    effects: list[Effect] = Field(description="If it would do anything else when it takes effect, it fails")
    state: ChangeState
    askedBy: str = Field(description="The kind and public id of the person or credential that asked for it")
    askedAt: str
    takesEffectAt: str | None = Field(description="Without approval, unless refused; null if it needs approval")
    expiresAt: str
    approvedBy: list[str]
    decidedAt: str | None
    decidedBy: str | None
    reason: str | None = Field(description="Why it failed")

    @classmethod
    def of(cls, change: PendingChange) -> Self:
        return cls.from_record(
            change,
            id=change.change_id,
            path=json.loads(change.path),
            request=json.loads(change.body) if change.body else None,
            effects=[Effect(**each) for each in json.loads(change.effects)],
            askedBy=change.asker.name,
            takesEffectAt=iso_or_none(change.takes_effect_at),
            decidedAt=iso_or_none(change.decided_at),
            approvedBy=[f"person:{each}" for each in change.approved_by],
        )


class ChangesPage(Output):
    """Newest first. `nextCursor` is null on the last page."""

    changes: list[ChangeAnswer]
    nextCursor: str | None


class Waiting(Output):
    """The change waits: nothing has been changed yet."""

    pendingChange: ChangeAnswer
    result: dict[str, Any] | None = Field(
        default_factory=unsent,
        description="Where the operation shows a secret, its response: what is in it works once the change takes "
        "effect, and is not shown again",
    )
