"""Payee destinations: signed for a client id on the API host, kept by a wallet session on the auth host."""

from chalice import Blueprint

from chalicelib.access.credentials.records import ClientId
from chalicelib.access.modes import Mode
from chalicelib.access.sessions.records import Wallet
from chalicelib.base.addresses import same_address
from chalicelib.base.errors import Forbidden, Unauthorized
from chalicelib.http.edge import operation
from chalicelib.http.operation import Call
from chalicelib.payees import flows as destinations
from chalicelib.payees.records import Action, PayeeDestination
from chalicelib.payees.rules import checked_route
from chalicelib.payees.schemas import (
    DeactivateDestination,
    DestinationDeactivated,
    DestinationIdQuery,
    KeepDestination,
    PayeeDestinationAnswer,
    PayeeDestinationCreated,
    PayeeDestinationRemoved,
    PayoutDestinationAnswer,
    SignedNonce,
    SigningDataAnswer,
    SigningDataQuery,
    WalletAddressQuery,
)

blueprint = Blueprint(__name__)
_CLIENT = (Mode.API_KEY, Mode.CLIENT_ID)
_SESSION = (Mode.SESSION,)


def _client(call: Call) -> ClientId:
    if call.caller.client is None:
        raise Unauthorized("x-client-id is required with x-api-key")
    return call.caller.client


def _wallet(call: Call) -> Wallet:
    return destinations.wallet_of(call.caller.session)


def _kept(call: Call) -> tuple[Wallet, str, int, str | None]:
    """The wallet of the session, and what the body asks for it."""
    body: KeepDestination = call.body
    wallet = _wallet(call)
    if body.walletAddress is not None and not same_address(body.walletAddress, wallet.address):
        raise Forbidden("walletAddress is not the wallet of this session")
    return wallet, body.tokenAddress, body.chainId, body.access_mode


def _answer_or_null(found: PayeeDestination | None) -> PayeeDestinationAnswer | None:
    return PayeeDestinationAnswer.of(found) if found else None


@operation(
    blueprint,
    "GET",
    "/v2/payee-destination/signing-data",
    summary="What a wallet signs to add or deactivate a payee destination, with its nonce",
    modes=_CLIENT,
    scope="payee_destinations:read",
    query=SigningDataQuery,
    answer=SigningDataAnswer,
    errors=(400, 401, 403),
)
def read_signing_data(call: Call) -> SigningDataAnswer:
    query: SigningDataQuery = call.query
    route = checked_route(query.walletAddress, query.tokenAddress, int(query.chainId))
    nonce = destinations.issue_nonce(call.services, _client(call), route, Action(query.action))
    return SigningDataAnswer.of(nonce, call.services.settings.brand)


@operation(
    blueprint,
    "POST",
    "/v2/payee-destination",
    summary="Bind the client id to the payee destination that a wallet signed for",
    modes=_CLIENT,
    scope="payee_destinations:write",
    body=SignedNonce,
    answer=PayeeDestinationCreated,
    status=201,
    errors=(400, 401, 403, 409),
)
def create_payee_destination(call: Call) -> PayeeDestinationCreated:
    body: SignedNonce = call.body
    vouched = call.caller.mode is Mode.API_KEY
    made = destinations.add(call.services, call.actor, _client(call), body.nonce, body.signature, vouched)
    return PayeeDestinationCreated.of(made)


@operation(
    blueprint,
    "GET",
    "/v2/payee-destination",
    summary="The active payee destination of a wallet, or null",
    modes=_CLIENT,
    scope="payee_destinations:read",
    query=WalletAddressQuery,
    answer=PayeeDestinationAnswer | None,
    errors=(400, 401, 403),
)
def read_active_payee_destination(call: Call) -> PayeeDestinationAnswer | None:
    return _answer_or_null(
        destinations.active_of_client(call.services, _client(call), call.query.walletAddress)
    )


