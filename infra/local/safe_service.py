"""A local Safe Transaction Service: owners propose and confirm transactions; executions are read from the chain.

It implements the public API of safe-global/safe-transaction-service, /api/v1 and /api/v2, with one base URL per chain
(`http://127.0.0.1:<port>/<network>`). Proposals are stored in a file, if one is given; transactions executed without a
proposal are found on the chain. Delegates, traces of calls and token lists are not supported.
"""

import json
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from chalicelib.base.addresses import evm_address
from chalicelib.base.errors import BadRequest
from chalicelib.base.signatures import recover_digest
from infra.local.chain import Chain, RpcError
from infra.local.process import Stoppable
from infra.local.safe import EXECUTION_FAILURE, EXECUTION_SUCCESS, SafeTransaction
from infra.local.serving import JsonRequest, JsonResponse, JsonServer

_PATH = re.compile(
    r"/(?P<network>[a-z-]+)/api/v(?P<version>[12])/(?:safes/(?P<safe>0x\w{40})|(?P<all>multisig-transactions))/(?P<rest>.*)"
)
_GET_OWNERS, _GET_THRESHOLD, _NONCE = "0xa0e67e2b", "0xe75235b8", "0xaffed0e0"
_NOT_FOUND = JsonResponse({"detail": "No MultisigTransaction matches the given query."}, 404)


class _Refused(Exception):
    """Why a proposal is rejected."""


@dataclass(frozen=True)
class _Proposed:
    """A proposed transaction; `confirmations` maps owners to signatures."""

    safe: str
    transaction: SafeTransaction
    proposer: str | None
    submitted: str
    confirmations: dict[str, str] = field(default_factory=dict)


