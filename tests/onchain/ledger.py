"""What an act on a chain moved between accounts, to the last base unit, and how a payment is settled there."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from chalicelib.base.addresses import address_bytes
from chalicelib.chains.catalogue.networks import find_network as network_named
from chalicelib.payments.links.records import LinkStatus, PayableLink
from chalicelib.payments.requests.records import RequestStatus
from infra.local.chain import Chain
from tests.fakes.world import World

NATIVE = None
"""As a token: the native coin."""


class Ledger:
    """The balances of some holders in some tokens as they were when this was made."""

    def __init__(self, chain: Chain, tokens: Sequence[str | None], holders: Sequence[str]) -> None:
        self._chain, self._tokens, self._holders = chain, tokens, holders
        self._before = self._read()

    def moved(self, receipts: Sequence[dict[str, Any]] = ()) -> dict[str | None, list[int]]:
        """What each holder has more, by token; gas that the first one spent on `receipts` is left out."""
        now = self._read()
        moved = {
            token: [after - before for after, before in zip(now[token], self._before[token], strict=True)]
            for token in self._tokens
        }
        if NATIVE in moved:
            moved[NATIVE][0] += sum(int(r["gasUsed"], 16) * int(r["effectiveGasPrice"], 16) for r in receipts)
        return moved

    def _read(self) -> dict[str | None, list[int]]:
        return {
            token: [
                self._chain.native_balance(holder) if token is None else self._chain.token_balance(token, holder)
                for holder in self._holders
            ]
            for token in self._tokens
        }


def allowance(chain: Chain, token: str, owner: str, spender: str) -> int:
    words = "".join(address_bytes(each).hex().rjust(64, "0") for each in (owner, spender))
    to = "0x" + address_bytes(token).hex()
    return int(chain.rpc("eth_call", {"to": to, "data": "0xdd62ed3e" + words}, "latest"), 16)


def time_of(chain: Chain) -> datetime:
    """When its newest block was made: a chain that was reverted goes on from the time of that block, not from the machine's."""
    return datetime.fromtimestamp(int(chain.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16), UTC)


def settle(world: World, chain: Chain) -> int:
    """Mines until what was sent is confirmed and runs a scan tick; returns how many payments were recorded."""
    known = network_named(chain.network)
    assert known is not None
    chain.mine(known.confirmations)
    return world.tick(network=chain.network)


def assert_completed(world: World, payable: PayableLink) -> None:
    """The link is completed, and every request of it was paid what it asked for, exactly."""
    now = world.load(payable)
    assert now.link.status is LinkStatus.COMPLETED
    assert [(r.status, r.paid) for r in now.requests] == [(RequestStatus.PAID, r.amount) for r in now.requests]


def confirmed(world: World) -> list[str]:
    """The request ids of the `payment.confirmed` that the merchant's webhook was sent, sorted."""
    world.drain()
    bodies = [json.loads(posted.body) for posted in world.receiver.posted]
    return sorted(body["requestId"] for body in bodies if body["event"] == "payment.confirmed")


def request_ids(payable: PayableLink) -> list[str]:
    """Sorted."""
    return sorted(request.request_id for request in payable.requests)
