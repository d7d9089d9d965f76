"""Reads what is at the address of a request for plain transfers, and builds the transaction that empties it."""

from dataclasses import replace

from chalicelib.base.addresses import evm_address
from chalicelib.base.errors import BadRequest, Conflict
from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata.plain_transfers import plain_transfer_address
from chalicelib.chains.catalogue.networks import find_network as network_named
from chalicelib.chains.nodes.readings import PlainAddressState
from chalicelib.checkout.plain_transfers import rules
from chalicelib.checkout.plain_transfers.rules import Emptying
from chalicelib.payments.links.reading import Viewer, load_request
from chalicelib.payments.requests.field_problems import parse_field
from chalicelib.payments.requests.plain_transfers.rules import terms_of
from chalicelib.payments.requests.records import Request
from chalicelib.platform.services import Services

NATIVE = "native"


@frozen
class Found:
    """What is at the address of a request: its state on a network, and what empties it of a token; None is the coin."""

    request: Request
    network: str
    token: str | None
    state: PlainAddressState
    emptying: Emptying


def read(services: Services, name: str, viewer: Viewer, network: str | None, token: str | None) -> Found:
    """What is at the address of a request (its id or payment reference), and what empties it.

    `network` and `token` are those of the request unless others are given: what was sent wrongly. Up to four reads for
    the request, and two requests to the node; code is read before anything is deployed. Raises NotFound, BadRequest for
    a request without an address, a network where nothing can be had or a token that is none there, ValidationFailed for
    a token that is not an address, Conflict if the address is not that of the terms, ChainUnavailable.
    """
    request, _ = load_request(services, name, viewer)
    if request.plain_transfer is None:
        raise BadRequest("This request has no address for plain transfers: create one with plainTransfer")
    terms, address = terms_of(request), request.plain_transfer.address
    if plain_transfer_address(terms) != address:
        services.log.error("address is not that of its terms", extra={"request_id": request.request_id})
        raise Conflict("The terms of this request give another address than the one it was created with")
    where = _network(services, network or request.network)
    wanted = terms.token if token is None else None if token == NATIVE else parse_field(("token",), evm_address, token)
    chain = services.chains.evm(where)
    state = chain.read_plain_address(address, wanted)
    found = rules.emptying(terms, where, wanted, state)
    sent = found.transaction
    if sent is not None and chain.which_revert(request.payee, [sent])[0]:
        found = replace(found, transaction=None, unavailable=rules.REFUSED)
    return Found(request, where, wanted, state, found)


def _network(services: Services, name: str) -> str:
    known = network_named(name)
    if known is None:
        raise BadRequest("network: is not supported; GET /v2/currencies lists the networks")
    if known.family != "evm":
        raise BadRequest(rules.ON_TRON)
    if known.name not in services.chains.networks:
        raise BadRequest(f"network: this deployment has no node of {known.name}")
    return known.name
