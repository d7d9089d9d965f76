"""Models of the audit log."""

from typing import Annotated, Self

from pydantic import Field

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
    actor: str = Field(description="The kind and public id of the person or credential that acted")
    action: str = Field(description="<resource>.<verb>, such as api_key.created")
    target: str = Field(description="The public id of what was changed")
    ipAddress: str
    requestId: str
    sessionId: str | None = Field(description="Of the person's session")

    @classmethod
    def of(cls, entry: AuditEntry) -> Self:
        return cls.from_record(entry, id=entry.entry_id)


class AuditPage(Output):
    """Newest first. `nextCursor` is null on the last page."""

    entries: list[AuditLine]
    nextCursor: str | None
