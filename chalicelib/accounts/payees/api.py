"""Views of payee destinations: signed for a client id on the API host, by a wallet session on the auth host."""

from chalicelib.accounts.payees import flows
from chalicelib.accounts.payees.records import Action, PayeeDestination
from chalicelib.accounts.payees.rules import parse_route
from chalicelib.accounts.payees.schemas import (
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
from chalicelib.base.addresses import same_address
from chalicelib.base.errors import Forbidden, Unauthorized
from chalicelib.platform.access.credentials.records import ClientId
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.access.sessions.records import Wallet
from chalicelib.platform.http.view import AnyCall, Call
from chalicelib.platform.own_accounts.flows import own_addresses


def _client(call: AnyCall) -> ClientId:
    if call.caller.client is None:
        raise Unauthorized("x-client-id is required with x-api-key")
    return call.caller.client


def _wallet(call: AnyCall) -> Wallet:
    return flows.wallet_of(call.caller.session)


def _destination_of(call: Call[KeepDestination, None]) -> tuple[Wallet, str, int, str | None]:
    """The wallet of the session, and token address, chain id and access mode of the body."""
    body = call.body
    wallet = _wallet(call)
    if body.walletAddress is not None and not same_address(body.walletAddress, wallet.address):
        raise Forbidden("walletAddress is not the wallet of this session")
    return wallet, body.tokenAddress, body.chainId, body.access_mode


def _or_null(destination: PayeeDestination | None) -> PayeeDestinationAnswer | None:
    return PayeeDestinationAnswer.of(destination) if destination else None


def read_signing_data(call: Call[None, SigningDataQuery]) -> SigningDataAnswer:
    query = call.query
    own = own_addresses(call.services)
    route = parse_route(query.walletAddress, query.tokenAddress, int(query.chainId), own)
    nonce = flows.issue_nonce(call.services, _client(call), route, Action(query.action))
    return SigningDataAnswer.of(nonce, call.services.settings.brand)


def create_payee_destination(call: Call[SignedNonce, None]) -> PayeeDestinationCreated:
    body = call.body
    vouched = call.caller.mode is Mode.API_KEY
    client, asked_at = _client(call), call.asked_at
    added = flows.add(call.services, call.actor, client, body.nonce, body.signature, vouched, asked_at)
    return PayeeDestinationCreated.of(added)


def read_active_payee_destination(call: Call[None, WalletAddressQuery]) -> PayeeDestinationAnswer | None:
    return _or_null(flows.active_of_client(call.services, _client(call), call.query.walletAddress))


def read_payee_destination(call: Call[None, None]) -> PayeeDestinationAnswer:
    return PayeeDestinationAnswer.of(flows.of_client(call.services, _client(call), call.path["destination_id"]))


def remove_payee_destination(call: Call[SignedNonce, None]) -> PayeeDestinationRemoved:
    body = call.body
    deactivated = flows.remove(
        call.services, call.actor, _client(call), call.path["destination_id"], body.nonce, body.signature
    )
    return PayeeDestinationRemoved(
        success=True,
        message="Payee destination deactivated successfully",
        destinationId=deactivated.destination_id,
        active=deactivated.is_active,
    )


def keep_own_payee_destination(call: Call[KeepDestination, None]) -> PayeeDestinationAnswer:
    return PayeeDestinationAnswer.of(flows.activate(call.services, call.actor, *_destination_of(call)))


def change_own_payee_destination(call: Call[KeepDestination, None]) -> PayeeDestinationAnswer:
    return PayeeDestinationAnswer.of(flows.change(call.services, call.actor, *_destination_of(call)))


def read_own_payee_destination(call: Call[None, None]) -> PayeeDestinationAnswer | None:
    return _or_null(flows.active_of(call.services, _wallet(call).name))


def look_up_own_payee_destination(call: Call[None, DestinationIdQuery]) -> PayeeDestinationAnswer:
    return PayeeDestinationAnswer.of(
        flows.of_wallet(call.services, call.actor, _wallet(call), call.query.destinationId)
    )


def look_up_payout_destination(call: Call[None, WalletAddressQuery]) -> PayoutDestinationAnswer | None:
    _wallet(call)
    active = flows.active_of(call.services, call.query.walletAddress)
    return PayoutDestinationAnswer.of(active) if active else None


def deactivate_own_payee_destination(call: Call[DeactivateDestination, None]) -> DestinationDeactivated:
    flows.deactivate(call.services, call.actor, _wallet(call), call.body.destinationId)
    return DestinationDeactivated(success=True, message="Destination deactivated")
