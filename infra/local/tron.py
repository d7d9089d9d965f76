"""A local Tron node for tronweb, tronpy and the service: java-tron's HTTP API and JSON-RPC over a local chain.

Transactions are checked as in java-tron (signature, reference block, size, expiry, duplicates) and refused with its
codes; anvil executes their calls with the owner as sender, for energy and bandwidth by tron_resources.py. Differences:
calls run in the EVM in place of the TVM, so that energy is gas; and there are no representatives: a block is solid when
SOLID_AFTER others follow it.
"""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from chalicelib.base.keccak import keccak256
from infra.local.chain import Chain, RpcError
from infra.local.process import Stoppable
from infra.local.serving import JsonRequest, JsonResponse, JsonServer
from infra.local.tron_blocks import Charge, Ledger, TronBlocks
from infra.local.tron_jsonrpc import ENERGY_PRICE, JsonRpc, block_id_of, revert_data
from infra.local.tron_resources import ACTIVATION, BANDWIDTH_PRICE, MEMO_FEE, Insufficient, Refused, TronResources
from infra.local.tron_transactions import (
    TRANSFER,
    TRIGGER,
    Call,
    Malformed,
    Transaction,
    address21,
    base58_address,
)

_LIFETIME, _LONGEST_LIFETIME = 60_000, 24 * 3600 * 1000
_MOST_BYTES = 500 * 1024
_HIGHEST_FEE_LIMIT = 15_000 * 10**6
_GAS = 30_000_000
_PARAMETERS = {
    "getTransactionFee": BANDWIDTH_PRICE,
    "getEnergyFee": ENERGY_PRICE,
    "getMaxFeeLimit": _HIGHEST_FEE_LIMIT,
    "getCreateAccountFee": 100_000,
    "getCreateNewAccountFeeInSystemContract": ACTIVATION - 100_000,
    "getMemoFee": MEMO_FEE,
    "getMultiSignFee": 1_000_000,
}
_VERSION = 31
_OUT = "OUT_OF_ENERGY"