@operation(
    blueprint,
    "GET",
    "/v2/payee-destination/{destination_id}",
    summary="Read a payee destination; the # of its id is sent as %23",
    modes=_CLIENT,
    scope="payee_destinations:read",
    answer=PayeeDestinationAnswer,
    errors=(401, 403, 404),
)
def read_payee_destination(call: Call) -> PayeeDestinationAnswer:
    return PayeeDestinationAnswer.of(
        destinations.of_client(call.services, _client(call), call.path["destination_id"])
    )


@operation(
    blueprint,
    "DELETE",
    "/v2/payee-destination/{destination_id}",
    summary="Deactivate a payee destination, as its wallet signed; the # of its id is sent as %23",
    modes=_CLIENT,
    scope="payee_destinations:write",
    body=SignedNonce,
    answer=PayeeDestinationRemoved,
    errors=(400, 401, 403, 404, 409),
)
def remove_payee_destination(call: Call) -> PayeeDestinationRemoved:
    body: SignedNonce = call.body
    ended = destinations.remove(
        call.services, call.actor, _client(call), call.path["destination_id"], body.nonce, body.signature
    )
    return PayeeDestinationRemoved(
        success=True,
        message="Payee destination deactivated successfully",
        destinationId=ended.destination_id,
        active=ended.is_active,
    )


@operation(
    blueprint,
    "POST",
    "/v1/payee-destination",
    summary="Make or reactivate the payee destination of the session's wallet",
    modes=_SESSION,
    body=KeepDestination,
    answer=PayeeDestinationAnswer,
    status=201,
    errors=(400, 401, 403, 409),
)
def keep_own_payee_destination(call: Call) -> PayeeDestinationAnswer:
    return PayeeDestinationAnswer.of(destinations.keep(call.services, call.actor, *_kept(call)))


@operation(
    blueprint,
    "PUT",
    "/v1/payee-destination",
    summary="Be paid in another token or on another chain",
    modes=_SESSION,
    body=KeepDestination,
    answer=PayeeDestinationAnswer,
    errors=(400, 401, 403, 404, 409),
)
def change_own_payee_destination(call: Call) -> PayeeDestinationAnswer:
    return PayeeDestinationAnswer.of(destinations.change(call.services, call.actor, *_kept(call)))


@operation(
    blueprint,
    "GET",
    "/v1/payee-destination",
    summary="The active payee destination of the session's wallet, or null",
    modes=_SESSION,
    answer=PayeeDestinationAnswer | None,
    errors=(401, 403),
)
def read_own_payee_destination(call: Call) -> PayeeDestinationAnswer | None:
    return _answer_or_null(destinations.active_of(call.services, _wallet(call).name))


@operation(
    blueprint,
    "GET",
    "/v1/payee-destination/lookup",
    summary="Read a payee destination of the session's wallet by its id",
    modes=_SESSION,
    query=DestinationIdQuery,
    answer=PayeeDestinationAnswer,
    errors=(400, 401, 403, 404),
)
def look_up_own_payee_destination(call: Call) -> PayeeDestinationAnswer:
    return PayeeDestinationAnswer.of(
        destinations.of_wallet(call.services, call.actor, _wallet(call), call.query.destinationId)
    )


@operation(
    blueprint,
    "GET",
    "/v1/payee-destination/payout-lookup",
    summary="Where a recipient's wallet is paid, or null",
    modes=_SESSION,
    query=WalletAddressQuery,
    answer=PayoutDestinationAnswer | None,
    errors=(400, 401, 403),
)
def look_up_payout_destination(call: Call) -> PayoutDestinationAnswer | None:
    _wallet(call)
    found = destinations.active_of(call.services, call.query.walletAddress)
    return PayoutDestinationAnswer.of(found) if found else None


@operation(
    blueprint,
    "PATCH",
    "/v1/payee-destination/deactivate",
    summary="Deactivate the payee destination of the session's wallet",
    modes=_SESSION,
    body=DeactivateDestination,
    answer=DestinationDeactivated,
    errors=(400, 401, 403, 404, 409),
)
def deactivate_own_payee_destination(call: Call) -> DestinationDeactivated:
    destinations.deactivate(call.services, call.actor, _wallet(call), call.body.destinationId)
    return DestinationDeactivated(success=True, message="Destination deactivated")
