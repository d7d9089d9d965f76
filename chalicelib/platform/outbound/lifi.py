"""The client of the router that finds ways to pay from another chain: the HTTP API of LI.FI (docs/cross-chain.md).

    POST /v1/quote/contractCalls     what the payer signs on the source chain  -> a step
    GET  /v1/status?txHash=0x...     where a transfer is                        -> status

What it answers is a claim: fields are read one by one, and a step in another form is not one. Whether a step may be
shown to a payer is decided by crosschain/service/router/verification.py; whether a payment was made, by the chains
alone.
"""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from chalicelib.base.frozen import frozen
from chalicelib.base.money import MAX_UINT256, BaseUnits
from chalicelib.chains.nodes.rpc.http_client import HttpClient, HttpError, HttpResponse, json_of

BRIDGES = ("across",)
"""The bridges whose calls this service can read, and so verify."""
DOLLAR_DECIMALS = 8
_MAX_BYTES = 256 * 1024
_MOST_BRACKETS = 2_000  # in a body, for json_of
_MOST_COSTS = 20
_LONGEST_TEXT = 200
_LONGEST_WAIT_SECONDS = 2 * 3600
_BUSY = frozenset((1005, 1006, 1008, 1009, 1010, 1012))
"""Codes that say nothing about what was asked: too many requests, trouble of the server or of others, our key."""
_ADDRESS = re.compile("0x[0-9a-fA-F]{40}")
_HASH = re.compile("0x[0-9a-fA-F]{64}")
_DATA = re.compile("0x(?:[0-9a-fA-F]{2}){4,65536}")
_NUMBER = re.compile("0x[0-9a-fA-F]{1,64}|[0-9]{1,78}")
_NAME = re.compile("[A-Za-z0-9_.-]{1,64}")
_STATUS = re.compile("[A-Z_]{1,40}")
_PROBLEM = re.compile(rb'"code"\s*:\s*"([A-Z_]{1,40})"')
"""Bridges' codes stand at several depths of an answer."""
_DOLLARS = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,40})?")