class TronNode(TronBlocks, Stoppable):
    """A running node. `chain` is the chain behind it."""

    def __init__(self, chain: Chain, port: int | None = None, transactions: Path | None = None) -> None:
        super().__init__(chain, Ledger(transactions))
        self.resources = TronResources(chain)
        self.permissions = dict[tuple[bytes, int], bytes]()
        """The keys of permissions that are not the owner's, by account and id: they delegate, and nothing else."""
        self._json_rpc = JsonRpc(self)
        self._server = JsonServer("the Tron node", self._respond, port)
        self.url = self._server.url

    @classmethod
    def start(
        cls,
        port: int | None = None,
        chain_port: int | None = None,
        state: Path | None = None,
        block_time: int | None = None,
        log: Path | None = None,
        pass_fds: Sequence[int] = (),
    ) -> Self:
        """Starts the chain and the node in front of it; the arguments are those of Chain.start."""
        chain = Chain.start("tron", chain_port, state, block_time, log, pass_fds)
        try:
            return cls(chain, port, state.with_suffix(".transactions.jsonl") if state else None)
        except BaseException:
            chain.stop()
            raise

    def stop(self) -> None:
        self._server.close()
        self.chain.stop()

    # --- operations ---

    def _respond(self, request: JsonRequest) -> JsonResponse:
        if request.path == "/jsonrpc":
            return JsonResponse(self._json_rpc.respond(request.body))
        _, _, rest = request.path.partition("/")
        api, _, name = rest.partition("/")
        operation = getattr(self, f"_on_{name}", None) if api in ("wallet", "walletsolidity") else None
        if operation is None:
            return JsonResponse({"Error": f"there is no {request.path}"}, 404)
        parameters = request.body if isinstance(request.body, dict) else request.query
        try:
            return JsonResponse(operation(parameters, api == "walletsolidity"))
        except (Malformed, ValueError, TypeError, KeyError, AttributeError) as error:
            return JsonResponse({"Error": f"class java.lang.IllegalArgumentException : {error!r}"})

    def _on_getnowblock(self, parameters: dict[str, Any], solid: bool) -> dict[str, Any]:
        return self._block(self.head(solid), solid)

    def _on_getblock(self, parameters: dict[str, Any], solid: bool) -> dict[str, Any]:
        id_or_number = parameters.get("id_or_num")
        if id_or_number is None or str(id_or_number) == "":
            return self._block(self.head(solid), solid)
        text = str(id_or_number)
        return self._block(int(text) if text.isdecimal() and len(text) < 64 else int(text[:16], 16), solid)

    def _on_getblockbynum(self, parameters: dict[str, Any], solid: bool) -> dict[str, Any]:
        return self._block(int(parameters["num"]), solid)

    def _on_getblockbyid(self, parameters: dict[str, Any], solid: bool) -> dict[str, Any]:
        block = self._block(int(parameters["value"][:16], 16), solid)
        return block if block.get("blockID") == parameters["value"] else {}

    def _on_getnodeinfo(self, parameters: dict[str, Any], solid: bool) -> dict[str, Any]:
        newest, solid_one = (self._block(self.head(each), each) for each in (False, True))
        named = {"block": newest, "solidityBlock": solid_one}
        return {
            name: f"Num:{block['block_header']['raw_data']['number']},ID:{block['blockID']}"
            for name, block in named.items()
        }

    def _on_getchainparameters(self, parameters: dict[str, Any], solid: bool) -> dict[str, Any]:
        return {"chainParameter": [{"key": key, "value": value} for key, value in _PARAMETERS.items()]}

    def _on_getaccount(self, parameters: dict[str, Any], solid: bool) -> dict[str, Any]:
        address = address21(parameters["address"])
        if not self.resources.is_active(address):
            return {}
        balance = self.chain.native_balance(base58_address(address))
        return {"address": _address_text(address, parameters), **({"balance": balance} if balance else {})}

    def _on_getaccountresource(self, parameters: dict[str, Any], solid: bool) -> dict[str, Any]:
        return self.resources.json(address21(parameters["address"]))

    def _on_getcandelegatedmaxsize(self, parameters: dict[str, Any], solid: bool) -> dict[str, Any]:
        size = self.resources.delegable(address21(parameters["owner_address"]), int(parameters.get("type") or 0))
        return {"max_size": size} if size else {}

    def _on_getdelegatedresourcev2(self, parameters: dict[str, Any], solid: bool) -> dict[str, Any]:
        owner, receiver = (address21(parameters[name]) for name in ("fromAddress", "toAddress"))
        sun = self.sum_delegated(owner, receiver, solid)
        if not any(sun):
            return {}
        ends = {name: _address_text(each, parameters) for name, each in (("from", owner), ("to", receiver))}
        names = ("frozen_balance_for_bandwidth", "frozen_balance_for_energy")
        amounts = {name: each for name, each in zip(names, sun, strict=True) if each}
        return {"delegatedResource": [{**ends, **amounts}]}

    def _on_gettransactionbyid(self, parameters: dict[str, Any], solid: bool) -> dict[str, Any]:
        entry, receipt = self.ledger.find(parameters["value"]), self.receipt(parameters["value"], solid)
        if entry is None or (receipt is None and solid):
            return {}
        result = {"ret": [{"contractRet": self._outcome(entry[1].id, receipt)}]} if receipt else {}
        return entry[1].json() | result

    def _on_gettransactionfrompending(self, parameters: dict[str, Any], solid: bool) -> dict[str, Any]:
        entry = self.ledger.find(parameters["value"])
        return {} if entry is None or self.receipt(parameters["value"]) else entry[1].json()

    def _on_gettransactioninfobyid(self, parameters: dict[str, Any], solid: bool) -> dict[str, Any]:
        receipt = self.receipt(parameters["value"], solid)
        if receipt is None:
            return {}
        number = int(receipt["blockNumber"], 16)
        block = self.block_at(number)
        outcome = self._outcome(parameters["value"], receipt)
        message = "Not enough energy" if outcome == _OUT else "REVERT opcode executed"
        failed = {"result": "FAILED", "resMessage": message.encode().hex()}
        return {
            "id": parameters["value"],
            "fee": self.ledger.charges.get(parameters["value"], Charge(0)).fee,
            "blockNumber": number,
            "blockTimeStamp": int(block["timestamp"], 16) * 1000 if block else 0,
            "contractResult": [self._output(receipt)],
            "contract_address": _address_text(address21(receipt["to"]), parameters),
            "receipt": {"energy_usage_total": int(receipt["gasUsed"], 16), "result": outcome},
            **({} if receipt["status"] == "0x1" else failed),
            "log": [
                {
                    "address": log["address"][2:].lower(),
                    "topics": [topic[2:] for topic in log["topics"]],
                    "data": log["data"][2:],
                }
                for log in receipt["logs"]
            ],
        }

    def _on_triggersmartcontract(self, parameters: dict[str, Any], solid: bool) -> dict[str, Any]:
        transaction = self._build_transaction(parameters)
        if not self._has_code(transaction.call.contract):
            return {"result": _refusal("CONTRACT_VALIDATE_ERROR", "No contract or not a valid smart contract")}
        return {"result": {"result": True}, "transaction": transaction.json()}

    def _on_triggerconstantcontract(self, parameters: dict[str, Any], solid: bool) -> dict[str, Any]:
        transaction = self._build_transaction(parameters)
        if not self._has_code(transaction.call.contract):
            return {"result": _refusal("CONTRACT_VALIDATE_ERROR", "Smart contract is not exist.")}
        call = {"from": _hex20(transaction.call.owner), **_evm_call(transaction.call)}
        try:
            output = self.chain.rpc("eth_call", call, "latest")
            energy = int(self.chain.rpc("eth_estimateGas", call), 16)
        except RpcError as error:
            result = {"result": {"result": True, "message": b"REVERT opcode executed".hex()}}
            reverted = {**transaction.json(), "ret": [{"ret": "FAILED"}]}
            return {**result, "constant_result": [revert_data(error)], "transaction": reverted}
        built = {**transaction.json(), "ret": [{}]}
        return {
            "result": {"result": True},
            "energy_used": energy,
            "constant_result": [output[2:]],
            "transaction": built,
        }

    def _on_estimateenergy(self, parameters: dict[str, Any], solid: bool) -> dict[str, Any]:
        called = self._on_triggerconstantcontract(parameters, solid)
        energy = {"energy_required": called["energy_used"]} if "energy_used" in called else {}
        return {"result": called["result"], **energy}

    def _on_getsignweight(self, parameters: dict[str, Any], solid: bool) -> dict[str, Any]:
        transaction = Transaction.of_json(parameters)
        owner = transaction.call.owner.hex()
        approved = [] if not transaction.signatures or transaction.signature_problem() else [owner]
        return {
            "result": {} if approved else {"code": "NOT_ENOUGH_PERMISSION"},
            "permission": {"permission_name": "owner", "threshold": 1, "keys": [{"address": owner, "weight": 1}]},
            "approved_list": approved,
            "current_weight": len(approved),
            "transaction": {
                "result": {"result": True},
                "txid": transaction.id,
                "transaction": transaction.json(),
            },
        }

    def _on_broadcasttransaction(self, parameters: dict[str, Any], solid: bool) -> dict[str, Any]:
        transaction = Transaction.of_json(parameters)
        refused = self._execute(transaction)
        if refused:
            return {**_refusal(*refused), "txid": transaction.id}
        return {"result": True, "txid": transaction.id}

    def _on_broadcasthex(self, parameters: dict[str, Any], solid: bool) -> dict[str, Any]:
        """Broadcasts; unlike broadcasttransaction it returns the message as plain text."""
        transaction = Transaction.of_hex(parameters["transaction"])
        code, message = self._execute(transaction) or ("SUCCESS", "")
        return {
            "result": code == "SUCCESS",
            "code": code,
            "message": message,
            "transaction": json.dumps(transaction.json()),
            "txid": transaction.id,
        }

    # --- transactions ---

    def _build_transaction(self, parameters: dict[str, Any]) -> Transaction:
        """Returns the unsigned transaction of a call, with the newest block as its reference block."""
        data = parameters.get("data") or ""
        if parameters.get("function_selector"):
            data = keccak256(parameters["function_selector"].encode())[:4].hex() + (parameters.get("parameter") or "")
        block_id, now = bytes.fromhex(self._block(self.head(), False)["blockID"]), self._now()
        call = Call(
            owner=address21(parameters["owner_address"]),
            contract=address21(parameters["contract_address"]),
            data=bytes.fromhex(data.removeprefix("0x")),
            call_value=int(parameters.get("call_value") or 0),
            fee_limit=int(parameters.get("fee_limit") or 0),
            ref_block_bytes=block_id[6:8],
            ref_block_hash=block_id[8:16],
            expiration=now + _LIFETIME,
            timestamp=now,
            permission_id=int(parameters.get("Permission_id") or 0),
        )
        return Transaction(call, call.encode())

    def _execute(self, transaction: Transaction) -> tuple[str, str] | None:
        """Checks a transaction as java-tron does, then executes it; returns (code, message) if it is refused."""
        call, now = transaction.call, self._now()
        permitted = self.permissions.get((call.owner, call.permission_id))
        unsigned = transaction.signature_problem(permitted if call.is_delegation else None)
        if unsigned:
            return "SIGERROR", f"Validate signature error: {unsigned}"
        if not self._is_anchored(call):
            return "TAPOS_ERROR", "Tapos check error."
        if len(transaction.raw) > _MOST_BYTES:
            return "TOO_BIG_TRANSACTION_ERROR", "Transaction size is too big."
        if not now < call.expiration <= now + _LONGEST_LIFETIME:
            return "TRANSACTION_EXPIRATION_ERROR", "Transaction expired"
        known = self.ledger.find(transaction.id)
        if known and self.chain.rpc("eth_getTransactionByHash", known[0]):
            return "DUP_TRANSACTION_ERROR", "Dup transaction."
        if call.type == TRIGGER and not self._has_code(call.contract):
            return "CONTRACT_VALIDATE_ERROR", "Contract validate error : No contract or not a valid smart contract"
        if not 0 <= call.fee_limit <= _HIGHEST_FEE_LIMIT:
            limits = f"feeLimit must be >= 0 and <= {_HIGHEST_FEE_LIMIT}"
            return "CONTRACT_VALIDATE_ERROR", f"Contract validate error : {limits}"
        if not self.resources.is_active(call.owner):
            missing = f"account [{base58_address(call.owner)}] does not exist"
            return "CONTRACT_VALIDATE_ERROR", f"Contract validate error : {missing}"
        try:
            if call.is_delegation:
                self.resources.check_delegation(call, is_contract=self._has_code(call.contract))
            charge = self._charge(transaction)
            owner, gas = _hex20(call.owner), charge.gas or _GAS
            self.ledger.send(transaction, charge, lambda: self.chain.send_as(owner, _evm_call(call), gas))
            if call.type == TRANSFER:
                self.resources.activate(call.contract)
            if call.is_delegation:
                self.resources.delegate(call)
                self.delegations.append(transaction)
        except Refused as error:
            return "CONTRACT_VALIDATE_ERROR", f"Contract validate error : {error}"
        except Insufficient:
            return "BANDWITH_ERROR", "Account resource insufficient error."
        except RpcError as error:
            return "CONTRACT_VALIDATE_ERROR", f"Contract validate error : {error}"
        return None

    def _charge(self, transaction: Transaction) -> Charge:
        """Takes what the transaction needs. A call that fails on the newest state pays for its bandwidth alone."""
        if transaction.call.is_delegation:
            return self.resources.charge(transaction, 0)
        if transaction.call.type == TRANSFER:
            is_new = not self.resources.is_active(transaction.call.contract)
            return self.resources.charge(transaction, 0, ACTIVATION if is_new else 0)
        call = {"from": _hex20(transaction.call.owner), **_evm_call(transaction.call)}
        try:
            energy = int(self.chain.rpc("eth_estimateGas", call), 16)
        except RpcError:
            energy = 0
        return self.resources.charge(transaction, energy)

    def _outcome(self, id: str, receipt: dict[str, Any]) -> str:
        if receipt["status"] == "0x1":
            return "SUCCESS"
        return _OUT if self.ledger.charges.get(id, Charge(0)).gas else "REVERT"

    def _is_anchored(self, call: Call) -> bool:
        """Returns whether the reference block is one of the last 65,536 of this chain."""
        head, low = self.head(), int.from_bytes(call.ref_block_bytes, "big")
        number = (head & ~0xFFFF) | low
        block = self._block(number if number <= head else number - 0x10000, False)
        return bool(block) and block["blockID"][16:32] == call.ref_block_hash.hex()

    def _has_code(self, address: bytes) -> bool:
        return bool(self.chain.rpc("eth_getCode", _hex20(address), "latest") != "0x")

    def _now(self) -> int:
        """Returns milliseconds, not before the newest block's time, which is ahead after many blocks in a second."""
        block = self.block_at(self.head())
        return max(int(time.time() * 1000), int(block["timestamp"], 16) * 1000 if block else 0)

    def _output(self, receipt: dict[str, Any]) -> str:
        """Returns the output of the call, hex without 0x; empty if anvil no longer has the state."""
        try:
            traced = self.chain.rpc("debug_traceTransaction", receipt["transactionHash"], {"tracer": "callTracer"})
        except RpcError:
            return ""
        return str(traced.get("output", "0x"))[2:]

    def _block(self, number: int, solid: bool) -> dict[str, Any]:
        """Returns a block in the wallet API's form; {} if it does not exist (with `solid`: is not solid)."""
        block = self.block_at(number) if 0 <= number <= self.head(solid) else None
        if block is None:
            return {}
        entries = [self.ledger.find(self.ledger.id_of(hash_)) for hash_ in block["transactions"]]
        transactions = [entry[1].json() for entry in entries if entry]
        raw = {
            "number": number,
            "txTrieRoot": block["transactionsRoot"][2:],
            "witness_address": "41" + "00" * 20,
            "parentHash": block_id_of(number - 1, block["parentHash"]) if number else "00" * 32,
            "version": _VERSION,
            "timestamp": int(block["timestamp"], 16) * 1000,
        }
        header = {"raw_data": raw, "witness_signature": "00" * 65}
        listed = {"transactions": transactions} if transactions else {}
        return {"blockID": block_id_of(number, block["hash"]), "block_header": header, **listed}


def _evm_call(call: Call) -> dict[str, str]:
    if call.is_delegation:  # a transaction to its sender, which has a place in a block and changes nothing
        return {"to": _hex20(call.owner), "data": "0x", "value": "0x0"}
    return {"to": _hex20(call.contract), "data": "0x" + call.data.hex(), "value": hex(call.call_value)}


def _refusal(code: str, message: str) -> dict[str, Any]:
    return {"code": code, "message": message.encode().hex()}


def _address_text(address: bytes, parameters: dict[str, Any]) -> str:
    return base58_address(address) if str(parameters.get("visible")).lower() == "true" else address.hex()


def _hex20(address: bytes) -> str:
    return "0x" + address[1:].hex()
