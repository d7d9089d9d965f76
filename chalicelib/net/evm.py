"""EVM nodes over JSON-RPC: balances for a payer, logs and block hashes for the scan, contract wallets' signatures.

Requests of one question travel in one JSON-RPC batch. web3 is imported by the first call, never at start.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from chalicelib.calldata import erc20, erc6492, multicall
from chalicelib.core.addresses import same_address
from chalicelib.core.chainlog import TRANSFER_TOPICS, BlockRange, Checkpoint
from chalicelib.core.contracts import fee_proxies
from chalicelib.core.errors import ChainUnavailable
from chalicelib.core.money import BaseUnits
from chalicelib.core.networks import network
from chalicelib.core.wallets import recover_digest

CONNECT_SECONDS, READ_SECONDS = 2, 6
"""Two questions one after the other stay within what API Gateway waits for (29 s)."""
_TOO_MANY = ("block range", "range too", "range is too", "too many results", "more than", "response size", "too large")
_REVERTED = ("revert", "out of gas", "opcode", "invalid jump", "stack ", "evm error", "vm execution error")
"""How nodes say that a contract failed, and not they."""


P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class WalletReading:
    """What a wallet holds, in base units; `token_balance` and `allowance` are of the token that was asked for."""

    native_balance: BaseUnits
    token_balance: BaseUnits
    allowance: BaseUnits
    gas_price: BaseUnits


@dataclass(frozen=True)
class RangeReading:
    """The proxies' raw logs of a block range, and the hash of its last block, read before and after the logs."""

    logs: tuple[Mapping[str, Any], ...]
    last_hash: str


class RangeTooLarge(Exception):
    """The node refuses so many blocks or logs at once, or takes too long for them; ask for fewer."""


class Disconnected(Exception):
    """The range does not continue from the checkpoint before it: a fork went deeper than the confirmations."""


class _RpcError(ChainUnavailable):
    """The node answered with an error object; `reason` is the node's own text, for us and not for callers."""

    def __init__(self, network: str, reason: str) -> None:
        super().__init__(f"The {network} node refused a request")
        self.reason = reason


class _TooSlow(ChainUnavailable):
    """The node took the question and did not answer in time."""


