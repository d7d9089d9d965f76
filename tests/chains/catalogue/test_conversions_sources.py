"""Price feeds against those that npm @requestnetwork/currency lists: one character changed anywhere fails.

The paths of the two are compared as well; npm payment-processor finds its own with the algorithm of Dijkstra.
"""

from collections.abc import Mapping
from typing import Any

from chalicelib.chains.catalogue.conversions import conversion_networks, conversion_path, payment_currencies
from chalicelib.chains.catalogue.data import load
from chalicelib.chains.catalogue.tokens import find_tokens, token_with_id
from tests.chains.catalogue.changes import changed_leaves
from tests.oracles.node import ask_builder


def listed(sources: Mapping[str, Any], network: str) -> set[frozenset[str]]:
    """The feeds of the package between currencies of our catalogue, each as two hashes."""
    known = {token.hash.lower() for part in ("fiat", network) for token in find_tokens(network=part)}
    return {
        frozenset((one, other))
        for one, others in sources["feeds"][network].items()
        for other in others
        if {one, other} <= known
    }


def feed_problems(sources: Mapping[str, Any], conversions: Mapping[str, Any]) -> list[str]:
    problems = []
    for network in sources["feeds"].keys() | conversions["feeds"].keys():
        ours = list[frozenset[str]]()
        for one, others in conversions["feeds"].get(network, {}).items():
            for other in others:
                tokens = token_with_id(one), token_with_id(other)
                ours.append(frozenset(token.hash.lower() if token else "unknown" for token in tokens))
        wanted = listed(sources, network)
        problems += [f"{network}: {sorted(feed)}" for feed in wanted.symmetric_difference(ours)]
        if len(ours) != len(set(ours)):
            problems.append(f"{network}: a feed is listed twice")
    return problems


def test_the_feeds_are_those_of_the_package(sources: dict[str, Any]) -> None:
    assert feed_problems(sources, load("conversions")) == []
    assert set(conversion_networks()) == set(sources["feeds"])


def test_one_character_changed_in_any_feed_is_noticed(sources: dict[str, Any]) -> None:
    number = 0
    for path, wrong in changed_leaves({"feeds": load("conversions")["feeds"]}):
        number += 1
        assert feed_problems(sources, wrong), path
    assert number > 300


def test_every_path_is_the_one_that_the_package_finds() -> None:
    """Of several shortest paths between two tokens the package may take another one."""
    pairs = [
        (invoice, payment)
        for invoice in find_tokens()
        if invoice.is_fiat or invoice.network in conversion_networks()
        for payment in payment_currencies(invoice)
    ]
    theirs = ask_builder(
        [{"ask": "path", "from": one.hash, "to": other.hash, "network": other.network} for one, other in pairs]
    )
    for (invoice, payment), found in zip(pairs, theirs, strict=True):
        path = conversion_path(invoice, payment)
        assert path is not None
        assert len(path) == len(found)
        if invoice.is_fiat:
            assert list(path) == found


def test_where_there_is_no_path_the_package_finds_none() -> None:
    pairs = [
        (invoice, payment)
        for invoice in find_tokens(network="fiat")
        for payment in find_tokens()
        if payment.network in conversion_networks() and conversion_path(invoice, payment) is None
    ]
    questions = [
        {"ask": "path", "from": one.hash, "to": other.hash, "network": other.network} for one, other in pairs
    ]
    assert set(map(str, ask_builder(questions))) == {"None"}
    assert len(pairs) > 1_000
