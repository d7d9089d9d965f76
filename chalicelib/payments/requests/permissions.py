"""Who may create and change requests, and what the owner of a client id lets it do without a secret credential."""

from collections.abc import Iterable
from dataclasses import replace

from chalicelib.base.errors import BadRequest, Conflict, Forbidden
from chalicelib.chains.catalogue.interop import Destination
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import currency_of
from chalicelib.platform.access.callers import ClientSettings, Owner
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.access.ownership import Use, may


def with_note(request: Request, note: str | None, owner: Owner) -> Request:
    """The request with another note, or with none. Raises Forbidden for who does not read it, as a note is the
    merchant's own; Conflict for a payout that was merged into a batch, which has its request now."""
    if not may(owner, Use.READ_PRIVATE, request):
        raise Forbidden("A client ID is public, and a note is not: send an API key, or sign in for a session")
    if request.is_moved:
        raise Conflict("This payout was merged into a batch with the note that it had")
    return replace(request, note=note)


def check_platform(owner: Owner) -> None:
    """Raises Forbidden if the client id is linked to an orchestrator and another caller calls (supplement, part 8)."""
    if owner.settings.orchestrator_id != owner.orchestrator_id:
        raise Forbidden(
            "This client ID is linked to an orchestrator: send x-orchestrator-key and x-client-id to create for it"
        )


def check_creator(owner: Owner, bound: Destination | None) -> None:
    """Checks the creation by a client id that is linked to an orchestrator (supplement, part 8).

    Raises Forbidden unless the pair calls, BadRequest if the client id is not bound to an active destination.
    """
    check_platform(owner)
    if owner.orchestrator_id is not None and bound is None:
        raise BadRequest("No active payee destination for this client ID: it has to be bound to one first")


def is_limited(owner: Owner) -> bool:
    """Whether the caller sent a client id alone, and its owner limits what it creates so."""
    settings = owner.settings
    is_alone = owner.mode is Mode.CLIENT_ID
    return is_alone and (settings.allowed_payees is not None or settings.allowed_currencies is not None)


def check_limits(owner: Owner, requests: Iterable[Request], fee_address: str | None, bound: Destination | None) -> None:
    """Raises Forbidden if a limited client id creates or combines `requests` beyond what its owner allows.

    `fee_address` gets a fee on them, if any is charged; `bound` is the client id's active payee destination, which is
    always allowed. A client id and its origin are public, so anybody can create with them; money must then reach only
    addresses that the owner has named. This includes fees.
    """
    if not is_limited(owner):
        return
    for request in requests:
        if request.is_crypto_to_fiat and owner.settings.allowed_payees is not None:
            raise _refusal("a bank account, which isCryptoToFiatAvailable leads to, is not", "allowedPayees")
        _check_request(request, owner.settings, bound)
    _check_fee(fee_address, owner.settings)


def _check_request(request: Request, settings: ClientSettings, bound: Destination | None) -> None:
    token = currency_of(request)
    if Destination(request.payee, token.chain_id, token.address) == bound:
        return
    if not _includes(settings.allowed_payees, request.payee):
        raise _refusal(f"payee {request.payee} is not", "allowedPayees")
    if not _includes(settings.allowed_currencies, request.currency):
        raise _refusal(f"currency {request.currency} is not", "allowedCurrencies")


def _check_fee(fee_address: str | None, settings: ClientSettings) -> None:
    if fee_address is None or fee_address == settings.fee_address:
        return
    if not _includes(settings.allowed_payees, fee_address):
        raise _refusal(f"feeAddress {fee_address} is neither its own nor", "allowedPayees")


def _includes(allowed: tuple[str, ...] | None, value: str) -> bool:
    return allowed is None or value in allowed


def _refusal(what: str, setting: str) -> Forbidden:
    return Forbidden(
        f"The owner of this client ID limits what it creates without an API key: {what} in its {setting}. "
        "The owner can change that with PUT /v2/client-ids/{id}, or create this with an API key"
    )
