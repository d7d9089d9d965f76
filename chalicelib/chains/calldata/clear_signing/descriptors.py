"""The descriptors: a file for each contract and each type of typed data, as the registry of ERC-7730 has them.

Wallets show what they know from that registry alone. The linter reads files whose names begin with `calldata-` or
`eip712-`.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from chalicelib.chains.calldata.clear_signing.fields import Display
from chalicelib.chains.calldata.clear_signing.functions import DISPLAYS
from chalicelib.chains.calldata.clear_signing.messages import MESSAGES, Members
from chalicelib.chains.calldata.explanations.decode import Array, Kind
from chalicelib.chains.calldata.explanations.functions import FUNCTIONS, MEMBER_NAMES, Function
from chalicelib.chains.catalogue.contracts import contracts_on
from chalicelib.chains.catalogue.conversions import conversion_networks, feeds_of, on_chain_decimals
from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.chains.catalogue.tokens import Token, find_tokens

SCHEMA = "https://eips.ethereum.org/assets/eip-7730/erc7730-v2.schema.json"
TOKENS = "ERC-20 token"
_OWNERS = {
    "AcrossSpokePool": ("Across", "https://across.to"),
    "AuthCaptureEscrow": ("Base", "https://github.com/base/commerce-payments"),
    "PreApprovalPaymentCollector": ("Base", "https://github.com/base/commerce-payments"),
    "LiFiDiamond": ("LI.FI", "https://li.fi"),
    "MultiSendCallOnly": ("Safe", "https://safe.global"),
    "Permit2": ("Uniswap", "https://github.com/Uniswap/permit2"),
}
_TOKEN_OWNER = ("Issuers of tokens", "https://eips.ethereum.org/EIPS/eip-20")
_PROXY_OWNER = ("Request Network", "https://request.network")
"""Of every other contract."""


@cache
def descriptors() -> Mapping[str, dict[str, Any]]:
    """All descriptors by the names of their files."""
    return {**dict(_of_contracts()), **dict(_of_messages())}


def signature(function: Function) -> str:
    """A function with the names of its parameters: `approve(address spender,uint256 amount)`."""
    return f"{function.name}({_declare_parameters(function.parameters)})"


def encode_type(types: Mapping[str, Members]) -> str:
    """A struct of typed data as EIP-712 writes it: the first one, then those that it names, by name."""
    primary, *others = types
    return "".join(
        f"{name}({','.join(f'{kind} {member}' for member, kind in types[name])})" for name in (primary, *sorted(others))
    )


def _of_contracts() -> Iterator[tuple[str, dict[str, Any]]]:
    formats: dict[str | None, dict[str, Any]] = {}
    for selector, display in DISPLAYS.items():
        function = FUNCTIONS[selector]
        formats.setdefault(function.contract, {})[signature(function)] = _format(display)
    for contract, shown in formats.items():
        context = {"$id": contract or TOKENS, "contract": {"deployments": _deployments(contract)}}
        yield f"calldata-{contract or 'erc20'}.json", _descriptor(contract, context, shown)


def _of_messages() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, each in MESSAGES.items():
        bound = {"domain": dict(each.domain)} if each.domain else {}
        context = {"$id": name, "eip712": {**bound, "deployments": _deployments(each.contract)}}
        formats = {encode_type(each.types): _format(each.display)}
        yield f"eip712-{name}.json", _descriptor(each.contract, context, formats)


def _descriptor(contract: str | None, context: dict[str, Any], formats: dict[str, Any]) -> dict[str, Any]:
    owner, url = _TOKEN_OWNER if contract is None else _OWNERS.get(contract, _PROXY_OWNER)
    metadata: dict[str, Any] = {"owner": owner, "contractName": contract or TOKENS, "info": {"url": url}}
    if any(field["format"] == "enum" for each in formats.values() for field in each["fields"]):
        metadata["enums"] = {"currencies": currencies()}
    return {"$schema": SCHEMA, "context": context, "metadata": metadata, "display": {"formats": formats}}


def currencies() -> dict[str, str]:
    """The fiat currencies and native coins that invoices are converted from, by their hashes; tokens are shown by their
    addresses. The linter takes at most 32."""
    feeds = {each for network in conversion_networks() for pair in feeds_of(network) for each in pair}
    named = {each.hash: _unit(each) for each in feeds if each.is_fiat or each.is_native}
    return dict(sorted(named.items()))


def _unit(currency: Token) -> str:
    """What an amount in a currency is counted in: wallets know the decimals of tokens and native coins, not of fiat."""
    return f"10^-{on_chain_decimals(currency)} {currency.symbol}" if currency.is_fiat else currency.symbol


def _format(display: Display) -> dict[str, Any]:
    return {
        "intent": display.title,
        "interpolatedIntent": display.sentence,
        "fields": [dict(field) for field in display.fields],
    }


def _deployments(contract: str | None) -> list[dict[str, Any]]:
    """Where a contract is on EVM networks; all their tokens for None."""
    found = []
    for network in ALL_NETWORKS:
        if network.family == "evm":
            there = contracts_on(network.name)
            tokens = [token.address for token in find_tokens(network.name) if not token.is_native]
            addresses = tokens if contract is None else [there[contract]] if contract in there else []
            found += [{"chainId": network.chain_id, "address": each} for each in addresses]
    return found


def _declare_parameters(parameters: tuple[tuple[str, Kind], ...]) -> str:
    """Parameters as the contract has them: `p.a` and `p.b` are members of one struct, p."""
    found: dict[str, list[str]] = {}
    for name, kind in parameters:
        struct, _, member = name.partition(".")
        found.setdefault(struct, []).append(f"{_type(kind)} {member}" if member else _type(kind))
    structs = {name.partition(".")[0] for name, _ in parameters if "." in name}
    types = {name: f"({','.join(each)})" if name in structs else each[0] for name, each in found.items()}
    return ",".join(f"{kind} {name}" for name, kind in types.items())


def _type(kind: Kind) -> str:
    if isinstance(kind, Array):
        return f"{_type(kind.of)}[]"
    if isinstance(kind, str):
        return kind
    members = zip(kind, MEMBER_NAMES[kind], strict=True)
    return f"({','.join(f'{_type(each)} {name}' for each, name in members)})"
