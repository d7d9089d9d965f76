"""A JSON-RPC node over HTTP with results that tests set, encoded by an independent ABI library.

At /jsonrpc and /wallet it is a Tron node: one call per request, and it accepts transactions.
"""

import json
import threading
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from eth_abi import decode, encode

from chalicelib.chains.catalogue.contracts import DEPLOYER

_AGGREGATE3, _APPROVE, _TRANSFER = "82ad56cb", "095ea7b3", "0xa9059cbb"
_SAFE_NONCE, _SEPOLIA = "affed0e0", 11155111
_ETH_BALANCE, _BALANCE_OF, _ALLOWANCE, _BATCH_FEE = "4d2301cc", "70a08231", "dd62ed3e", "f8b823e4"
ENERGY_PRICE = 100
_PARAMETERS = {"getTransactionFee": 1000, "getEnergyFee": ENERGY_PRICE, "getCreateAccountFee": 100_000}
_PARAMETERS |= {"getCreateNewAccountFeeInSystemContract": 1_000_000}
_PARAMETERS |= {"getMemoFee": 1_000_000, "getMultiSignFee": 1_000_000}
_RESOURCES = {"freeNetLimit": 600, "TotalEnergyLimit": 180_000_000_000, "TotalEnergyWeight": 18_000_000_000}
_RESOURCES |= {"TotalNetLimit": 43_200_000_000, "TotalNetWeight": 28_800_000_000}
_BLOCK = {"blockID": "00" * 32, "block_header": {"raw_data": {"number": 1, "timestamp": 1_800_000_000_000}}}


