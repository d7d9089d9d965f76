"""The router in memory: answers quotes in the form of LI.FI, with true deposits into Across.

world.router.change = lambda answer: {...}          what a hostile router answers instead
world.router.trouble = RouterUnavailable("down")    raised by every call
world.router.statuses[tx_hash] = RouterStatus(...)  what is said about a transfer; NOT_FOUND without an entry
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from chalicelib.base.addresses import ZERO_ADDRESS
from chalicelib.chains.calldata.bridges.across import Deposit, HandlerMessage, encode_deposit, encode_message
from chalicelib.chains.calldata.tokens.erc20 import approve
from chalicelib.chains.catalogue.bridges import needs_reset
from chalicelib.chains.catalogue.contracts import ACROSS_HANDLER, ACROSS_SPOKE_POOL, address_of
from chalicelib.chains.catalogue.networks import network_of_chain
from chalicelib.chains.catalogue.tokens import Token, token_at
from chalicelib.platform.outbound.lifi import QuoteCall, RouterStatus, RouterStep, step_of

FILL_SECONDS = 2 * 3600
SECONDS = 4


class FakeRouter:
    """`calls` are the quotes that were asked for. A route costs 8 basis points and two cents in the source token."""

    is_configured, has_key = True, True

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self.calls = list[QuoteCall]()
        self.change: Callable[[dict[str, Any]], Mapping[str, Any]] = lambda answer: answer
        self.trouble: Exception | None = None
        self.trouble_by_chain = dict[int, Exception]()
        self.seconds_by_chain = dict[int, float]()
        """How long a quote from a chain takes, in real seconds."""
        self.statuses = dict[str, RouterStatus]()

    def quote_call(self, wanted: QuoteCall) -> RouterStep:
        self.calls.append(wanted)
        time.sleep(self.seconds_by_chain.get(wanted.from_chain, 0))
        trouble = self.trouble or self.trouble_by_chain.get(wanted.from_chain)
        if trouble is not None:
            raise trouble
        return step_of(self.change(answer_to(wanted, int(self._clock().timestamp()))))

    def status(self, tx_hash: str, from_chain: int, to_chain: int, tool: str | None = None) -> RouterStatus:
        if self.trouble is not None:
            raise self.trouble
        return self.statuses.get(tx_hash, RouterStatus("NOT_FOUND", None, None, None, None, None))


def deposit_of(wanted: QuoteCall, now: int) -> Deposit:
    """The deposit that a true quote makes at a time in seconds of Unix time."""
    destination = _network(wanted.to_chain)
    amounts = [0, wanted.to_amount] if needs_reset(_token(wanted.to_chain, wanted.to_token)) else [wanted.to_amount]
    approvals = [approve(wanted.to_token, wanted.target, amount) for amount in amounts]
    calls = (*((each.to, each.data, 0) for each in approvals), (wanted.target, wanted.calldata, 0))
    message = HandlerMessage(calls, wanted.fallback)
    return Deposit(
        depositor=wanted.from_address,
        recipient=address_of(ACROSS_HANDLER, destination),
        input_token=wanted.from_token,
        output_token=wanted.to_token,
        input_amount=_source_amount(wanted),
        output_amount=wanted.to_amount,
        destination_chain_id=wanted.to_chain,
        exclusive_relayer=ZERO_ADDRESS,
        quote_timestamp=now,
        fill_deadline=now + FILL_SECONDS,
        exclusivity=0,
        message=encode_message(message),
    )


def answer_to(wanted: QuoteCall, now: int) -> dict[str, Any]:
    """The body of a true answer."""
    return answer_of(deposit_of(wanted, now), wanted)


def answer_of(deposit: Deposit, wanted: QuoteCall) -> dict[str, Any]:
    """An answer with a deposit, all of whose other fields are true for it."""
    spoke = address_of(ACROSS_SPOKE_POOL, _network(wanted.from_chain))
    tokens = [
        _token_fields(_token(wanted.from_chain, wanted.from_token)),
        _token_fields(_token(wanted.to_chain, wanted.to_token)),
    ]
    fee = _source_amount(replace(wanted, to_amount=0))
    coin = {
        "address": ZERO_ADDRESS,
        "chainId": wanted.from_chain,
        "symbol": "ETH",
        "decimals": 18,
        "name": "ETH",
        "priceUSD": "2000",
    }
    return {
        "type": "lifi",
        "id": f"step-{wanted.from_chain}-{wanted.to_chain}-{wanted.to_amount}",
        "tool": "across",
        "toolDetails": {"key": "across", "name": "Across", "logoURI": ""},
        "action": {
            "fromChainId": wanted.from_chain,
            "fromAmount": str(deposit.input_amount),
            "fromToken": tokens[0],
            "fromAddress": wanted.from_address,
            "toChainId": wanted.to_chain,
            "toToken": tokens[1],
            "toAddress": deposit.recipient,
            "slippage": 0.005,
        },
        "estimate": {
            "tool": "across",
            "fromAmount": str(deposit.input_amount),
            "toAmount": str(deposit.output_amount),
            "toAmountMin": str(deposit.output_amount),
            "approvalAddress": spoke,
            "executionDuration": SECONDS,
            "feeCosts": [
                {
                    "name": "Relayer fee",
                    "percentage": "0.0008",
                    "token": tokens[0],
                    "amount": str(fee),
                    "amountUSD": "0.02",
                    "included": True,
                }
            ],
            "gasCosts": [
                {
                    "type": "SEND",
                    "estimate": "150000",
                    "limit": "200000",
                    "amount": "5000000000000",
                    "amountUSD": "0.01",
                    "token": coin,
                }
            ],
        },
        "includedSteps": [],
        "transactionRequest": {
            "to": spoke,
            "data": encode_deposit(deposit),
            "value": "0x0",
            "from": wanted.from_address,
            "chainId": wanted.from_chain,
            "gasLimit": hex(200_000),
            "gasPrice": hex(10**8),
        },
    }


def _source_amount(wanted: QuoteCall) -> int:
    source, destination = _token(wanted.from_chain, wanted.from_token), _token(wanted.to_chain, wanted.to_token)
    amount = -(-wanted.to_amount * 10**source.decimals // 10**destination.decimals)
    return amount + amount * 8 // 10_000 + 2 * 10 ** (source.decimals - 2)


def _token_fields(token: Token) -> dict[str, Any]:
    return {
        "address": token.address,
        "chainId": token.chain_id,
        "symbol": token.symbol,
        "decimals": token.decimals,
        "name": token.name,
        "priceUSD": "1",
    }


def _token(chain_id: int, address: str) -> Token:
    found = token_at(_network(chain_id), address)
    assert found is not None
    return found


def _network(chain_id: int) -> str:
    found = network_of_chain(chain_id)
    assert found is not None
    return found.name
