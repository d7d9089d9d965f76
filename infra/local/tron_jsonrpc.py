"""The `/jsonrpc` of a local Tron node: anvil's results with Tron's transaction and block ids, by java-tron's rules.

No batches; state at `latest` only; ranges of at most 5,000 blocks; the gas price is the energy price; no sending.
"""

from collections.abc import Callable
from typing import Any

from infra.local.chain import RpcError
from infra.local.tron_blocks import TronBlocks

ENERGY_PRICE = 100
"""Sun."""

_MOST_BLOCKS = 5000
_PLAIN = ("eth_chainId", "net_version", "eth_blockNumber", "eth_syncing", "web3_clientVersion", "eth_estimateGas")
_AT_LATEST = {"eth_call": 1, "eth_getBalance": 1, "eth_getCode": 1, "eth_getStorageAt": 2}
"""The position of the block among the parameters of each method."""


class _Refused(Exception):
    """(code, message, data) of a JSON-RPC error."""


class JsonRpc:
    def __init__(self, node: TronBlocks) -> None:
        self._node = node
        self._methods: dict[str, Callable[..., Any]] = {
            "eth_gasPrice": lambda: hex(ENERGY_PRICE),
            "eth_getLogs": self._logs,
            "eth_getBlockByNumber": self._block_by_number,
            "eth_getBlockByHash": self._block_by_hash,
            "eth_getTransactionReceipt": self._receipt,
            "eth_getTransactionByHash": self._transaction,
        }

    def respond(self, body: Any) -> dict[str, Any]:
        """Returns the response object of one request object."""
        if not isinstance(body, dict) or not isinstance(body.get("method"), str):
            return _error(None, -32600, "invalid request: one object, no batch")
        id_, method, params = body.get("id"), body["method"], body.get("params") or []
        try:
            return {"jsonrpc": "2.0", "id": id_, "result": self._result(method, params)}
        except _Refused as refused:
            return _error(id_, *refused.args)
        except RpcError as error:
            reverted = method in ("eth_call", "eth_estimateGas")
            text = "REVERT opcode executed" if reverted else str(error)
            return _error(id_, -32000, text, "0x" + revert_data(error) if reverted else None)
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            return _error(id_, -32602, f"invalid params: {error!r}")

    def _result(self, method: str, params: list[Any]) -> Any:
        if method in self._methods:
            return self._methods[method](*params)
        if method in _AT_LATEST:
            _demand_latest(params[_AT_LATEST[method]])
        elif method not in _PLAIN:
            raise _Refused(-32601, f"the method {method} does not exist/is not available")
        return self._node.chain.rpc(method, *params)

    def _logs(self, query: dict[str, Any]) -> list[dict[str, Any]]:
        chosen = {key: query[key] for key in ("address", "topics") if query.get(key) is not None}
        if query.get("blockHash"):
            found = self._number_of(query["blockHash"])
            if found is None:
                raise _Refused(-32602, "invalid block hash")
            first = last = found
        else:
            first, last = (self._number(query.get(key) or "latest") for key in ("fromBlock", "toBlock"))
            if first > last:
                raise _Refused(-32602, "please verify: fromBlock <= toBlock")
            if last - first > _MOST_BLOCKS:
                raise _Refused(-32602, f"exceed max block range: {_MOST_BLOCKS}")
        logs = self._node.chain.rpc("eth_getLogs", {**chosen, "fromBlock": hex(first), "toBlock": hex(last)})
        return [self._with_tron_ids(log) for log in logs]

    def _block_by_number(self, tag: str, full: bool = False) -> dict[str, Any] | None:
        return self._block(self._number(tag))

    def _block_by_hash(self, hash_: str, full: bool = False) -> dict[str, Any] | None:
        number = self._number_of(hash_)
        return None if number is None else self._block(number)

    def _receipt(self, hash_: str) -> dict[str, Any] | None:
        receipt = self._node.receipt(hash_.removeprefix("0x"))
        if receipt is None:
            return None
        return {**self._with_tron_ids(receipt), "logs": [self._with_tron_ids(log) for log in receipt["logs"]]}

    def _transaction(self, hash_: str) -> dict[str, Any] | None:
        entry = self._node.ledger.find(hash_.removeprefix("0x"))
        transaction = entry and self._node.chain.rpc("eth_getTransactionByHash", entry[0])
        if not transaction or transaction["blockNumber"] is None:
            return None
        number = int(transaction["blockNumber"], 16)
        return {**transaction, "hash": hash_, "blockHash": "0x" + block_id_of(number, transaction["blockHash"])}

    def _block(self, number: int) -> dict[str, Any] | None:
        block = self._node.block_at(number)
        if block is None:
            return None
        return {
            **block,
            "hash": "0x" + block_id_of(number, block["hash"]),
            "parentHash": "0x" + (block_id_of(number - 1, block["parentHash"]) if number else "00" * 32),
            "transactions": ["0x" + self._node.ledger.id_of(hash_) for hash_ in block["transactions"]],
        }

    def _with_tron_ids(self, entry: dict[str, Any]) -> dict[str, Any]:
        """Returns a log or receipt with Tron's ids of its transaction and block."""
        transaction_id = "0x" + self._node.ledger.id_of(entry["transactionHash"])
        id_of_block = "0x" + block_id_of(int(entry["blockNumber"], 16), entry["blockHash"])
        return {**entry, "transactionHash": transaction_id, "blockHash": id_of_block}

    def _number(self, tag: str) -> int:
        if tag == "pending":
            raise _Refused(-32602, "TAG pending not supported")
        if tag in ("latest", "finalized"):
            return self._node.head(solid=tag == "finalized")
        return 0 if tag == "earliest" else int(tag, 16)

    def _number_of(self, hash_: str) -> int | None:
        """Returns the number of the block with this id, or None if it is not a block of this chain."""
        number = int(hash_.removeprefix("0x")[:16], 16)
        block = self._block(number)
        return number if block and block["hash"] == hash_ else None


def block_id_of(number: int, hash_: str) -> str:
    """Returns Tron's id of a block, without 0x: its number in eight bytes, then the hash from the ninth byte on."""
    return f"{number:016x}{hash_[18:]}"


def revert_data(error: RpcError) -> str:
    """Returns the output of a reverted call, hex without 0x."""
    data = error.args[0].get("data") if error.args and isinstance(error.args[0], dict) else None
    return str(data or "0x")[2:]


def _demand_latest(tag: Any) -> None:
    if tag == "latest":
        return
    if tag in ("earliest", "pending", "finalized"):
        raise _Refused(-32602, "TAG [earliest | pending | finalized] not supported")
    int(tag, 16)
    raise _Refused(-32602, "QUANTITY not supported, just support TAG as latest")


def _error(id_: Any, code: int, message: str, data: str | None = None) -> dict[str, Any]:
    error = {"code": code, "message": message, **({} if data is None else {"data": data})}
    return {"jsonrpc": "2.0", "id": id_, "error": error}
