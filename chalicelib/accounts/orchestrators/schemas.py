"""Models of orchestrators and their links to client ids."""

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints

from chalicelib.accounts.orchestrators.records import Linkage, Orchestrator
from chalicelib.accounts.sign_in.schemas import Email
from chalicelib.base.timestamps import iso
from chalicelib.platform.access.credentials.records import OrchestratorKey
from chalicelib.platform.http.fields import DIGITS, Limit, form
from chalicelib.platform.http.schemas import Input, Output

MAX_PAGE = 10_000

Name = Annotated[str, StringConstraints(min_length=1, max_length=100, strip_whitespace=True), form(r"\S")]


class CreateOrchestrator(Input):
    orchestratorName: Name = Field(description="What merchants see; not only spaces")
    orchestratorContactEmail: Email = Field(description="The address for support requests")


class LinkClient(Input):
    clientId: Annotated[str, StringConstraints(min_length=1, max_length=64)] = Field(
        description="A client id whose orchestratorId names this orchestrator"
    )


class LinksQuery(Input):
    page: Annotated[int, Field(ge=1, le=MAX_PAGE), DIGITS] = Field(1, description="Which page, from 1")
    limit: Limit = Field(50, description="Links on a page")


class OrchestratorAnswer(Output):
    id: str
    name: str
    supportEmail: str
    status: Literal["active"]
    createdAt: str
    updatedAt: str

    @classmethod
    def of(cls, orchestrator: Orchestrator) -> Self:
        return cls.from_record(
            orchestrator,
            id=orchestrator.orchestrator_id,
            supportEmail=orchestrator.contact_email,
            status="active",
            updatedAt=iso(orchestrator.created_at),
        )


class OrchestratorKeyAnswer(Output):
    id: str
    orchestratorId: str
    keyPrefix: str
    status: str
    createdAt: str

    @classmethod
    def of(cls, key: OrchestratorKey) -> Self:
        return cls.from_record(key, id=key.key_id, keyPrefix=key.prefix)


class OrchestratorCreated(Output):
    """The only response that shows the key (`rawKey`)."""

    orchestrator: OrchestratorAnswer
    key: OrchestratorKeyAnswer
    rawKey: str


class OwnOrchestrator(Output):
    orchestrator: OrchestratorAnswer
    key: OrchestratorKeyAnswer

    @classmethod
    def of(cls, orchestrator: Orchestrator, key: OrchestratorKey) -> Self:
        return cls(orchestrator=OrchestratorAnswer.of(orchestrator), key=OrchestratorKeyAnswer.of(key))


class OrchestratorsAnswer(Output):
    orchestrators: list[OwnOrchestrator]


class OrchestratorRevoked(Output):
    id: str
    revoked: Literal[True]


class ClientLinkAnswer(Output):
    clientId: str
    status: str
    createdAt: str
    revokedAt: str | None

    @classmethod
    def of(cls, linkage: Linkage) -> Self:
        return cls.from_record(linkage)


class ClientLinksAnswer(Output):
    links: list[ClientLinkAnswer]
    total: int
    page: int
    limit: int


class ClientLinked(Output):
    link: ClientLinkAnswer
    alreadyLinked: bool


class ClientUnlinked(Output):
    link: ClientLinkAnswer
    wasAlreadyRevoked: bool
