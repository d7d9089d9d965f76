"""Sets, reads, removes and checks the domain of a client id."""

from chalicelib.accounts.branding.records import PageBranding
from chalicelib.accounts.credentials import flows as credentials
from chalicelib.accounts.domains import store
from chalicelib.accounts.domains.records import PageDomain
from chalicelib.accounts.domains.rules import (
    Merchant,
    after_check,
    domain_of,
    file_url,
    has_ended,
    merchant_of,
    proves,
    txt_name,
)
from chalicelib.base.errors import NotFound
from chalicelib.platform.access.audit.records import Actor, AuditEntry
from chalicelib.platform.access.audit.rules import make_entry
from chalicelib.platform.access.credentials.records import ClientId
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.rate_limits import flows as rate_limits
from chalicelib.platform.access.rate_limits.rules import domain_check_window
from chalicelib.platform.outbound.txt_records import NoDnsAnswer
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import Delete

BY_CHECK = "service"
"""The actor in the audit entry of a mark that has ended."""


def put(services: Services, actor: Actor, record_id: str, text: str) -> PageDomain:
    """Sets the client id's domain, and looks for its proof. Raises NotFound, BadRequest, TooManyRequests."""
    client, old = _of_owner(services, actor.account_id, record_id)
    domain = domain_of(client, text, old, services.clock(), services.entropy)
    _count(services, actor.account_id)
    set_entry = make_entry(actor, "domain.updated", record_id, services.clock(), services.entropy)
    return check_now(services, services.store.write(domain, set_entry))


def read(services: Services, account_id: str, record_id: str) -> PageDomain:
    """The domain of a client id of this account. Raises NotFound."""
    _, domain = _of_owner(services, account_id, record_id)
    if domain is None:
        raise NotFound("This client ID has no domain")
    return domain


def remove(services: Services, actor: Actor, record_id: str) -> bool:
    """Removes the client id's domain; False if it has none. Raises NotFound for another account's client id."""
    _, domain = _of_owner(services, actor.account_id, record_id)
    if domain is not None:
        removal = make_entry(actor, "domain.removed", record_id, services.clock(), services.entropy)
        services.store.write(Delete(domain), removal)
    return domain is not None


def check(services: Services, account_id: str, record_id: str) -> PageDomain:
    """Looks for the proof now. Raises NotFound, TooManyRequests, WriteConflict."""
    domain = read(services, account_id, record_id)
    _count(services, account_id)
    return check_now(services, domain)


def check_now(services: Services, domain: PageDomain) -> PageDomain:
    """Looks for the proof and writes what was found. Raises WriteConflict if the domain was changed meanwhile."""
    return services.store.write(*writes_of_check(services, domain, problem_of(services, domain)))


def writes_of_check(
    services: Services, domain: PageDomain, problem: str | None
) -> tuple[PageDomain, *tuple[AuditEntry, ...]]:
    """What is written after a check: the domain; and, if its mark has ended since the check before, an audit entry, by
    which the owners are told."""
    now = services.clock()
    found = after_check(domain, problem, now)
    if not has_ended(domain, found):
        return (found,)
    by = Actor(domain.account_id, BY_CHECK, "", "")
    return found, make_entry(by, "domain.expired", domain.record_id, now, services.entropy)


def problem_of(services: Services, domain: PageDomain) -> str | None:
    """Why the proof is neither in DNS nor in the file; None if it is. At most one question and one request, each of up
    to five seconds. Writes nothing."""
    name = txt_name(domain)
    try:
        texts = services.txt_records.of(name)
    except NoDnsAnswer:
        in_dns = f"DNS did not answer for {name}"
    else:
        if proves(domain, texts):
            return None
        in_dns = f"the TXT records of {name} do not have it" if texts else f"there is no TXT record at {name}"
    answer = services.sender.get(file_url(domain))
    if answer.status == 200 and proves(domain, answer.answer.splitlines()):
        return None
    if answer.status is None:
        return f"{in_dns}; {file_url(domain)}: {answer.error}"
    return f"{in_dns}; {file_url(domain)} answered {answer.status}" + (" without it" if answer.status == 200 else "")


def of_page(
    services: Services, client_id: str | None, has_known_payees: bool
) -> tuple[PageBranding | None, Merchant | None]:
    """What the page of a link shows of its client id. One read, two with a domain; none without a client id."""
    if client_id is None:
        return None, None
    branding, domain, client = store.of_page(services.store, credential_hash(client_id))
    return branding, merchant_of(client, domain, has_known_payees, services.clock())


def _count(services: Services, account_id: str) -> None:
    """Raises TooManyRequests above the checks that an account may ask for: each sends a request to others' servers."""
    rate_limits.count_in_all(
        services, domain_check_window(account_id, services.settings.rate_limit_scale, services.clock())
    )


def _of_owner(services: Services, account_id: str, record_id: str) -> tuple[ClientId, PageDomain | None]:
    client, _ = credentials.read(services, account_id, ClientId, record_id)
    return client, store.find_domain(services.store, client.client_id_hash)
