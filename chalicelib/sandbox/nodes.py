"""Virtual nodes: they answer JSON-RPC as a node of the network would, from the records of a sandbox.

So everything that reads a chain is the code of production, from the JSON on. What nobody asks a virtual node while
payments are made and recorded is answered as a node does that lacks a method.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from chalicelib.base.addresses import hex_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.networks import ALL_NETWORKS, require_network
from chalicelib.chains.nodes.accounts.balances import TokenReading, WalletReading
from chalicelib.chains.nodes.accounts.simulation import Simulation, StepResult
from chalicelib.chains.nodes.chains import Chains
from chalicelib.chains.nodes.evm import EvmChain
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient, RpcCall, RpcError
from chalicelib.chains.nodes.tron import TronChain
from chalicelib.platform.storage.store import Store
from chalicelib.sandbox import rules, store
from chalicelib.sandbox.records import VirtualBlock, VirtualChain, VirtualLog

if TYPE_CHECKING:
    from chalicelib.chains.nodes.protocol import Chain

_UNKNOWN_METHOD = {"code": -32601, "message": "a virtual node does not have this method"}
_PLENTY = BaseUnits(10**30)
_GAS_PRICE = BaseUnits(10**9)
_GAS = 50_000
Json = Mapping[str, Any]


class VirtualChains(Chains):
    """A virtual chain for every network of the catalogue."""

    def __init__(self, records: Store, seed: str, clock: Callable[[], datetime]) -> None:
        """`seed` is in the hashes of all blocks."""
        self._records, self._seed, self._clock = records, seed, clock

    @property
    def networks(self) -> tuple[str, ...]:
        return tuple(each.name for each in ALL_NETWORKS)

    def of(self, name: str) -> "Chain":
        """The chain of a network. Raises ChainUnavailable if the catalogue does not have it."""
        if name not in self.networks:
            raise ChainUnavailable(f"There is no virtual chain of {name}")
        node = VirtualNode(name, self._records, self._seed, self._clock)
        is_tron = require_network(name).family == "tron"
        return cast("Chain", VirtualTron(node) if is_tron else VirtualEvm(node))


class VirtualNode(JsonRpcClient):
    """The client of a node that is none: its answers are made here. It reads the chain once for each batch of calls."""

    def __init__(self, network: str, records: Store, seed: str, clock: Callable[[], datetime]) -> None:
        self.network = network
        self._records, self._seed, self._clock = records, seed, clock

    def outcomes(self, calls: Sequence[RpcCall]) -> list[Any]:
        chain = self._chain()
        numbers = [_number(chain, params[0]) for method, params in calls if method == "eth_getBlockByNumber"]
        blocks = store.blocks(self._records, self.network, numbers) if numbers else {}
        hashes = [params[0].lower() for method, params in calls if method == "eth_getTransactionReceipt"]
        receipts = self._receipts(chain, hashes) if hashes else {}
        return [self._answer(chain, blocks, receipts, method, params) for method, params in calls]

    def post(self, path: str, body: Any, max_bytes: int) -> Any:
        """The newest block, as java-tron's API has it."""
        if path != "/walletsolidity/getnowblock":
            raise ChainUnavailable(f"A virtual node of {self.network} does not answer this")
        return {"block_header": {"raw_data": {"number": self._chain().head}}}

    def _chain(self) -> VirtualChain:
        return store.chain(self._records, self.network) or rules.new_chain(self.network, self._clock())

    def _answer(
        self, chain: VirtualChain, blocks: Mapping[int, VirtualBlock], receipts: Json, method: str, params: Any
    ) -> Any:
        match method:
            case "eth_chainId":
                return hex(require_network(self.network).chain_id)
            case "eth_blockNumber":
                return hex(chain.head)
            case "eth_getBlockByNumber":
                number = _number(chain, params[0])
                return self._header(chain, number, blocks.get(number)) if number <= chain.head else None
            case "eth_getTransactionReceipt":
                return receipts.get(params[0].lower())
            case "eth_getLogs":
                return self._logs(chain, params[0])
            case "eth_getTransactionByHash":
                return None
            case "eth_getCode":
                return "0x"
        return RpcError(self.network, _UNKNOWN_METHOD)

    def _header(self, chain: VirtualChain, number: int, block: VirtualBlock | None) -> Json:
        return {
            "number": hex(number),
            "hash": rules.hash_of(self._seed, chain, number),
            "parentHash": rules.hash_of(self._seed, chain, max(number - 1, 0)),
            "timestamp": hex(int(rules.time_of(chain, number).timestamp())),
            "transactions": [block.tx_hash] if block is not None else [],
        }

    def _logs(self, chain: VirtualChain, wanted: Json) -> list[Json]:
        if "blockHash" in wanted:
            first = last = rules.number_in(wanted["blockHash"])
        else:
            first, last = _number(chain, wanted["fromBlock"]), min(_number(chain, wanted["toBlock"]), chain.head)
        found = store.blocks_between(self._records, self.network, first, last) if first <= last else ()
        logs = (log for block in found for log in self._logs_in(chain, block))
        return [log for log in logs if _takes(wanted, log)]

    def _receipts(self, chain: VirtualChain, hashes: Sequence[str]) -> Json:
        known = store.places(self._records, self.network, hashes)
        blocks = store.blocks(
            self._records, self.network, [each.number for each in known.values() if each.number is not None]
        )
        return {
            block.tx_hash: {
                **self._place(chain, block),
                "from": hex_address(block.sender),
                "to": hex_address(block.to),
                "status": "0x1",
                "logs": self._logs_in(chain, block),
            }
            for block in blocks.values()
        }

    def _logs_in(self, chain: VirtualChain, block: VirtualBlock) -> list[Json]:
        place = self._place(chain, block)
        return [{**place, **_json(log), "logIndex": hex(index)} for index, log in enumerate(block.logs)]

    def _place(self, chain: VirtualChain, block: VirtualBlock) -> Json:
        return {
            "transactionHash": block.tx_hash,
            "transactionIndex": "0x0",
            "blockNumber": hex(block.number),
            "blockHash": rules.hash_of(self._seed, chain, block.number),
        }