def _asks(method: Callable[Concatenate["EvmChain", P], T]) -> Callable[Concatenate["EvmChain", P], T]:
    """A question to the node: an answer outside the forms of JSON-RPC is no answer."""

    @wraps(method)
    def ask(self: "EvmChain", /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(self, *args, **kwargs)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise ChainUnavailable(f"The {self.network} node does not answer as it should") from error

    return ask


class EvmChain:
    """One network's node. Every method raises ChainUnavailable when the node does not answer as it should."""

    def __init__(self, network: str, url: str) -> None:
        self.network = network
        self._url = url

    @_asks
    def read_wallet(self, wallet: str, token: str | None, spender: str) -> WalletReading:
        """Balances and allowance by one multicall, and the gas price; `token` None reads the native coin alone."""
        reads = [multicall.eth_balance(self.network, wallet)]
        if token is not None:
            reads += [erc20.balance_of(token, wallet), erc20.allowance(token, wallet, spender)]
        question = multicall.aggregate(self.network, reads)
        call = {"to": question.to, "data": question.data}
        answer, gas_price = self._batch([("eth_call", [call, "latest"]), ("eth_gasPrice", [])])
        values = [multicall.as_uint(value) for value in multicall.decode(answer)]
        if len(values) != len(reads):
            raise ChainUnavailable(f"The {self.network} node gave no answer to a multicall")
        native, balance, allowance = (*values, 0, 0)[:3]
        if native is None or balance is None or allowance is None:
            raise ChainUnavailable(f"A token on {self.network} does not answer balanceOf and allowance")
        return WalletReading(
            BaseUnits(native), BaseUnits(balance), BaseUnits(allowance), BaseUnits(int(gas_price, 16))
        )

    @_asks
    def has_code(self, address: str) -> bool:
        """Whether a contract lives at the address."""
        (code,) = self._batch([("eth_getCode", [address, "latest"])])
        return len(code) > 2

    @_asks
    def would_revert(self, sender: str, to: str, data: str) -> bool:
        """Whether the node says that this call fails now."""
        try:
            self._batch([("eth_call", [{"from": sender, "to": to, "data": data}, "latest"])])
        except _RpcError:
            return True
        return False

    @_asks
    def is_valid_signature(self, address: str, digest: bytes, signature: bytes) -> bool:
        """Whether the wallet at an address stands by a signature over 32 bytes, at the newest block.

        An EOA's is recovered, without the node. A contract's is asked for by ERC-1271, and by ERC-6492 when it is not
        deployed yet, in one eth_call that changes nothing; whatever fails in the wallet's code is a no.
        """
        signer = recover_digest(digest, signature)
        if signer is not None and same_address(signer, address):
            return True
        question = {"data": erc6492.validation(address, digest, signature), "gas": hex(erc6492.GAS)}
        try:
            (answer,) = self._batch([("eth_call", [question, "latest"])])
        except _RpcError as error:
            if any(text in error.reason.lower() for text in _REVERTED):
                return False
            raise
        return int(answer, 16) == 1

    @_asks
    def head(self) -> int:
        """The newest block's number. Raises ChainUnavailable also when the node is of another chain.

        The native proxy has one address on several chains: a node of the wrong one would turn cheap coins into dear
        ones.
        """
        chain_id, number = self._batch([("eth_chainId", []), ("eth_blockNumber", [])])
        known = network(self.network)
        if known is None or int(chain_id, 16) != known.chain_id:
            raise ChainUnavailable(f"The node for {self.network} is of chain {int(chain_id, 16)}")
        return int(number, 16)

    @_asks
    def block_hashes(self, numbers: Sequence[int]) -> dict[int, str]:
        """The canonical hash at each height now. A height that the node does not have is no answer: it lags behind."""
        blocks = self._batch([_block(number) for number in numbers])
        if not all(blocks):
            raise ChainUnavailable(f"The {self.network} node lags behind what it knew before")
        return {number: block["hash"].lower() for number, block in zip(numbers, blocks, strict=True)}

    @_asks
    def read_range(self, blocks: BlockRange, after: Checkpoint | None) -> RangeReading:
        """The fee proxies' transfer logs of a range that continues from the checkpoint `after`.

        One batch reads the checkpoint's block, the last block, the logs, and the last block again: when the hashes
        agree, the node knew the whole range and no fork passed meanwhile. Raises Disconnected when the checkpoint is
        no longer canonical, RangeTooLarge when the node cannot answer for so many blocks.
        """
        span = {"fromBlock": hex(blocks.first), "toBlock": hex(blocks.last)}
        filter_ = {**span, "address": list(fee_proxies(self.network)), "topics": [list(TRANSFER_TOPICS)]}
        last, previous = _block(blocks.last), _block(after.number if after else blocks.last)
        try:
            root, before, logs, now = self._batch([previous, last, ("eth_getLogs", [filter_]), last])
        except _RpcError as error:
            if any(text in error.reason.lower() for text in _TOO_MANY):
                raise RangeTooLarge(error.reason) from error
            raise
        except _TooSlow as error:
            raise RangeTooLarge("the node takes too long") from error
        if not root or not before or not now or before["hash"] != now["hash"] or not isinstance(logs, list):
            raise ChainUnavailable(f"The {self.network} node does not have block {blocks.last} settled")
        if after is not None and root["hash"].lower() != after.hash:
            raise Disconnected
        if any(not blocks.first <= int(log["blockNumber"], 16) <= blocks.last for log in logs):
            raise ChainUnavailable(f"The {self.network} node gave logs of other blocks than it was asked for")
        return RangeReading(tuple(logs), before["hash"].lower())

    @cached_property
    def _provider(self) -> Any:
        from web3 import HTTPProvider

        return HTTPProvider(self._url, request_kwargs={"timeout": (CONNECT_SECONDS, READ_SECONDS)})

    def _batch(self, calls: list[tuple[str, list[Any]]]) -> list[Any]:
        """The results of a JSON-RPC batch, in order. Raises _RpcError for the first error object among them."""
        from requests import ReadTimeout
        from web3.exceptions import Web3Exception

        try:
            answers = self._provider.make_batch_request(calls)
        except ReadTimeout as error:
            raise _TooSlow(f"The {self.network} node takes too long") from error
        except (OSError, ValueError, TypeError, KeyError, Web3Exception) as error:
            raise ChainUnavailable(f"The {self.network} node does not answer") from error
        if isinstance(answers, dict):
            answers = [answers]
        if not isinstance(answers, list) or not all(isinstance(answer, dict) for answer in answers):
            raise ChainUnavailable(f"The {self.network} node does not answer JSON-RPC")
        for answer in answers:
            failure = answer.get("error")
            if failure:
                reason = failure.get("message", "") if isinstance(failure, dict) else failure
                raise _RpcError(self.network, str(reason))
        if len(answers) != len(calls) or any("result" not in answer for answer in answers):
            raise ChainUnavailable(f"The {self.network} node does not answer batches")
        return [answer["result"] for answer in answers]


def _block(number: int) -> tuple[str, list[Any]]:
    return "eth_getBlockByNumber", [hex(number), False]


class Chains:
    """The networks that have a node, by name. Chains are made on first use and kept with the container."""

    def __init__(self, secrets: Any) -> None:
        self._secrets = secrets
        self._chains: dict[str, EvmChain] = {}

    @property
    def networks(self) -> tuple[str, ...]:
        return tuple(self._secrets.rpc_urls)

    def of(self, network: str) -> EvmChain:
        """Raises ChainUnavailable when the deployment has no node for the network."""
        if network not in self._chains:
            url = self._secrets.rpc_urls.get(network)
            if url is None:
                raise ChainUnavailable(f"This deployment has no node for {network}")
            self._chains[network] = EvmChain(network, url)
        return self._chains[network]
