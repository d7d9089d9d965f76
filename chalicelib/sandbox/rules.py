"""Virtual chains: their blocks, how they grow and are reorganised; and what is possible in test mode."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256

from chalicelib.base.addresses import ZERO_ADDRESS, hex_address
from chalicelib.base.errors import Conflict
from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata.checkout import Due, spender_of
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.chains.nodes.history.logs import ERC20_TRANSFER_TOPIC, NATIVE_TRANSFER_TOPIC, TRANSFER_TOPIC
from chalicelib.payments.requests.references import reference_topic
from chalicelib.sandbox.records import GENESIS_HEAD, BlockTime, Fork, VirtualChain, VirtualLog

MOST_BLOCKS = 1_000
"""How many blocks one call mines at most."""
DEEPEST = 30
"""How many blocks a reorganisation removes at most: all that it changes is one transaction of DynamoDB."""
MOST_FORKS = 100
MOST_AHEAD = timedelta(days=3660)
"""How far a clock is ahead of the real time at most."""
OPERATIONS_PER_DAY = 2_000
_KEPT_TIMES = 200
_ROOMS = ("payments", "books", "checkout", "webhooks", "sandbox")
_OUTSIDE = ("checkout.broadcasts", "checkout.plain_transfers", "payments.archive")
"""What of these rooms needs a real node, or a file that no sandbox has."""


def check_possible(module: str, executes: bool) -> None:
    """Raises Conflict if the views of a module, or one by which the service sends a transaction, do not work in test
    mode. A new operation of another room does not until it is added here."""
    path = module.removeprefix("chalicelib.")
    is_inside = path.startswith(tuple(f"{each}." for each in _ROOMS))
    if executes or not is_inside or path.startswith(tuple(f"{each}." for each in _OUTSIDE)):
        raise Conflict("This operation is not available in test mode: send a live credential (docs/test-mode.md)")


def new_chain(network: str, now: datetime) -> VirtualChain:
    return VirtualChain(network, GENESIS_HEAD, (BlockTime(0, now),))


def mine(chain: VirtualChain, count: int, now: datetime) -> VirtualChain:
    """The chain with more blocks, all of this time. Of old blocks the times become those of newer ones."""
    times = (*chain.times, BlockTime(chain.head + 1, max(now, chain.times[-1].time)))
    return replace(chain, head=chain.head + count, times=times[-_KEPT_TIMES:])


def remove_blocks(chain: VirtualChain, depth: int, now: datetime) -> VirtualChain:
    """The chain after a reorganisation that has removed the newest blocks: with twice as many on another branch, as
    the longer one wins. Raises Conflict if the chain had MOST_FORKS."""
    first, branch = chain.head - depth + 1, chain.branches + 1
    forks = (*(each for each in chain.forks if each.first < first), Fork(first, branch))
    if len(forks) > MOST_FORKS:
        raise Conflict(f"This virtual chain was reorganised {MOST_FORKS} times, which is the most: use another network")
    times = tuple(each for each in chain.times if each.first < first) or chain.times[:1]
    left = replace(chain, head=first - 1, times=times, forks=forks, branches=branch)
    return mine(left, 2 * depth, now)


def hash_of(seed: str, chain: VirtualChain, number: int) -> str:
    """The hash of a block, which begins with its number; `seed` is what tells the chains of sandboxes apart."""
    branch = next((each.branch for each in reversed(chain.forks) if each.first <= number), 0)
    return f"0x{number:016x}" + sha256(f"{seed}/{chain.network}/{number}/{branch}".encode()).hexdigest()[:48]


def number_in(block_hash: str) -> int:
    """The number of the block with a hash of `hash_of`."""
    return int(block_hash[2:18], 16)


def time_of(chain: VirtualChain, number: int) -> datetime:
    return next((each.time for each in reversed(chain.times) if each.first <= number), chain.times[0].time)


@frozen
class VirtualPayment:
    """A payment on a virtual chain: what is due, in the token that is sent."""

    due: Due
    token: Token


def logs_of(payer: str, payments: Iterable[VirtualPayment]) -> tuple[VirtualLog, ...]:
    """The logs of a transaction that pays by the fee proxies: for tokens the Transfers to payee and fee address, then
    the event of the proxy (chains/calldata/fee_proxy.py)."""
    return tuple(log for each in payments for log in _logs_of_one(payer, each))


def _logs_of_one(payer: str, payment: VirtualPayment) -> Sequence[VirtualLog]:
    due, token = payment.due, payment.token
    fee_address = due.fee_address if due.fee and due.fee_address else ZERO_ADDRESS
    words = [_word(due.payee), f"{due.amount:064x}", f"{due.fee:064x}", _word(fee_address)]
    proxy, topic = hex_address(spender_of(token, batched=False)), NATIVE_TRANSFER_TOPIC
    transfers = list[VirtualLog]()
    if not token.is_native:
        topic, words = ERC20_TRANSFER_TOPIC, [_word(token.address), *words]
        sent = [(due.payee, due.amount), *([(fee_address, due.fee)] if due.fee else [])]
        for receiver, amount in sent:
            topics = (TRANSFER_TOPIC, "0x" + _word(payer), "0x" + _word(receiver))
            transfers.append(VirtualLog(hex_address(token.address), topics, f"0x{amount:064x}"))
    return [*transfers, VirtualLog(proxy, (topic, reference_topic(due.reference)), "0x" + "".join(words))]


def _word(address: str) -> str:
    return hex_address(address)[2:].rjust(64, "0")