class SafeTransactionService(Stoppable):
    """A running service for the Safes of these chains."""

    def __init__(self, chains: Mapping[str, Chain], port: int | None = None, file: Path | None = None) -> None:
        self._chains, self._file, self._lock = dict(chains), file, threading.Lock()
        self._proposed = dict[tuple[str, str], _Proposed]()
        for line in file.read_text().splitlines() if file and file.exists() else ():
            entry = json.loads(line)
            proposed = _Proposed(**{**entry["proposed"], "transaction": SafeTransaction(**entry["transaction"])})
            self._proposed[entry["network"], entry["hash"]] = proposed
        self._server = JsonServer("the Safe Transaction Service", self._respond, port)
        self.urls = {network: f"{self._server.url}/{network}" for network in self._chains}
        """{network: base URL}, in the form of the setting SAFE_SERVICE_URLS."""

    def stop(self) -> None:
        self._server.close()

    def _respond(self, request: JsonRequest) -> JsonResponse:
        path = _PATH.fullmatch(request.path)
        if path is None or path["network"] not in self._chains:
            return JsonResponse({"detail": "Not found."}, 404)
        network, rest, as_text = path["network"], path["rest"].rstrip("/"), path["version"] == "2"
        try:
            safe = evm_address(path["safe"]) if path["safe"] else None
            if safe and rest == "multisig-transactions" and request.method == "POST":
                return self._propose(network, safe, request.body)
            if safe and rest == "multisig-transactions":
                return self._list(network, safe, request.query, as_text)
            if safe and not rest:
                return self._safe(network, safe)
            if safe is None and rest.endswith("/confirmations") and request.method == "POST":
                return self._confirm(network, rest.partition("/")[0], request.body)
            if safe is None and re.fullmatch("0x[0-9a-f]{64}", rest):
                return self._one(network, rest, as_text)
        except (_Refused, BadRequest, KeyError, TypeError, ValueError, AttributeError) as error:
            return JsonResponse({"nonFieldErrors": [str(error)]}, 422)
        return JsonResponse({"detail": "Not found."}, 404)

    # --- reading ---

    def _safe(self, network: str, safe: str) -> JsonResponse:
        owners = self._owners(network, safe)
        if not owners:
            return JsonResponse({"detail": "Not found."}, 404)
        nonce, threshold = self._read(network, safe, _NONCE), self._read(network, safe, _GET_THRESHOLD)
        body = {"address": safe, "nonce": nonce, "threshold": threshold, "owners": owners}
        return JsonResponse({**body, "modules": [], "version": "1.4.1+L2"})

    def _one(self, network: str, hash_: str, as_text: bool) -> JsonResponse:
        proposed = self._proposed.get((network, hash_)) or self._find_unproposed(network, hash_)
        return JsonResponse(self._json_of(network, hash_, proposed, as_text)) if proposed else _NOT_FOUND

    def _list(self, network: str, safe: str, query: Mapping[str, str], as_text: bool) -> JsonResponse:
        hashes = {hash_ for on, hash_ in self._proposed if on == network} | set(self._list_executed(network, safe))
        every = {
            hash_: self._proposed.get((network, hash_)) or self._find_unproposed(network, hash_) for hash_ in hashes
        }
        chosen = [
            self._json_of(network, hash_, each, as_text)
            for hash_, each in every.items()
            if each
            and each.safe == safe
            and query.get("nonce", str(each.transaction.nonce)) == str(each.transaction.nonce)
        ]
        wanted = query.get("executed")
        listed = [each for each in chosen if wanted is None or each["isExecuted"] is (wanted.lower() == "true")]
        listed.sort(key=lambda each: int(each["nonce"]), reverse=True)
        nonces = len({each["nonce"] for each in listed})
        return JsonResponse(
            {"count": len(listed), "next": None, "previous": None, "results": listed, "countUniqueNonce": nonces}
        )

    def _json_of(self, network: str, hash_: str, proposed: _Proposed, as_text: bool) -> dict[str, Any]:
        log = next(self._logs(network, proposed.safe, hash_), None)
        block = log and self._chains[network].rpc("eth_getBlockByNumber", log["blockNumber"], False)
        fields = proposed.transaction.json()
        texts = ("value", "gasPrice", *(("nonce", "safeTxGas", "baseGas") if as_text else ()))
        return {
            "safe": proposed.safe,
            **{name: str(value) if name in texts else value for name, value in fields.items()},
            "data": None if fields["data"] == "0x" else fields["data"],
            "submissionDate": proposed.submitted,
            "modified": proposed.submitted,
            "executionDate": _iso(int(block["timestamp"], 16)) if block else None,
            "blockNumber": int(log["blockNumber"], 16) if log else None,
            "transactionHash": log["transactionHash"] if log else None,
            "safeTxHash": hash_,
            "proposer": proposed.proposer,
            "proposedByDelegate": None,
            "isExecuted": log is not None,
            "isSuccessful": log["topics"][0] == EXECUTION_SUCCESS if log else None,
            "confirmationsRequired": self._read(network, proposed.safe, _GET_THRESHOLD),
            "confirmations": [
                {"owner": owner, "signature": signature, "signatureType": "EOA", "submissionDate": proposed.submitted}
                for owner, signature in proposed.confirmations.items()
            ],
            "trusted": True,
        }

    # --- writing ---

    def _propose(self, network: str, safe: str, body: Mapping[str, Any]) -> JsonResponse:
        transaction = SafeTransaction(
            to=evm_address(body["to"]),
            data=body.get("data") or "0x",
            nonce=int(body["nonce"]),
            value=int(body["value"]),
            operation=int(body["operation"]),
            safe_tx_gas=int(body["safeTxGas"]),
            base_gas=int(body["baseGas"]),
            gas_price=int(body["gasPrice"]),
            **{
                field_: evm_address(body[name])
                for field_, name in (("gas_token", "gasToken"), ("refund_receiver", "refundReceiver"))
                if body.get(name)
            },
        )
        owners, digest = self._owners(network, safe), transaction.digest(self._chains[network].chain_id, safe)
        hash_, sender = "0x" + digest.hex(), evm_address(body["sender"])
        if body["contractTransactionHash"] != hash_:
            raise _Refused(f"Contract-transaction-hash={hash_} does not match provided contract-tx-hash")
        if sender not in owners:
            raise _Refused(f"Sender={sender} is not an owner or delegate. Current owners={owners}")
        if transaction.nonce < self._read(network, safe, _NONCE):
            raise _Refused(f"Tx with nonce={transaction.nonce} for safe={safe} already executed")
        confirmations = {_signer(digest, body["signature"], owners): body["signature"]} if body.get("signature") else {}
        self._store(
            network, hash_, _Proposed(safe, transaction, sender, _iso(datetime.now(UTC).timestamp()), confirmations)
        )
        return JsonResponse(None, 201)

    def _confirm(self, network: str, hash_: str, body: Mapping[str, Any]) -> JsonResponse:
        proposed = self._proposed.get((network, hash_))
        if proposed is None:
            return _NOT_FOUND
        owner = _signer(bytes.fromhex(hash_[2:]), body["signature"], self._owners(network, proposed.safe))
        confirmations = {**proposed.confirmations, owner: body["signature"]}
        self._store(network, hash_, _Proposed(**{**vars(proposed), "confirmations": confirmations}))
        return JsonResponse({"signature": body["signature"]}, 201)

    def _store(self, network: str, hash_: str, proposed: _Proposed) -> None:
        fields = {**vars(proposed), "transaction": None}
        entry = {"network": network, "hash": hash_, "proposed": fields, "transaction": vars(proposed.transaction)}
        with self._lock:
            self._proposed[network, hash_] = proposed
            if self._file:
                with self._file.open("a") as file:
                    file.write(json.dumps(entry) + "\n")

    # --- the chain ---

    def _call(self, network: str, safe: str, selector: str) -> bytes:
        """Returns the output of a Safe's function without arguments; empty if there is no Safe."""
        try:
            output = self._chains[network].rpc("eth_call", {"to": safe, "data": selector}, "latest")
        except RpcError:
            return b""
        return bytes.fromhex(output[2:])

    def _read(self, network: str, safe: str, selector: str) -> int:
        return int.from_bytes(self._call(network, safe, selector)[:32])

    def _owners(self, network: str, safe: str) -> list[str]:
        from eth_abi import decode

        output = self._call(network, safe, _GET_OWNERS)
        return [evm_address(owner) for owner in decode(["address[]"], output)[0]] if output else []

    def _logs(self, network: str, safe: str | None, hash_: str | None) -> Iterator[dict[str, Any]]:
        """Yields the execution events, of one Safe if given, of one transaction hash if given."""
        topics = [[EXECUTION_SUCCESS, EXECUTION_FAILURE], *([hash_] if hash_ else ())]
        query = {"fromBlock": "0x0", "toBlock": "latest", "topics": topics, **({"address": safe} if safe else {})}
        yield from self._chains[network].rpc("eth_getLogs", query)

    def _list_executed(self, network: str, safe: str) -> list[str]:
        return [log["topics"][1] for log in self._logs(network, safe, None)]

    def _find_unproposed(self, network: str, hash_: str) -> _Proposed | None:
        """Returns an executed transaction without a proposal: decoded from the call; its nonce is found by the hash."""
        chain, log = self._chains[network], next(self._logs(network, None, hash_), None)
        if log is None:
            return None
        safe = evm_address(log["address"])
        data = bytes.fromhex(chain.rpc("eth_getTransactionByHash", log["transactionHash"])["input"][2:])
        for nonce in range(self._read(network, safe, _NONCE)):
            transaction = SafeTransaction.of_call(data, nonce)
            if "0x" + transaction.digest(chain.chain_id, safe).hex() == hash_:
                return _Proposed(safe, transaction, None, _iso(datetime.now(UTC).timestamp()))
        return None


def _signer(digest: bytes, signature: str, owners: list[str]) -> str:
    owner = recover_digest(digest, bytes.fromhex(signature[2:]))
    if owner not in owners:
        raise _Refused(f"Signer={owner} is not an owner. Current owners={owners}")
    return str(owner)


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