class _Wallets:
    """What virtual chains say of wallets: each has plenty of everything, none is a contract, and no call fails."""

    def read_wallet(
        self,
        wallet: str,
        tokens: Sequence[str],
        spender: str,
        *,
        batch_fee: bool = False,
        code_of: str | None = None,
    ) -> WalletReading:
        return WalletReading(_PLENTY, {each: TokenReading(_PLENTY, BaseUnits(0)) for each in tokens}, _GAS_PRICE, 0)

    def read_batch_fee(self) -> int:
        return 0

    def read_codes(self, *addresses: str) -> tuple[bytes, ...]:
        return (b"",) * len(addresses)

    def which_revert(self, sender: str, calls: Sequence[Transaction]) -> tuple[bool, ...]:
        return (False,) * len(calls)

    def simulate(self, sent: Sequence[tuple[str, Transaction]]) -> Simulation:
        return Simulation("virtual", tuple(StepResult(True, None, _GAS) for _ in sent))


class VirtualEvm(_Wallets, EvmChain):
    def __init__(self, node: VirtualNode) -> None:
        super().__init__(node.network, "")
        self.node = node


class VirtualTron(_Wallets, TronChain):
    def __init__(self, node: VirtualNode) -> None:
        super().__init__(node.network, "")
        self.node = node


def _number(chain: VirtualChain, text: str) -> int:
    return chain.head if text == "latest" else int(text, 16)


def _json(log: VirtualLog) -> Json:
    return {"address": log.address, "topics": list(log.topics), "data": log.data, "removed": False}


def _takes(wanted: Json, log: Json) -> bool:
    """Whether a filter of eth_getLogs takes a log: one of the addresses, and at each place one of the topics."""
    addresses, topics = wanted.get("address"), wanted.get("topics") or []
    if addresses and log["address"] not in ([addresses] if isinstance(addresses, str) else addresses):
        return False
    if len(log["topics"]) < len(topics):
        return False
    pairs = zip(log["topics"], topics, strict=False)
    return all(not each or topic in ([each] if isinstance(each, str) else each) for topic, each in pairs)