@dataclass
class Node:
    """A payer's balances and the node's behaviour. `asked` are the methods of all calls in order."""

    native: int = 10**18
    balance: int = 10**12
    allowance: int = 0
    gas_price: int = 10**9
    batch_fee: int = 0
    contracts: set[str] = field(default_factory=set)
    safes: set[str] = field(default_factory=set)
    """The contracts that are Safes; both sets have lower-case addresses."""
    transactions: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Those that wait for a block, by their hashes."""
    refuses_approval: bool = False
    blocked: set[str] = field(default_factory=set)
    """Recipients of whom every token refuses transfers, in lower case without 0x."""
    holder: str | None = None
    """Who alone has tokens to transfer, in lower case; None: everybody."""
    answers_with: Callable[[list[Any]], bytes] | None = None
    status: int = 200
    asked: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    """Signed Tron transactions as hex."""
    parameters: dict[str, Any] = field(default_factory=dict)
    """Those of Tron, which replace the usual ones."""
    resources: dict[str, Any] = field(default_factory=dict)
    """Fields of every Tron account, which replace the usual ones."""
    energy: int = 31_000
    """What every call on Tron takes."""
    found: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The responses to who looks for a transaction on Tron, by path; {} otherwise."""
    answers_no_broadcast: bool = False
    reverts: set[str] = field(default_factory=set)
    """Selectors, without 0x, of calls that fail on Tron."""
    verdict: dict[str, Any] = field(default_factory=dict)
    """Fields of the response to a Tron transaction, which replace those of an accepted one."""

    def __post_init__(self) -> None:
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def reset(self) -> None:
        """Restores a wallet with balances and no allowance, and a node that works."""
        for each in fields(self):
            setattr(self, each.name, each.default if each.default is not MISSING else each.default_factory())  # type: ignore[misc]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def answer(self, calls: list[Any]) -> bytes:
        self.asked += [call["method"] for call in calls]
        if self.answers_with is not None:
            return self.answers_with(calls)
        return json.dumps([{"jsonrpc": "2.0", "id": call["id"], **self._one(call)} for call in calls]).encode()

    def answer_wallet(self, path: str, body: dict[str, Any]) -> bytes:
        """Returns java-tron's response about prices, an account, a constant call or a signed transaction."""
        self.asked.append(path)
        if path == "/wallet/triggerconstantcontract":
            ret = {"ret": "FAILED"} if body["data"][:8] in self.reverts else {}
            tried = {"result": {"result": True}, "constant_result": [""], "transaction": {"ret": [ret]}}
            return json.dumps({**tried, "energy_used": self.energy}).encode()
        if path == "/wallet/getchainparameters":
            known = {**_PARAMETERS, **self.parameters}
            return json.dumps(
                {"chainParameter": [{"key": key, "value": value} for key, value in known.items()]}
            ).encode()
        if path == "/wallet/getaccountresource":
            return json.dumps({**_RESOURCES, **self.resources}).encode()
        if path == "/wallet/getcandelegatedmaxsize":
            return json.dumps({"max_size": 10**15}).encode()
        if path == "/wallet/getnowblock":
            return json.dumps(_BLOCK).encode()
        if path in ("/wallet/gettransactionbyid", "/wallet/gettransactionfrompending"):
            return json.dumps(self.found.get(path, {})).encode()
        assert path == "/wallet/broadcasthex"
        if self.answers_no_broadcast:
            return b"{}"
        self.sent.append(body["transaction"])
        return json.dumps({"result": True, "code": "SUCCESS", "txid": "", "message": "", **self.verdict}).encode()

    def _one(self, call: dict[str, Any]) -> dict[str, Any]:
        match call["method"], call["params"]:
            case "eth_chainId", _:
                return {"result": hex(_SEPOLIA)}
            case "eth_blockNumber", _:
                return {"result": "0x64"}
            case "eth_call", [{"to": to, "data": data}, _] if data[2:] == _SAFE_NONCE and to.lower() in self.safes:
                return {"result": f"0x{7:064x}"}
            case "eth_call", [{"data": data}, _] if data[2:] == _SAFE_NONCE:
                return {"error": {"code": 3, "message": "execution reverted"}}
            case "eth_getTransactionByHash", [tx_hash]:
                return {"result": self.transactions.get(tx_hash)}
            case "eth_getTransactionReceipt", _:
                return {"result": None}
            case "eth_gasPrice", _:
                return {"result": hex(self.gas_price)}
            case "eth_getCode", [address, _]:
                return {"result": "0x6001" if address.lower() in {DEPLOYER.lower(), *self.contracts} else "0x"}
            case "eth_call", [{"data": data}, _] if data[2:10] == _AGGREGATE3:
                return {"result": "0x" + self._aggregate(bytes.fromhex(data[10:])).hex()}
            case "eth_call", [{"data": data}, _] if data[2:10] == _APPROVE and self.refuses_approval:
                return {"error": {"code": 3, "message": "execution reverted"}}
            case "eth_call", [{"data": data}, _] if data[2:10] == _BATCH_FEE:
                return {"result": f"0x{self.batch_fee:064x}"}
            case "eth_call", [{"data": data}, _] if data[2:10] in (_BALANCE_OF, _ALLOWANCE):
                return {"result": "0x" + self._read(bytes.fromhex(data[2:])).hex()}
            case "eth_call", [call, _]:
                failure = self._simulated(call)["returnData"]
                return {"result": "0x"} if failure == "0x" else {"error": {"code": 3, "message": "", "data": failure}}
            case "eth_getBalance", _:
                return {"result": hex(self.native)}
            case "eth_simulateV1", [{"blockStateCalls": [{"calls": calls}]}, _]:
                return {"result": [{"calls": [self._simulated(each) for each in calls]}]}
        return {"error": {"code": -32601, "message": "unknown method"}}

    def _simulated(self, call: dict[str, str]) -> dict[str, Any]:
        is_poor = call["data"].startswith(_TRANSFER) and self.holder not in (None, call["from"].lower())
        if not is_poor and not any(each in call["data"] for each in self.blocked):
            return {"status": "0x1", "gasUsed": "0x5208", "returnData": "0x"}
        failure = "0x08c379a0" + encode(["string"], ["no funds" if is_poor else "blocked"]).hex()
        return {"status": "0x0", "gasUsed": "0x5208", "returnData": failure, "error": {"message": "execution reverted"}}

    def _aggregate(self, data: bytes) -> bytes:
        (calls,) = decode(["(address,bool,bytes)[]"], data)
        return encode(["(bool,bytes)[]"], [[(True, self._read(inner)) for _, _, inner in calls]])

    def _read(self, data: bytes) -> bytes:
        pass_fds = {_ETH_BALANCE: self.native, _BALANCE_OF: self.balance, _ALLOWANCE: self.allowance}
        pass_fds[_BATCH_FEE] = self.batch_fee
        return encode(["uint256"], [pass_fds.get(data[:4].hex(), 0)])


def _handler(node: Node) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if self.path.startswith("/wallet/"):
                answer = node.answer_wallet(self.path, body)
            elif self.path == "/jsonrpc":
                (response,) = json.loads(node.answer([body]))
                price = {"result": hex(ENERGY_PRICE)} if body["method"] == "eth_gasPrice" else {}
                answer = json.dumps({**response, **price}).encode()
            else:
                answer = node.answer(body if isinstance(body, list) else [body])
            self.send_response(node.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    return Handler
