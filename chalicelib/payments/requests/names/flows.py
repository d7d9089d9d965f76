"""Resolves names of payees by ENS, through the nodes of mainnet, when something is created."""

import time
from collections.abc import Sequence
from dataclasses import replace

from chalicelib.base.addresses import same_address
from chalicelib.base.errors import BadRequest, ChainUnavailable, Problem, ValidationFailed
from chalicelib.base.parallel import each_done
from chalicelib.chains.calldata import names as ens
from chalicelib.chains.calldata.transaction import Call
from chalicelib.chains.catalogue.contracts import UNIVERSAL_RESOLVER
from chalicelib.chains.catalogue.networks import require_network
from chalicelib.chains.catalogue.recipients import parse_recipient
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.chains.nodes.evm import EvmChain
from chalicelib.chains.nodes.nodes import NodesDisagree, every_node
from chalicelib.payments.requests.field_problems import Path
from chalicelib.payments.requests.names import store
from chalicelib.payments.requests.names.gateways import answer_of
from chalicelib.payments.requests.names.records import Resolution, ResolvedNames
from chalicelib.payments.requests.names.rules import ADVICE, NamedField, check_count, check_normalized, is_name
from chalicelib.payments.requests.records import PayeeName
from chalicelib.payments.requests.serving import check_served
from chalicelib.payments.requests.targets import Item
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.access.rate_limits import flows as rate_limits
from chalicelib.platform.access.rate_limits.rules import name_window, share_of
from chalicelib.platform.own_accounts.flows import own_addresses
from chalicelib.platform.services import Services

MAINNET = "mainnet"
SECONDS = 10.0
"""How long a call goes on asking nodes and gateways for its names: the last question, of ten seconds at most, is
answered within the 29 seconds of API Gateway."""
MOST_CALLDATA = 150_000
"""Bytes of a question to a node, which has the answers of gateways: more takes nearly all the gas of a read."""
MOST_LOOKUPS = 4
"""How often the resolver of a name may ask gateways, one answer after the other."""
_AT_ONCE = 5
_CALL_ID_BYTES = 16


class _Failed(Exception):
    """A resolver failed. `reverted` is None if it did not revert, or did so after a gateway was asked."""

    def __init__(self, reverted: bytes | None) -> None:
        self.reverted = reverted


def of_items(services: Services, owner: Owner, items: Sequence[Item], paths: Sequence[Path]) -> tuple[Item, ...]:
    """The items with the address of each payee that is a name; `paths` are where they stand in the body.

    An item whose currency is not known stays as it is: it is refused for that. Raises as `resolve`.
    """
    tokens = [token_with_id(each.payment_currency) if each.payment_currency else None for each in items]
    wanted = {
        position: NamedField((*path, "payee"), item.payee, token.network)
        for position, (item, path, token) in enumerate(zip(items, paths, tokens, strict=True))
        if item.payee is not None and is_name(item.payee) and token is not None and not token.is_fiat
    }
    found = dict(zip(wanted, resolve(services, owner, list(wanted.values())), strict=True))
    return tuple(
        replace(item, payee=found[position].address, payee_name=found[position].payee) if position in found else item
        for position, item in enumerate(items)
    )


def resolve(services: Services, owner: Owner, fields: Sequence[NamedField]) -> tuple[Resolution, ...]:
    """What the names resolve to, each for the addresses of its network, in order. Without names nothing happens.

    A call that is made again by its idempotency key gets what the first one got: one read, and one write if there was
    none. Raises ValidationFailed with what is wrong with each name, BadRequest where no name can be resolved,
    TooManyRequests, and ChainUnavailable if the nodes of mainnet do not answer, or contradict each other.
    """
    if not fields:
        return ()
    check_count(fields)
    check_served(services, (each.network for each in fields))
    _check_offered(services, fields)
    call_id = services.entropy(_CALL_ID_BYTES).hex()
    known = store.of_call(services.store, call_id)
    names = known.names if known is not None else _resolve_names(services, owner, fields)
    if known is None:
        services.store.apart.write(ResolvedNames(call_id, services.clock(), names))
    by_field = {(each.payee.name, each.network): each for each in names}
    return tuple(by_field[each.text, each.network] for each in fields)


def _check_offered(services: Services, fields: Sequence[NamedField]) -> None:
    """Raises ValidationFailed without a node of mainnet, where names are, and for names on Tron."""
    if MAINNET not in services.chains.networks:
        raise _problems(fields, f"is a name, and this deployment has no node of mainnet to resolve it; {ADVICE}")
    if on_tron := [each for each in fields if require_network(each.network).family != "evm"]:
        raise _problems(on_tron, f"is a name, and names are not resolved for Tron; {ADVICE}")


