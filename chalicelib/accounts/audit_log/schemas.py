"""Models of the audit log."""

from typing import Annotated, Self

from pydantic import Field

from chalicelib.base.timestamps import iso
from chalicelib.platform.access.audit.records import AuditEntry
from chalicelib.platform.http.fields import Limit, form
from chalicelib.platform.http.schemas import Input, Output


class AuditQuery(Input):
    cursor: Annotated[str, form(format="audit-cursor")] | None = Field(
        None, description="nextCursor of the page before"
    )
    limit: Limit = Field(50, description="Entries on a page")


class AuditLine(Output):
    id: str
    at: str
    actor: str = Field(description="The kind and public id of the session or credential that acted")
    action: str = Field(description="<resource>.<verb>, such as api_key.created")
    target: str = Field(description="The public id of what was changed")
    ipAddress: str
    requestId: str

    @classmethod
    def of(cls, entry: AuditEntry) -> Self:
        return cls(
            id=entry.entry_id,
            at=iso(entry.at),
            actor=entry.actor,
            action=entry.action,
            target=entry.target,
            ipAddress=entry.ip_address,
            requestId=entry.request_id,
        )


class AuditPage(Output):
    """Newest first. `nextCursor` is null on the last page."""

    entries: list[AuditLine]
    nextCursor: str | None
