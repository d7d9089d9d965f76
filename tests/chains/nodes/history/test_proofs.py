"""What a node says of a transaction in several ways, in one request."""

from typing import Any

import pytest

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.nodes.history import proofs
from chalicelib.chains.nodes.history.logs import TRANSFER_TOPIC, InconsistentNode
from chalicelib.chains.nodes.readings import Sought, TokenBalances, TokenFlow
from tests.chains.nodes.accounts.test_relaying import node_of

TX, BLOCK_HASH, TOKEN, ACCOUNT, PAYER = ("0x" + byte * 32 for byte in ("12", "34", "01", "02", "03"))
TOKEN, ACCOUNT, PAYER = TOKEN[:42], ACCOUNT[:42], PAYER[:42]
REFUSED = {"error": {"code": -32005, "message": "query returned more than 10000 results"}}


def word(address: str) -> str:
    return "0x" + address[2:].rjust(64, "0")


def transfer(sender: str, receiver: str, amount: int, **changes: Any) -> dict[str, Any]:
    topics = [TRANSFER_TOPIC, word(sender), word(receiver)]
    return {"address": TOKEN, "topics": topics, "data": f"0x{amount:064x}", "transactionHash": TX, **changes}


def receipt(*logs: dict[str, Any], status: str = "0x1", **changes: Any) -> dict[str, Any]:
    place = {"transactionHash": TX, "blockNumber": "0x64", "blockHash": BLOCK_HASH}
    return {**place, "status": status, "gasUsed": "0x5208", "effectiveGasPrice": "0x1", "logs": list(logs), **changes}


def sight(inward: bool | None = None, **results: Any) -> Any:
    """What is seen; `results` are those of the methods, or whole responses with an error."""
    known = {"receipt": receipt(), "logs": [], "headers": {100, 101}} | results

    def answer(call: dict[str, Any]) -> dict[str, Any]:
        if call["method"] == "eth_getBlockByNumber":
            number = int(call["params"][0], 16)
            header = {"number": call["params"][0], "hash": BLOCK_HASH if number == 100 else "0x" + "56" * 32}
            return {"result": header if number in known["headers"] else None}
        result = known["receipt" if call["method"] == "eth_getTransactionReceipt" else "logs"]
        return result if isinstance(result, dict) and "error" in result else {"result": result}

    node, http = node_of(answer)
    flow = None if inward is None else TokenFlow(TOKEN, ACCOUNT, inward)
    (found,) = proofs.sights(node, [Sought(TX, 100, 101, flow)])
    assert http.requests == 1
    if inward is not None:
        (search,) = (call["params"][0] for call in http.sent if call["method"] == "eth_getLogs")
        topics = [TRANSFER_TOPIC, None, word(ACCOUNT)] if inward else [TRANSFER_TOPIC, word(ACCOUNT)]
        assert search == {"fromBlock": "0x64", "toBlock": "0x64", "address": TOKEN, "topics": topics}
    return found


def test_the_receipt_the_block_and_its_depth_are_seen() -> None:
    found = sight()
    assert (found.block_hash, found.is_deep, found.moved) == (BLOCK_HASH, True, ())
    assert found.receipt is not None and found.receipt.success
    assert not sight(headers={100}).is_deep
    assert sight(headers={101}).block_hash is None
    assert sight(receipt=None).receipt is None


def test_what_was_moved_is_read_from_the_receipt_and_from_the_block() -> None:
    taken = [transfer(PAYER, ACCOUNT, 5), transfer(PAYER, ACCOUNT, 7)]
    others = [
        transfer(ACCOUNT, PAYER, 3),
        transfer(PAYER, PAYER, 9),
        transfer(PAYER, ACCOUNT, 11, address=PAYER),
    ]
    of_another = transfer(PAYER, ACCOUNT, 13, transactionHash="0x" + "99" * 32)
    assert sight(True, receipt=receipt(*taken, *others), logs=[*taken, of_another]).moved == (12, 12)
    assert sight(False, receipt=receipt(*taken, *others), logs=[others[0]]).moved == (3, 3)
    assert sight(True, receipt=receipt(), logs=taken).moved == (0, 12), "it contradicts itself"
    assert sight(True, receipt=None, logs=taken).moved == (12,)


def test_a_node_that_refuses_the_search_says_it_by_the_receipt_alone() -> None:
    assert sight(True, receipt=receipt(transfer(PAYER, ACCOUNT, 5)), logs=REFUSED).moved == (5,)


def test_a_receipt_of_another_transaction_or_none_is_an_error() -> None:
    with pytest.raises(InconsistentNode):
        sight(receipt=receipt(transactionHash="0x" + "99" * 32))
    with pytest.raises(ChainUnavailable):
        sight(receipt={"error": {"code": -32000, "message": "transaction indexing is in progress"}})


def test_balances_and_nonce_are_those_after_one_block() -> None:
    results = {"eth_blockNumber": "0x64", "eth_getTransactionCount": "0x5", "eth_call": f"0x{77:064x}"}
    node, http = node_of(lambda call: {"result": results[call["method"]]})
    assert proofs.token_balances(node, ACCOUNT, [TOKEN.upper().replace("X", "x")]) == TokenBalances(5, {TOKEN: 77})
    assert {call["params"][-1] for call in http.sent[1:]} == {"0x64"} and http.requests == 2
    node, _ = node_of(lambda call: {"result": results[call["method"]] if call["method"] != "eth_call" else "0x"})
    with pytest.raises(ChainUnavailable):
        proofs.token_balances(node, ACCOUNT, [TOKEN])
