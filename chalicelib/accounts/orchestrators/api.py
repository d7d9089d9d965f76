"""Orchestrators: platforms that create links for client ids, under `/v2/orchestrators`."""

from chalice import Blueprint

from chalicelib.access.modes import Mode
from chalicelib.accounts.orchestrators import flows as orchestrators
from chalicelib.accounts.orchestrators.schemas import (
    ClientLinkAnswer,
    ClientLinked,
    ClientLinksAnswer,
    ClientUnlinked,
    CreateOrchestrator,
    LinkClient,
    LinksQuery,
    OrchestratorAnswer,
    OrchestratorCreated,
    OrchestratorKeyAnswer,
)
from chalicelib.http.edge import operation
from chalicelib.http.operation import Call

blueprint = Blueprint(__name__)
_MODES = (Mode.ORCHESTRATOR_KEY,)


def _orchestrator_id(call: Call) -> str:
    assert call.caller.orchestrator_id is not None, "the mode says so"
    return call.caller.orchestrator_id


@operation(
    blueprint,
    "POST",
    "/v2/orchestrators",
    summary="Register a platform; its key is shown once",
    modes=(Mode.SESSION,),
    body=CreateOrchestrator,
    answer=OrchestratorCreated,
    status=201,
    errors=(400, 401),
    shows_secret=True,
)
def create_orchestrator(call: Call) -> OrchestratorCreated:
    body: CreateOrchestrator = call.body
    orchestrator, key, text = orchestrators.register(
        call.services, call.actor, body.orchestratorName, body.orchestratorContactEmail
    )
    return OrchestratorCreated(
        orchestrator=OrchestratorAnswer.of(orchestrator), key=OrchestratorKeyAnswer.of(key), rawKey=text
    )


@operation(
    blueprint,
    "GET",
    "/v2/orchestrators/client-ids",
    summary="List the client ids of a platform, newest link first",
    modes=_MODES,
    query=LinksQuery,
    answer=ClientLinksAnswer,
    errors=(400, 401),
)
def list_client_links(call: Call) -> ClientLinksAnswer:
    query: LinksQuery = call.query
    links, total = orchestrators.list_links(call.services, _orchestrator_id(call), query.page, query.limit)
    answers = [ClientLinkAnswer.of(each) for each in links]
    return ClientLinksAnswer(links=answers, total=total, page=query.page, limit=query.limit)


@operation(
    blueprint,
    "POST",
    "/v2/orchestrators/client-ids",
    summary="Link a client id to a platform, once in its life",
    modes=_MODES,
    body=LinkClient,
    answer=ClientLinked,
    status=201,
    errors=(400, 401, 403, 404, 409),
)
def link_client_id(call: Call) -> ClientLinked:
    linkage, already = orchestrators.link_client(
        call.services, call.actor, _orchestrator_id(call), call.body.clientId
    )
    return ClientLinked(link=ClientLinkAnswer.of(linkage), alreadyLinked=already)


@operation(
    blueprint,
    "DELETE",
    "/v2/orchestrators/client-ids/{client_id}",
    summary="End a link for good",
    modes=_MODES,
    answer=ClientUnlinked,
    errors=(401, 404, 409),
)
def unlink_client_id(call: Call) -> ClientUnlinked:
    linkage, already = orchestrators.unlink_client(
        call.services, call.actor, _orchestrator_id(call), call.path["client_id"]
    )
    return ClientUnlinked(link=ClientLinkAnswer.of(linkage), wasAlreadyRevoked=already)
