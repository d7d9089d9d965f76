"""Logs of the fee proxies: decoding and matching them, compared with web3's event processing."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hexbytes import HexBytes
from web3 import Web3
from web3.datastructures import AttributeDict

from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, NATIVE_FEE_PROXY, address_of
from chalicelib.chains.nodes.history.logs import decode_transfer
from chalicelib.payments.links.creation import create_link
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import find_mismatch
from chalicelib.payments.scanning import transfer_log
from chalicelib.platform.access.callers import Owner
from tests.bench.figures import Figure, cpu_seconds
from tests.fakes.chain import FakeChain
from tests.fakes.world import START, TERMS, draft

NETWORK = "sepolia"
_EVENT = "TransferWithReferenceAndFee"
_TAIL = [("amount", "uint256"), ("paymentReference", "bytes"), ("feeAmount", "uint256"), ("feeAddress", "address")]
_FIELDS = {
    ERC20_FEE_PROXY: [("tokenAddress", "address"), ("to", "address"), *_TAIL],
    NATIVE_FEE_PROXY: [("to", "address"), *_TAIL],
}


def measure() -> list[Figure]:
    """Returns CPU microseconds for a log; web3 gets logs in its own format and only decodes them."""
    request = create_link(draft(), Owner("acct", None, None), TERMS, START, bytes).requests[0]
    figures = []
    native = replace(request, currency="ETH-sepolia-sepolia")
    for name, owed, contract in (("ERC-20", request, ERC20_FEE_PROXY), ("native", native, NATIVE_FEE_PROXY)):
        log = FakeChain(NETWORK).pay(owed)
        service, web3 = cpu_seconds(_decoder(owed, log), _web3_decoder(contract, log))
        beside = "web3 process_log (decoded only)"
        figures.append(Figure(f"{name} log decoded and matched", service * 1e6, "us", beside, web3 * 1e6, 0.1))
    return figures


def _decoder(request: Request, log: dict[str, Any]) -> Callable[[], object]:
    def decode_and_match() -> object:
        transfer = decode_transfer(NETWORK, log)
        assert transfer is not None
        payables = {transfer.reference_topic: transfer_log.PayableId(request.payable_id, request.account_id)}
        (logged,) = transfer_log.entries_of([replace(transfer, paid_at=START)], payables, START)
        return find_mismatch(request, logged.network, logged.token_address, logged.payee)

    if decode_and_match() is not None:
        raise AssertionError("the log does not pay the request, so the time cannot be compared")
    return decode_and_match


def _web3_decoder(contract: str, log: dict[str, Any]) -> Callable[[], object]:
    inputs = [{"name": n, "type": t, "indexed": n == "paymentReference"} for n, t in _FIELDS[contract]]
    abi = [{"type": "event", "name": _EVENT, "inputs": inputs, "anonymous": False}]
    address = Web3.to_checksum_address(address_of(contract, NETWORK))
    event = Web3().eth.contract(address=address, abi=abi).events[_EVENT]()
    formatted = AttributeDict(
        {
            "address": log["address"],
            "topics": [HexBytes(topic) for topic in log["topics"]],
            "data": HexBytes(log["data"]),
            "transactionHash": HexBytes(log["transactionHash"]),
            "blockHash": HexBytes(log["blockHash"]),
            "logIndex": int(log["logIndex"], 16),
            "blockNumber": int(log["blockNumber"], 16),
            "transactionIndex": 0,
        }
    )
    return lambda: event.process_log(formatted)