def _resolve_names(services: Services, owner: Owner, fields: Sequence[NamedField]) -> tuple[Resolution, ...]:
    """Each different name with its network, resolved once. Raises ValidationFailed for all that cannot be."""
    different = list({(each.text, each.network): each for each in fields}.values())
    window = name_window(owner.account_id, services.settings.rate_limit_scale, services.clock())
    windows = [share_of(window, "client_id"), window] if owner.mode is Mode.CLIENT_ID else [window]
    rate_limits.count_in_all(services, *windows, units=len(different))
    deadline = time.monotonic() + SECONDS
    outcomes = each_done(lambda each: _outcome(services, each, deadline), different, _AT_ONCE)
    refusals = {(each.text, each.network): found for each, found in zip(different, outcomes, strict=True)}
    problems = [
        Problem(each.path, error.message)
        for each in fields
        if isinstance(error := refusals[each.text, each.network], BadRequest)
    ]
    if problems:
        raise ValidationFailed(tuple(problems))
    return tuple(each for each in outcomes if isinstance(each, Resolution))


def _outcome(services: Services, field: NamedField, deadline: float) -> Resolution | BadRequest:
    """Every node of mainnet has to answer, and to say the same: one of them alone could have a payment go elsewhere."""
    try:
        name = check_normalized(field.text)
        nodes = every_node(services.chains.evm(MAINNET))
        found = [_by_node(services, node, name, field.network, deadline) for node in nodes]
    except BadRequest as error:
        return error
    addresses, are_primary = zip(*found, strict=True)
    if len(set(addresses)) > 1:
        raise NodesDisagree(MAINNET, f"{name} resolves to {' and '.join(addresses)}")
    return Resolution(field.network, addresses[0], PayeeName(name, services.clock(), all(are_primary)))


def _by_node(services: Services, node: EvmChain, name: str, network: str, deadline: float) -> tuple[str, bool]:
    """What one node says of a name: its address, and whether that names itself so."""
    coin = ens.coin_type(require_network(network).chain_id)
    address = _address(services, node, name, coin, deadline)
    if address is None and coin != ens.ETHER:
        coin = ens.ETHER
        address = _address(services, node, name, coin, deadline)
        if address is not None and _is_contract(node, address, deadline):
            raise BadRequest(
                f"resolves to {address}, which is a contract on mainnet: its owner may not own that address on "
                f"{network}; have the owner set the name's address for {network}, or {ADVICE}"
            )
    if address is None:
        raise BadRequest(f"has no address in ENS for {network}; check how it is written, or {ADVICE}")
    try:
        parse_recipient(address, "evm", own_addresses(services))
    except BadRequest as error:
        raise BadRequest(f"resolves to {address}, which {error.message}; {ADVICE}") from None
    return address, _names_itself(services, node, address, coin, name, deadline)


def _address(services: Services, node: EvmChain, name: str, coin: int, deadline: float) -> str | None:
    """The address of a name for a coin type; None if it has none. Raises BadRequest if its resolver fails."""
    try:
        answer = ens.resolver_answer(_read_resolver(services, node, ens.resolve(name, coin), deadline))
    except _Failed as error:
        if error.reverted is not None and ens.has_no_address(error.reverted, coin):
            return None
        raise BadRequest(f"cannot be resolved: its resolver fails; {ADVICE}") from error
    except ValueError as error:
        raise ChainUnavailable("The universal resolver of ENS on mainnet does not answer as it should") from error
    try:
        return ens.address_of(answer, coin)
    except ValueError as error:
        raise BadRequest(f"cannot be resolved: its resolver's answer is not an address; {ADVICE}") from error


def _names_itself(services: Services, node: EvmChain, address: str, coin: int, name: str, deadline: float) -> bool:
    """Whether the reverse record of an address is the name that resolved to it. Trouble with it only means no."""
    try:
        return ens.primary_name(_read_resolver(services, node, ens.reverse(address, coin), deadline)) == name
    except (_Failed, BadRequest, ChainUnavailable, ValueError):
        return False


def _is_contract(node: EvmChain, address: str, deadline: float) -> bool:
    _check_time(deadline)
    return node.is_contract(address)


def _check_time(deadline: float) -> None:
    if time.monotonic() >= deadline:
        raise BadRequest(f"was not resolved in time; try again later, name fewer, or {ADVICE}")


def _read_resolver(services: Services, node: EvmChain, read: Call, deadline: float) -> bytes:
    """What the universal resolver returns, by way of gateways if it asks for them. Raises _Failed, BadRequest,
    ChainUnavailable."""
    for count in range(MOST_LOOKUPS + 1):
        _check_time(deadline)
        if len(read.data) > 2 + 2 * MOST_CALLDATA:
            raise BadRequest(f"cannot be resolved: its gateway answers with too much; {ADVICE}")
        answer = node.ask(read)
        if answer.returned is not None:
            return answer.returned
        try:
            lookup = ens.lookup_of(answer.reverted or b"")
        except ValueError:
            lookup = None
        if lookup is None:
            raise _Failed(answer.reverted if count == 0 else None)
        if not same_address(lookup.question.sender, UNIVERSAL_RESOLVER):
            raise BadRequest(f"cannot be resolved: its resolver asks a gateway for another contract; {ADVICE}")
        read = lookup.call_with_answer(answer_of(services.sender, lookup.question, deadline))
    raise BadRequest(f"cannot be resolved: its resolver asks gateways again and again; {ADVICE}")


def _problems(fields: Sequence[NamedField], message: str) -> ValidationFailed:
    return ValidationFailed(tuple(Problem(each.path, message) for each in fields))
