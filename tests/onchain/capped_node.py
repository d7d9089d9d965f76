"""A node in front of a real chain that returns at most so many logs at once, as hosted nodes do; anvil has no limit."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from infra.local.chain import Chain
from tests.onchain.troubled_node import TroubledNode

Words = Callable[[dict[str, Any], int], dict[str, Any]]


def infura(criteria: dict[str, Any], cap: int) -> dict[str, Any]:
    """With a range that is one block, if one block was asked for: it is refused again."""
    first, last = (criteria.get(name, "0x1") for name in ("fromBlock", "toBlock"))
    text = f"query returned more than {cap} results. Try with this block range [{first}, {last}]."
    return {"code": -32005, "message": text, "data": {"from": first, "to": last, "limit": cap}}


def alchemy(criteria: dict[str, Any], cap: int) -> dict[str, Any]:
    text = (
        "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the "
    )
    text += "response size, or you can request any block range with a cap of 10K logs in the response. Based on your "
    return {
        "code": -32602,
        "message": f"{text}parameters and the response size limit, this block range should work: [0x0, 0x1]",
    }


def reth(criteria: dict[str, Any], cap: int) -> dict[str, Any]:
    text = (
        f"query exceeds max results {cap}, retry with the range {criteria.get('fromBlock')}-{criteria.get('fromBlock')}"
    )
    return {"code": -32602, "message": text}


class CappedNode(TroubledNode):
    """`missing` are methods that it does not have; `calls` counts calls by method, `requests` the HTTP requests.

    `change` may alter the result of a method, as a node that answers wrongly.
    """

    def __init__(
        self, chain: Chain, cap: int = 10**9, words: Words = infura, missing: frozenset[str] = frozenset()
    ) -> None:
        super().__init__(chain)
        self.cap, self.words, self.missing = cap, words, missing
        self.calls, self.requests = Counter[str](), 0
        self.change: Callable[[str, Any], Any] = lambda method, result: result

    def answer(self, body: bytes) -> bytes | None:
        content = super().answer(body)
        if content is None:
            return None
        calls, answers = json.loads(body), json.loads(content)
        is_batch = isinstance(calls, list)
        by_id = {call["id"]: call for call in (calls if is_batch else [calls])}
        answers = answers if is_batch else [answers]
        self.requests += 1
        self.calls.update(call["method"] for call in by_id.values())
        answered = [self._capped(by_id[answer["id"]], answer) for answer in answers]
        return json.dumps(answered if is_batch else answered[0]).encode()

    def _capped(self, call: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
        method, head = call["method"], {"jsonrpc": "2.0", "id": answer["id"]}
        if method in self.missing:
            return {**head, "error": {"code": -32601, "message": f"the method {method} does not exist"}}
        if "result" not in answer:
            return answer
        result = self.change(method, answer["result"])
        if method == "eth_getLogs" and len(result) > self.cap:
            return {**head, "error": self.words(call["params"][0], self.cap)}
        return {**head, "result": result}
