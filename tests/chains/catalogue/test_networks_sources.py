"""Networks against viem's chains, Request Network's chain ids and a reviewed copy with its reasons."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, fields, replace
from typing import Any

import pytest

from chalicelib.chains.catalogue.networks import (
    ALL_NETWORKS,
    AbsencePolicy,
    Coin,
    NativeCurrency,
    Network,
    RelayerLimits,
)
from tests.chains.catalogue.changes import changes
from tests.chains.catalogue.reviewed_networks import NETWORKS, Reviewed

# What viem says in another way, and why ours stands.
OTHER_COINS = {"tron": "TRON"}  # the network's name; its coin is the Tronix
EXPLORER_PATHS = {"tron": "/#/transaction/"}
ITS_OWN_RPC_URLS = ("arbitrum-one", "optimism", "base")
"""For the others viem names a gateway of its choice; theirs are in the reviewed copy with their source."""


def problems_with_the_copy(networks: Iterable[Network]) -> list[str]:
    """Where networks differ from the reviewed copy in any field, or are missing in one of the two."""
    wanted = {name: expected(name, each) for name, each in NETWORKS.items()}
    ours = {each.name: each for each in networks}
    names = sorted(ours.keys() | wanted.keys())
    return [
        f"networks.json: {name} is {ours.get(name)}, but in tests/chains/catalogue/reviewed_networks.py {wanted.get(name)}"
        for name in names
        if ours.get(name) != wanted.get(name)
    ]


def expected(name: str, each: Reviewed) -> Network:
    return Network(
        name=name,
        chain_id=each.chain_id,
        label=each.label,
        family=each.family,
        confirmations=each.confirmations,
        log_range=each.log_range,
        block_milliseconds=round(each.seconds * 1000 / each.confirmations),
        native=each.native and NativeCurrency(*each.native),
        aliases=each.aliases,
        title=each.title,
        coin=Coin(*each.coin),
        absence=AbsencePolicy(each.headers_every, "unproved", each.receipts_below),
        explorer_url=each.explorer,
        public_rpc_urls=each.rpc_urls,
        relayer=each.relayer and RelayerLimits(*each.relayer, each.recurring_fee),
        safe_service_url=each.safe and f"https://api.safe.global/tx-service/{each.safe}",
        scan_seconds=each.scan_seconds,
        bridge_place=each.bridge_place,
        has_p256=each.p256 is not None,
        is_test=each.is_test,
    )


def problems_with_packages(sources: Mapping[str, Any], network: Network) -> list[str]:
    """Where the chain id, title, coin, explorer or RPC URLs of a network differ from what viem says of it."""
    chain = sources["chains"].get(network.name)
    if chain is None:
        return [f"{network.name} is not a network"]
    coin = chain["coin"]
    coin_name = network.coin.name if OTHER_COINS.get(network.name) == coin["name"] else coin["name"]
    wanted = {
        "chain id": (network.chain_id, chain["chainId"]),
        "title": (network.title, chain["title"]),
        "coin": (astuple(network.coin), (coin_name, coin["symbol"], coin["decimals"])),
        "explorer": (network.explorer_url, chain["explorer"] + EXPLORER_PATHS.get(network.name, "/tx/")),
    }
    if network.name in ITS_OWN_RPC_URLS:
        wanted["RPC URLs"] = (network.public_rpc_urls, tuple(chain["rpcUrls"]))
    if network.family == "evm":  # Request Network names Tron and gives it no number
        wanted["Request Network's chain id"] = (network.chain_id, sources["currencies"][network.name]["chainId"])
    return [f"{network.name}: {name} {ours}, not {theirs}" for name, (ours, theirs) in wanted.items() if ours != theirs]


def changed(network: Network, *names: str) -> Iterator[Network]:
    """The network with one character of one of its fields changed, of each field unless some are named."""
    for name in names or [field.name for field in fields(network)]:
        value = getattr(network, name)
        if isinstance(value, AbsencePolicy | Coin | NativeCurrency | RelayerLimits):
            for part in fields(value):
                for new in changes(getattr(value, part.name)):
                    yield replace(network, **{name: replace(value, **{part.name: new})})
        else:
            for new in changes(value):
                yield replace(network, **{name: new})


def test_every_network_is_that_of_the_reviewed_copy() -> None:
    assert problems_with_the_copy(ALL_NETWORKS) == []


@pytest.mark.parametrize("network", ALL_NETWORKS, ids=lambda network: network.name)
def test_one_character_changed_in_any_network_differs_from_the_copy(network: Network) -> None:
    others = [each for each in ALL_NETWORKS if each is not network]
    assert problems_with_the_copy(others)
    for wrong in changed(network):
        assert problems_with_the_copy([*others, wrong]), wrong


@pytest.mark.parametrize("network", ALL_NETWORKS, ids=lambda network: network.name)
def test_chain_id_title_coin_and_explorer_are_those_that_viem_knows(sources: dict[str, Any], network: Network) -> None:
    assert problems_with_packages(sources, network) == []
    for wrong in changed(network, "chain_id", "title", "explorer_url"):
        assert problems_with_packages(sources, wrong), wrong
    for new in changes(network.coin.decimals):
        assert problems_with_packages(sources, replace(network, coin=replace(network.coin, decimals=new)))


def test_the_confirmations_take_as_long_as_the_reason_for_them_says(sources: dict[str, Any]) -> None:
    known = {name: chain["blockSeconds"] for name, chain in sources["chains"].items() if chain["blockSeconds"] is not None}
    for name in known.keys() & NETWORKS.keys():
        assert NETWORKS[name].confirmations * known[name] == pytest.approx(NETWORKS[name].seconds, abs=1), name
    assert len(known) >= 6
