"""Adds, changes, reads and deactivates payee destinations, for client ids with a wallet's signature or for sessions.

Every change is one transaction: the destination, the record that points to the wallet's active destination, the nonce
of the signature, the client id that is bound, and the audit log entries.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from chalicelib.accounts.payees import store
from chalicelib.accounts.payees.records import Action, ActiveDestination, PayeeDestination, SigningNonce
from chalicelib.accounts.payees.rules import (
    INVALID_NONCE,
    activate_destination,
    belongs_to,
    change_route,
    check_addable,
    check_no_other,
    check_nonce,
    check_signer,
    check_vouched,
    check_wallet,
    new_nonce,
    parse_route,
    route_of_id,
)
from chalicelib.base.errors import BadRequest, Forbidden, NotFound
from chalicelib.chains.catalogue.interop import Destination
from chalicelib.platform.access.audit import rules as audit
from chalicelib.platform.access.audit.records import Actor, AuditEntry
from chalicelib.platform.access.credentials.records import ClientId
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.people.records import Membership
from chalicelib.platform.access.sessions.records import Session, SessionKind, Wallet
from chalicelib.platform.own_accounts.flows import own_addresses
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import Delete, Write, WriteConflict

_Active = tuple[ActiveDestination, PayeeDestination]
_NOT_FOUND = "Payee destination not found"
_NOT_DEACTIVATED = "Destination not found or validation failed"


def issue_nonce(services: Services, client: ClientId, route: Destination, action: Action) -> SigningNonce:
    """A nonce for the wallet of the route to sign for this client id. One write."""
    nonce = new_nonce(route, client.client_id, action, services.clock(), services.entropy)
    services.store.write(nonce)
    return nonce


def add(
    services: Services,
    actor: Actor,
    client: ClientId,
    nonce_text: str,
    signature: str,
    vouched: bool = False,
    asked_at: datetime | None = None,
) -> PayeeDestination:
    """Binds the client id to the route that its wallet signed. A route that was deactivated becomes active again.

    `vouched` is set if an API key of the account was sent with the client id. The nonce must not have expired at
    `asked_at`, by default now. Three reads, one more if the wallet has
    an active destination, up to two more unless `vouched`; one transaction. Raises BadRequest (nonce), Unauthorized
    (signature), Forbidden or Conflict (rules.check_vouched, check_addable).
    """
    nonce = _check_nonce(services, client, nonce_text, signature, Action.ADD, asked_at)
    route, own = nonce.route, store.destinations(services.store, client.account_id)
    bound = next((each for each in own if each.record_id == client.payee_destination_id), None)
    active = store.active_destination(services.store, route.wallet)
    if not vouched:
        check_vouched(route, client, bound, _membership_of(services, client.account_id, route.wallet))
    check_addable(route, client, bound, active[1] if active else None)
    known = active[1] if active else next((each for each in own if each.route == route), None)
    destination = activate_destination(
        known, route, client.account_id, client.client_id, services.clock(), services.entropy
    )
    writes: list[Write] = [destination, *_audit_entries(services, actor, "payee_destination.added", destination)]
    if active is None:
        writes.append(_pointer(destination, route.wallet))
    if client.payee_destination_id != destination.record_id:
        now = services.clock()
        writes.append(replace(client, payee_destination_id=destination.record_id, updated_at=now))
        writes.append(audit.make_entry(actor, "client_id.bound", client.record_id, now, services.entropy))
    _use_up(services, nonce, writes)
    return destination


def remove(
    services: Services, actor: Actor, client: ClientId, id_text: str, nonce_text: str, signature: str
) -> PayeeDestination:
    """Deactivates a destination of the client id, as its wallet signed. Then another wallet can be bound to it.

    Raises BadRequest, Unauthorized, Forbidden if it belongs to another client id, NotFound if the id is cut off at its
    `#`.
    """
    try:
        route = _route_of(services, id_text)
    except BadRequest:
        raise BadRequest(_NOT_DEACTIVATED) from None
    nonce = _check_nonce(services, client, nonce_text, signature, Action.DEACTIVATE)
    active = store.active_destination(services.store, route.wallet)
    if nonce.route != route or active is None or active[1].route != route:
        raise BadRequest(_NOT_DEACTIVATED)
    if not belongs_to(active[1], client):
        raise Forbidden("This payee destination belongs to another client ID")
    writes, deactivated = _deactivation(services, actor, active)
    _use_up(services, nonce, writes)
    return deactivated


def active_of_client(services: Services, client: ClientId, wallet: str) -> PayeeDestination | None:
    """The active destination of a wallet, if it belongs to the client id. Two reads."""
    active = store.active_destination(services.store, wallet)
    return active[1] if active and belongs_to(active[1], client) else None


def of_client(services: Services, client: ClientId, id_text: str) -> PayeeDestination:
    """A destination of the client id, active or not. One read. Raises NotFound, also if another client id has it."""
    route = None
    with suppress(BadRequest):
        route = _route_of(services, id_text)
    own = (each for each in store.destinations(services.store, client.account_id) if belongs_to(each, client))
    found = _of_route(own, route) if route else None
    if found is None:
        raise NotFound(_NOT_FOUND)
    return found


def bound_to(services: Services, account_id: str, record_id: str) -> PayeeDestination | None:
    """The destination that a client id of the account is bound to, if it is active. One read."""
    bound = store.destination(services.store, account_id, record_id)
    return bound if bound and bound.is_active else None


def wallet_of(session: Session | None) -> Wallet:
    """The wallet that signed in. Raises Forbidden for an e-mail session."""
    if session is None or session.kind is not SessionKind.WALLET:
        raise Forbidden("wallet session required")
    return Wallet(session.subject, session.chain_id)


def activate(
    services: Services, actor: Actor, wallet: Wallet, token_address: str, chain_id: int, access_mode: str | None
) -> PayeeDestination:
    """Makes a route the active destination of the wallet that signed in. Raises Conflict if it has another one."""
    route = parse_route(wallet.address, token_address, chain_id, own_addresses(services))
    check_wallet(wallet, route)
    active = store.active_destination(services.store, wallet.name)
    if active:
        check_no_other(route, active[1])
    known = active[1] if active else _of_route(store.destinations(services.store, actor.account_id), route)
    destination = activate_destination(known, route, actor.account_id, None, services.clock(), services.entropy)
    destination = replace(destination, access_mode=access_mode)
    pointer = [] if active else [_pointer(destination, wallet.name)]
    entries = _audit_entries(services, actor, "payee_destination.added", destination)
    services.store.write(destination, *pointer, *entries)
    return destination


def change(
    services: Services, actor: Actor, wallet: Wallet, token_address: str, chain_id: int, access_mode: str | None
) -> PayeeDestination:
    """Changes token or chain of the wallet's active destination. Raises NotFound if it has none."""
    route = parse_route(wallet.address, token_address, chain_id, own_addresses(services))
    check_wallet(wallet, route)
    destination = replace(change_route(_active_of(services, wallet)[1], route), access_mode=access_mode)
    services.store.write(destination, *_audit_entries(services, actor, "payee_destination.changed", destination))
    return destination


