"""Views of orchestrators and their links to client ids."""

from chalicelib.accounts.orchestrators import flows
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
    OrchestratorRevoked,
    OrchestratorsAnswer,
    OwnOrchestrator,
)
from chalicelib.platform.http.view import AnyCall, Call


def _orchestrator_id(call: AnyCall) -> str:
    assert call.caller.orchestrator_id is not None, "set in orchestrator key mode"
    return call.caller.orchestrator_id


def create_orchestrator(call: Call[CreateOrchestrator, None]) -> OrchestratorCreated:
    body = call.body
    orchestrator, key, text = flows.register(
        call.services, call.actor, body.orchestratorName, body.orchestratorContactEmail, call.source
    )
    return OrchestratorCreated(
        orchestrator=OrchestratorAnswer.of(orchestrator), key=OrchestratorKeyAnswer.of(key), rawKey=text
    )


def list_orchestrators(call: Call[None, None]) -> OrchestratorsAnswer:
    own = flows.list_own(call.services, call.actor.account_id)
    return OrchestratorsAnswer(orchestrators=[OwnOrchestrator.of(*each) for each in own])


def revoke_orchestrator(call: Call[None, None]) -> OrchestratorRevoked:
    orchestrator_id = call.path["orchestrator_id"]
    flows.revoke(call.services, call.actor, orchestrator_id)
    return OrchestratorRevoked(id=orchestrator_id, revoked=True)


def list_client_links(call: Call[None, LinksQuery]) -> ClientLinksAnswer:
    query = call.query
    links, total = flows.list_links(call.services, _orchestrator_id(call), query.page, query.limit)
    models = [ClientLinkAnswer.of(each) for each in links]
    return ClientLinksAnswer(links=models, total=total, page=query.page, limit=query.limit)


def link_client_id(call: Call[LinkClient, None]) -> ClientLinked:
    linkage, already = flows.link_client(call.services, call.actor, _orchestrator_id(call), call.body.clientId)
    return ClientLinked(link=ClientLinkAnswer.of(linkage), alreadyLinked=already)


def unlink_client_id(call: Call[None, None]) -> ClientUnlinked:
    linkage, already = flows.unlink_client(
        call.services, call.actor, _orchestrator_id(call), call.path["client_id"]
    )
    return ClientUnlinked(link=ClientLinkAnswer.of(linkage), wasAlreadyRevoked=already)
