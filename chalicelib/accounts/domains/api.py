"""Views of the domain of a client id, on the API host for API keys and on the auth host for sessions."""

from chalicelib.accounts.domains import flows
from chalicelib.accounts.domains.schemas import DomainAnswer, DomainRemoved, PutDomain
from chalicelib.platform.http.view import Call


def put_domain(call: Call[PutDomain, None]) -> DomainAnswer:
    domain = flows.put(call.services, call.actor, call.path["id"], call.body.domain)
    return DomainAnswer.of(domain, call.services.clock())


def read_domain(call: Call[None, None]) -> DomainAnswer:
    domain = flows.read(call.services, call.caller.account_id, call.path["id"])
    return DomainAnswer.of(domain, call.services.clock())


def remove_domain(call: Call[None, None]) -> DomainRemoved:
    return DomainRemoved(removed=flows.remove(call.services, call.actor, call.path["id"]))


def check_domain(call: Call[None, None]) -> DomainAnswer:
    domain = flows.check(call.services, call.caller.account_id, call.path["id"])
    return DomainAnswer.of(domain, call.services.clock())


put_domain_by_session = put_domain
read_domain_by_session = read_domain
remove_domain_by_session = remove_domain
check_domain_by_session = check_domain