class RouterUnavailable(Exception):
    """The router gave no usable answer. `retry_after` is in how many seconds it asks to be called again, if it does."""

    def __init__(self, reason: str, retry_after: int | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class RouterRefused(Exception):
    """The router offers no way for what was asked.

    `code` is of its API, and `problems` are codes of single bridges such as AMOUNT_TOO_LOW. Its text is its own reason,
    for the log and not for payers.
    """

    def __init__(self, code: int, reason: str, problems: frozenset[str] = frozenset()) -> None:
        super().__init__(reason)
        self.code, self.problems = code, problems


@frozen
class QuoteCall:
    """A call on the destination chain that is paid for in `from_token` on the source chain.

    `to_amount` base units of `to_token` arrive, which `target` takes by an allowance when `calldata` is sent to it. If
    the call fails they go to `fallback`.
    """

    from_chain: int
    from_token: str
    from_address: str
    to_chain: int
    to_token: str
    to_amount: int
    target: str
    calldata: str
    gas_limit: int
    fallback: str


@frozen
class RouterCost:
    """What gas costs: base units of a token, and dollars with DOLLAR_DECIMALS if the router says them."""

    amount: BaseUnits
    chain_id: int
    token: str
    dollars: BaseUnits | None


@frozen
class RouterStep:
    """A transaction of the source chain as the router proposes it: claims, all of them.

    `source_amount` is what leaves the sender, `seconds` how long it takes until the rest arrives.
    `raw` is the step as it was answered.
    """

    id: str
    tool: str
    to: str
    data: str
    value: int
    sender: str
    chain_id: int
    gas_limit: int
    approval_address: str
    source_amount: int
    seconds: int
    gas_costs: tuple[RouterCost, ...]
    raw: Mapping[str, Any]


@frozen
class RouterStatus:
    """Where a transfer is, as the router claims: it tells where to look, and proves nothing."""

    status: str
    substatus: str | None
    sending_hash: str | None
    receiving_hash: str | None
    receiving_chain_id: int | None
    tool: str | None


class Lifi:
    """The client of the router. Without `base_url` there is none: `is_configured` is False."""

    def __init__(self, base_url: str, integrator: str, key: Callable[[], str | None] = lambda: None) -> None:
        """`integrator` names this service at LI.FI. `key` is called before the first request."""
        self._base_url, self._integrator, self._read_key = base_url, integrator, key

    @property
    def is_configured(self) -> bool:
        return bool(self._base_url)

    @property
    def has_key(self) -> bool:
        """Whether requests are sent with a key, for which more are allowed."""
        return self._key is not None

    def quote_call(self, wanted: QuoteCall) -> RouterStep:
        """The step that leads to a call. One request. Raises RouterUnavailable, RouterRefused."""
        body = {
            "fromChain": wanted.from_chain,
            "fromToken": wanted.from_token,
            "fromAddress": wanted.from_address,
            "toChain": wanted.to_chain,
            "toToken": wanted.to_token,
            "toAmount": str(wanted.to_amount),
            "toFallbackAddress": wanted.fallback,
            "contractCalls": [
                {
                    "fromAmount": str(wanted.to_amount),
                    "fromTokenAddress": wanted.to_token,
                    "toContractAddress": wanted.target,
                    "toContractCallData": wanted.calldata,
                    "toContractGasLimit": str(wanted.gas_limit),
                    "toFallbackAddress": wanted.fallback,
                }
            ],
            "integrator": self._integrator,
            "allowBridges": list(BRIDGES),
            "allowExchanges": ["none"],
        }
        return step_of(self._answer(lambda: self._client.post_json("/v1/quote/contractCalls", body, _MAX_BYTES)))

    def status(self, tx_hash: str, from_chain: int, to_chain: int, tool: str | None = None) -> RouterStatus:
        """Where the transfer of a source transaction is. One request. Raises RouterUnavailable, RouterRefused."""
        query = {"txHash": tx_hash, "fromChain": from_chain, "toChain": to_chain, **({"bridge": tool} if tool else {})}
        return _status_of(self._answer(lambda: self._client.get(f"/v1/status?{urlencode(query)}")))

    def _answer(self, request: Callable[[], HttpResponse]) -> Mapping[str, Any]:
        try:
            response = request()
        except HttpError as error:
            raise RouterUnavailable(type(error).__name__) from error
        if response.status == 200:
            return _json_of(response.body)
        raise _trouble(response)

    @cached_property
    def _key(self) -> str | None:
        return self._read_key()

    @cached_property
    def _client(self) -> HttpClient:
        headers = {} if self._key is None else {"x-lifi-api-key": self._key}
        return HttpClient(self._base_url, _MAX_BYTES, headers)


def step_of(answer: Mapping[str, Any]) -> RouterStep:
    """The step of an answer. Raises RouterUnavailable if it is not in the documented form."""
    estimate, transaction = _object(answer, "estimate"), _object(answer, "transactionRequest")
    return RouterStep(
        id=_matching(_NAME, answer, "id"),
        tool=_matching(_NAME, answer, "tool"),
        to=_matching(_ADDRESS, transaction, "to"),
        data=_matching(_DATA, transaction, "data"),
        value=_number(transaction, "value"),
        sender=_matching(_ADDRESS, transaction, "from"),
        chain_id=_number(transaction, "chainId"),
        gas_limit=_number(transaction, "gasLimit"),
        approval_address=_matching(_ADDRESS, estimate, "approvalAddress"),
        source_amount=_number(estimate, "fromAmount"),
        seconds=_seconds(estimate),
        gas_costs=_gas_costs(estimate),
        raw=answer,
    )


def _status_of(answer: Mapping[str, Any]) -> RouterStatus:
    sending, receiving = (
        {} if answer.get(name) is None else _object(answer, name) for name in ("sending", "receiving")
    )
    return RouterStatus(
        status=_matching(_STATUS, answer, "status"),
        substatus=_optional(_STATUS, answer, "substatus"),
        sending_hash=_optional(_HASH, sending, "txHash"),
        receiving_hash=_optional(_HASH, receiving, "txHash"),
        receiving_chain_id=_number(receiving, "chainId") if receiving.get("chainId") else None,
        tool=_optional(_NAME, answer, "tool"),
    )


def _gas_costs(estimate: Mapping[str, Any]) -> tuple[RouterCost, ...]:
    found = estimate.get("gasCosts") or []
    if not isinstance(found, list) or len(found) > _MOST_COSTS:
        raise _not_as_documented("gasCosts")
    return tuple(_gas_cost(_fields(each)) for each in found)


def _gas_cost(fields: Mapping[str, Any]) -> RouterCost:
    token, dollars = _object(fields, "token"), fields.get("amountUSD")
    return RouterCost(
        amount=BaseUnits(_number(fields, "amount")),
        chain_id=_number(token, "chainId"),
        token=_matching(_ADDRESS, token, "address"),
        dollars=_dollars(dollars) if isinstance(dollars, str) and _DOLLARS.fullmatch(dollars) else None,
    )


def _dollars(text: str) -> BaseUnits:
    return BaseUnits(int(Decimal(text).scaleb(DOLLAR_DECIMALS)))


def _trouble(response: HttpResponse) -> RouterUnavailable | RouterRefused:
    """What a status other than 200 says. A refusal is about what was asked; everything else may be better later."""
    try:
        fields = _json_of(response.body)
    except RouterUnavailable:
        fields = {}
    code = fields.get("code") if type(fields.get("code")) is int else None
    if response.status in (400, 404, 409, 422) and code not in _BUSY and code is not None:
        problems = frozenset(each.decode() for each in _PROBLEM.findall(response.body))
        return RouterRefused(code, _plain(fields.get("message")) or "no reason given", problems)
    return RouterUnavailable(f"status {response.status}, code {code}", _retry_after(response.headers))


def _retry_after(headers: Mapping[str, str]) -> int | None:
    for name in ("retry-after", "ratelimit-reset"):
        text = headers.get(name, "")
        if re.fullmatch("[0-9]{1,9}", text):
            return min(int(text), _LONGEST_WAIT_SECONDS)
    return None


def _json_of(body: bytes) -> Mapping[str, Any]:
    try:
        return _fields(json_of(body, _MOST_BRACKETS))
    except ValueError:
        raise _not_as_documented("the answer") from None


def _fields(found: Any) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise _not_as_documented("the answer")
    return found


def _object(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return _fields(fields.get(name))


def _matching(pattern: re.Pattern[str], fields: Mapping[str, Any], name: str) -> str:
    text = fields.get(name)
    if not isinstance(text, str) or not pattern.fullmatch(text):
        raise _not_as_documented(name)
    return text


def _optional(pattern: re.Pattern[str], fields: Mapping[str, Any], name: str) -> str | None:
    return None if fields.get(name) is None else _matching(pattern, fields, name)


def _number(fields: Mapping[str, Any], name: str) -> int:
    """A whole number from 0 to the largest uint256, as a JSON number, decimal text or 0x hex."""
    found = fields.get(name)
    if isinstance(found, str) and _NUMBER.fullmatch(found):
        found = int(found, 16 if found.startswith("0x") else 10)
    if type(found) is not int or not 0 <= found <= MAX_UINT256:
        raise _not_as_documented(name)
    return found


def _seconds(estimate: Mapping[str, Any]) -> int:
    found = estimate.get("executionDuration")
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found <= 7 * 86_400:
        raise _not_as_documented("executionDuration")
    return round(found)


def _plain(text: Any) -> str:
    """A text of the router without control characters and cut off; empty if there is none."""
    return "".join(each for each in text if each.isprintable())[:_LONGEST_TEXT] if isinstance(text, str) else ""


def _not_as_documented(name: str) -> RouterUnavailable:
    return RouterUnavailable(f"{name} is not as documented")
