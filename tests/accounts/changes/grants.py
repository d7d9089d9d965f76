"""What says where the money of an account goes, read from the store by rules of the tests' own: grants.

A grant is a tuple: its kind, and what it says. Whatever is new, or takes an approver away, redirects money; approvers have
to be shown it.
"""

from datetime import datetime
from typing import Any

from chalicelib.accounts.members.records import Invitation
from chalicelib.accounts.payees.records import ActiveDestination, PayeeDestination
from chalicelib.commerce.core.records import CommercePayment
from chalicelib.platform.access.credentials.records import Account, ApiKey, ClientId, CredentialStatus, OrchestratorKey
from chalicelib.platform.access.people.records import Identity, Membership, Role
from chalicelib.webhooks.endpoints.records import Endpoint
from tests.fakes.memory_store import MemoryStore

Grant = tuple[Any, ...]


def grants(store: MemoryStore, account_id: str, now: datetime) -> set[Grant]:
    """What says where money of the account goes and who may do so. Taking something back removes some, and adds none."""
    found = set[Grant]()
    for client in store.all(ClientId):
        if client.account_id == account_id and client.status is not CredentialStatus.REVOKED:
            said: Grant = (client.fee_percentage, client.fee_address, client.operator_wallet_address)
            said += (client.payee_destination_id, client.admits_orchestrator)
            found |= {("client", client.client_id, *said)} if any(said) else {("client", client.client_id)}
            found.add(("limits", client.client_id, client.allowed_payees, client.allowed_currencies))
            found |= {("linked", client.client_id, client.orchestrator_id)} if client.orchestrator_id else set()
            found |= {("executes", client.client_id)} if client.may_execute else set()
            found |= {("on", client.client_id)} if client.status is CredentialStatus.ACTIVE else set()
    for key in store.all(ApiKey):
        if key.account_id == account_id and key.status is CredentialStatus.ACTIVE:
            found |= {("key", key.key_id, each) for each in key.scopes or ("any:write",) if each.endswith(":write")}
    for platform in store.all(OrchestratorKey):
        if platform.account_id == account_id and platform.status is CredentialStatus.ACTIVE:
            found.add(("platform", platform.orchestrator_id))
    for hook in store.all(Endpoint):
        if hook.account_id == account_id and hook.is_active and hook.gets_personal_data:
            found.add(("webhook", hook.webhook_id, hook.url, hook.secret_number))
    active = {(each.account_id, each.record_id) for each in store.all(ActiveDestination)}
    for route in store.all(PayeeDestination):
        if route.account_id == account_id and (account_id, route.record_id) in active:
            found.add(("route", route.wallet_address, route.chain_id, route.token_address))
    for member in store.all(Membership):
        if member.account_id == account_id and member.role is not Role.VIEWER:
            found.add(("role", member.person_id, member.role.value))
    for each in store.all(Invitation):
        if each.account_id == account_id and each.role is not Role.VIEWER and now < each.expires_at:
            found.add(("invitation", each.name, each.role.value))
    for payment in store.all(CommercePayment):
        if payment.account_id == account_id and payment.pending is not None and payment.pending.fee_bps:
            found.add(("fee", payment.request_id, payment.pending.number, payment.pending.fee_receiver))
    account = store.get(Account, Account.KEY.of(account_id=account_id))
    found.add(("rule", account.has_approvals, account.approval_delay_hours))
    return found


def redirections(before: set[Grant], after: set[Grant], left: str | None, identities: list[Identity]) -> set[Grant]:
    """What is new, and approvers who are gone, except who has left by themselves. A new client id that says nothing is
    nobody's money, a platform that is known may link client ids, and who was invited may accept, once."""
    plain = {each[1] for each in after if each[0] == "client" and len(each) == 2}
    new = {each for each in after - before if each[0] != "client" or len(each) > 2 or _known(each[1], before)}
    new = {each for each in new if not (each[0] in ("limits", "on") and each[1] in plain and not _known(each[1], before))}
    new = {each for each in new if each[0] != "linked" or ("platform", each[2]) not in before}
    new = {each for each in new if each[0] != "key" or (*each[:2], "any:write") not in before}
    accepted = {each[1:] for each in before - after if each[0] == "invitation"}
    joined = {(each.person_id, role) for each in identities for name, role in accepted if each.name == name}
    new = {each for each in new if each[0] != "role" or each[1:] not in joined}
    approvers = {"owner", "admin", "finance"}
    gone = {each for each in before - after if each[0] == "role" and each[2] in approvers and each[1] != left}
    return new | gone


def is_shown(grant: Grant, effects: list[dict[str, Any]]) -> bool:
    """Whether one of these effects, as approvers see them, says what this grant says, or that it ends."""
    kind, *facts = grant
    after = [(each["resource"], each["after"]) for each in effects if each["after"]]
    if kind == "route":
        wanted = {"walletAddress": facts[0], "chainId": facts[1], "tokenAddress": facts[2]}
        return any(resource == "payee_destination" and wanted.items() <= each.items() for resource, each in after)
    if kind == "role":
        sides = [side for each in effects if each["resource"] == "member" for side in (each["before"], each["after"])]
        return any(side and (side.get("personId"), side.get("role")) == tuple(facts) for side in sides)
    if kind == "invitation":
        wanted = {"name": facts[0], "role": facts[1]}
        return any(resource == "invitation" and wanted.items() <= each.items() for resource, each in after)
    if kind == "webhook":  # on again or confirmed, with the secret that it had, or with another one
        hooks = [each for resource, each in after if resource == "webhook" and each.get("url") == facts[1]]
        hooks = [each for each in hooks if each.get("isActive") or each.get("isConfirmed") or "secretNumber" in each]
        return any(each.get("secretNumber", facts[2]) == facts[2] for each in hooks)
    if kind == "client":
        said = dict(zip(("feePercentage", "feeAddress", "operatorWalletAddress"), facts[1:4], strict=True))
        return any(
            resource == "client_id" and all(said.get(name, value) == value for name, value in each.items())
            for resource, each in after
        )
    if kind == "key":  # a new one has no id yet that it is known by
        keys = [each for resource, each in after if resource == "api_key" and each.get("keyId") in (None, facts[0])]
        return any("scopes" in each and facts[1] in (each["scopes"] or facts) for each in keys)
    resource = {"rule": "account", "platform": "orchestrator"}.get(kind, "client_id")
    return resource in {name for name, _ in after}


def _known(client_id: str, before: set[Grant]) -> bool:
    return any(each[0] == "client" and each[1] == client_id for each in before)
