"""Rates of conversions from a node: what is asked, and what is made of its answers. Real contracts: tests/onchain."""

from collections.abc import Sequence
from typing import Any

import pytest
from eth_abi import decode, encode

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.calldata.conversions.rates import PathRate, as_rate
from chalicelib.chains.catalogue.contracts import address_of
from chalicelib.chains.catalogue.conversions import conversion_path
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.chains.nodes.conversions.rates import read_rates
from tests.chains.nodes.nodes import NodeResponses, node_of

OLDER, NEWER = (address_of(f"ChainlinkConversionPath {version}", "matic") for version in ("0.1.0", "0.2.0"))
ERC20_PROXY, NATIVE_PROXY = (address_of(name, "matic") for name in ("Erc20ConversionProxy", "EthConversionProxy"))
RATE = PathRate(10_003_000_900_270_081, 1_795_350_063, 10**18)


def path(invoice: str, payment: str) -> tuple[str, ...]:
    one, other = token_with_id(invoice), token_with_id(payment)
    assert one is not None and other is not None
    found = conversion_path(one, other)
    assert found is not None
    return found


TO_TOKEN, TO_COIN = path("USD", "USDT-matic"), path("EUR", "MATIC-matic")


class Contracts(NodeResponses):
    """A node whose proxies take their rates from `used`, where a contract answers every path with its rate."""

    def __init__(self, used: dict[str, str], rates: dict[str, PathRate]) -> None:
        super().__init__({"eth_call": self._multicall})
        self.used, self.rates = used, rates
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    def _multicall(self, call: dict[str, str], block: str) -> str:
        assert block == "latest"
        (calls,) = decode(["(address,bool,bytes)[]"], bytes.fromhex(call["data"][10:]))
        return "0x" + encode(["(bool,bytes)[]"], [[self._answer(to, data) for to, _, data in calls]]).hex()

    def _answer(self, to: str, data: bytes) -> tuple[bool, bytes]:
        by_case = {address.lower(): address for address in (*self.used, *self.rates)}
        contract = by_case.get(to, to)
        if data.hex() == "946647f1":
            return True, encode(["address"], [self.used[contract]])
        assert data[:4].hex() == "97edd4fa"
        (asked,) = decode(["address[]"], data[4:])
        self.asked.append((contract, asked))
        rate = self.rates.get(contract)
        return (False, b"") if rate is None else (
            True,
            encode(["uint256"] * 3, [rate.rate, rate.updated_at, rate.divisor]),
        )


def read(http: NodeResponses, *paths: Sequence[str]) -> Any:
    return read_rates(node_of("matic", http), [tuple(each) for each in paths])


def test_each_proxy_is_asked_for_the_rates_of_its_contract_in_one_request() -> None:
    native = PathRate(2, 5, 7)
    node = Contracts({ERC20_PROXY: OLDER, NATIVE_PROXY: NEWER}, {OLDER: RATE, NEWER: native})
    assert read(node, TO_TOKEN, TO_COIN, TO_TOKEN) == (RATE, native, RATE)
    assert (node.requests, node.asked) == (1, [(OLDER, TO_TOKEN), (NEWER, TO_COIN), (OLDER, TO_TOKEN)])


def test_a_proxy_that_takes_its_rates_elsewhere_is_followed() -> None:
    another = "0x" + "ab" * 20
    node = Contracts({ERC20_PROXY: another, NATIVE_PROXY: NEWER}, {another.lower(): RATE, OLDER: PathRate(1, 1, 1)})
    assert read(node, TO_TOKEN) == (RATE,)
    assert node.requests == 2


def test_a_proxy_that_changes_between_two_reads_gives_no_rate() -> None:
    class Restless(Contracts):
        def _answer(self, to: str, data: bytes) -> tuple[bool, bytes]:
            self.used[ERC20_PROXY] = f"0x{self.requests:040x}"
            return super()._answer(to, data)

    with pytest.raises(ChainUnavailable, match="is being changed"):
        read(Restless({ERC20_PROXY: OLDER, NATIVE_PROXY: NEWER}, {OLDER: RATE}), TO_TOKEN)


def test_a_path_without_a_feed_has_no_rate_and_the_others_have() -> None:
    node = Contracts({ERC20_PROXY: OLDER, NATIVE_PROXY: NEWER}, {NEWER: RATE})
    assert read(node, TO_TOKEN, TO_COIN) == (None, RATE)


@pytest.mark.parametrize("updated_at", [2**33, 2**64, 2**256 - 1])
def test_a_rate_without_a_time_is_none(updated_at: int) -> None:
    assert as_rate(encode(["uint256"] * 3, [1, updated_at, 1])) is None


@pytest.mark.parametrize("rate", [PathRate(0, 1, 1), PathRate(1, 1, 0)])
def test_a_rate_of_zero_is_none(rate: PathRate) -> None:
    assert as_rate(encode(["uint256"] * 3, [rate.rate, rate.updated_at, rate.divisor])) is None


@pytest.mark.parametrize("result", [None, b"", bytes(95), bytes(97), b"\x01" * 97])
def test_what_is_no_rate_is_none(result: bytes | None) -> None:
    assert as_rate(result) is None


@pytest.mark.parametrize("returned", ["0x", "0x12", "0x" + "00" * 64, "0x" + "ff" * 96, None, "nonsense"])
def test_a_node_that_answers_otherwise_gives_no_rate(returned: Any) -> None:
    with pytest.raises(ChainUnavailable):
        read(NodeResponses({"eth_call": lambda *_: returned}), TO_TOKEN)


def test_where_nothing_converts_there_is_no_rate_to_read() -> None:
    with pytest.raises(LookupError, match="not deployed on base"):
        read_rates(node_of("base", NodeResponses({})), [TO_TOKEN])