def active_of(services: Services, name: str) -> PayeeDestination | None:
    """The active destination of any wallet, by its `Wallet.name`. Two reads.

    The name of a wallet with a private key is its address. The name of a contract wallet includes its chain, as
    somebody else may control the same address on another chain.
    """
    active = store.active_destination(services.store, name)
    return active[1] if active else None


def of_wallet(services: Services, actor: Actor, wallet: Wallet, id_text: str) -> PayeeDestination:
    """A destination of the wallet that signed in. Raises NotFound, BadRequest, Forbidden if it is another wallet's."""
    route = _own_route(services, wallet, id_text)
    active = store.active_destination(services.store, wallet.name)
    if active and active[1].route == route:
        return active[1]
    found = _of_route(store.destinations(services.store, actor.account_id), route)
    if found is None:
        raise NotFound(_NOT_FOUND)
    return found


def deactivate(services: Services, actor: Actor, wallet: Wallet, id_text: str) -> None:
    """Deactivates the active destination of the wallet that signed in. Raises Forbidden, NotFound, BadRequest."""
    route = _own_route(services, wallet, id_text)
    active = _active_of(services, wallet)
    if active[1].route != route:
        raise NotFound(_NOT_FOUND)
    writes, _ = _deactivation(services, actor, active)
    services.store.write(*writes)


def _check_nonce(
    services: Services,
    client: ClientId,
    nonce_text: str,
    signature: str,
    action: Action,
    asked_at: datetime | None = None,
) -> SigningNonce:
    """The nonce, if its wallet signed it. One read. Raises BadRequest (nonce), Unauthorized (signature)."""
    stored = store.nonce(services.store, nonce_text)
    nonce = check_nonce(stored, nonce_text, client.client_id, action, asked_at or services.clock())
    check_signer(nonce, signature, services.settings.brand)
    return nonce


def _membership_of(services: Services, account_id: str, wallet: str) -> Membership | None:
    """The membership of the account of whoever signs in with a wallet. Up to two reads."""
    identity = person_store.identity(services.store, wallet)
    return person_store.find_membership(services.store, account_id, identity.person_id) if identity else None


def _use_up(services: Services, nonce: SigningNonce, writes: list[Write]) -> None:
    """Writes the records and deletes the nonce, in one transaction. Raises BadRequest if the nonce has been used."""
    try:
        services.store.write(Delete(nonce), *writes)
    except WriteConflict:
        if store.nonce(services.store, nonce.nonce) is None:
            raise BadRequest(INVALID_NONCE) from None
        raise


def _active_of(services: Services, wallet: Wallet) -> _Active:
    active = store.active_destination(services.store, wallet.name)
    if active is None:
        raise NotFound("This wallet has no active payee destination")
    return active


def _of_route(destinations: Iterable[PayeeDestination], route: Destination) -> PayeeDestination | None:
    """The destination of a route. Of several, which a change of route can leave, the active one."""
    found = [each for each in destinations if each.route == route]
    return max(found, key=lambda each: each.is_active, default=None)


def _route_of(services: Services, id_text: str) -> Destination:
    return route_of_id(id_text, services.settings.interop_checksum == "strict")


def _own_route(services: Services, wallet: Wallet, id_text: str) -> Destination:
    route = _route_of(services, id_text)
    check_wallet(wallet, route)
    return route


def _pointer(destination: PayeeDestination, name: str) -> ActiveDestination:
    return ActiveDestination(name, destination.account_id, destination.record_id)


def _deactivation(services: Services, actor: Actor, active: _Active) -> tuple[list[Write], PayeeDestination]:
    pointer, destination = active
    deactivated = replace(destination, is_active=False)
    entries = _audit_entries(services, actor, "payee_destination.deactivated", deactivated)
    return [Delete(pointer), deactivated, *entries], deactivated


def _audit_entries(
    services: Services, actor: Actor, action: str, destination: PayeeDestination
) -> tuple[AuditEntry, ...]:
    """Entries for the actor's account and, if it is another one, for the account that made the destination."""
    accounts = (destination.account_id,)
    return audit.entries(actor, action, destination.destination_id, accounts, services.clock(), services.entropy)
