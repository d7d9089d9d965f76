"""Reads what the bridge returned on the source chain, of a deposit that nobody filled in time."""

from datetime import datetime
from typing import TYPE_CHECKING

from chalicelib.chains.catalogue.networks import require_network
from chalicelib.chains.catalogue.tokens import require_token
from chalicelib.chains.nodes.agreement import agree, read_agreed_facts
from chalicelib.chains.nodes.bridges.deposits import LoggedReturn
from chalicelib.chains.nodes.history.logs import BlockRange, InconsistentNode
from chalicelib.crosschain.core.records import BridgeTransfer, Deposit, Returned
from chalicelib.crosschain.service.tracking.chains import newest_deep, search_blocks
from chalicelib.crosschain.service.tracking.observations import RefundObservation
from chalicelib.payments.links.records import AnnouncedTransaction
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.chains.nodes.evm import EvmChain


def read_refund(
    services: Services, announced: AnnouncedTransaction, bridge_transfer: BridgeTransfer
) -> RefundObservation:
    """What the bridge returned on the source chain after the deadline, as its nodes agree. Raises ChainUnavailable,
    RangeTooLarge."""
    chain, deposit = services.chains.evm(announced.network), bridge_transfer.deposit
    assert deposit is not None, "it was deposited"
    token = require_token(deposit.input_token)
    newest = newest_deep(services, chain)
    last = bridge_transfer.refund_searched_to
    if last is None:
        last = _last_block_until(chain, deposit.fill_deadline, bridge_transfer.deposited_block or 0, newest)
    span = max(require_network(announced.network).log_range // 2, 1)
    for blocks, found in search_blocks(
        lambda blocks: _returns(chain, token.address, deposit, blocks), last, newest, span
    ):
        for each in found:
            facts = read_agreed_facts(chain, [each.block_number]).value[each.block_number]
            if facts.hash != each.block_hash:
                raise InconsistentNode(chain.network, f"a refund is of block {each.block_hash}, not canonical")
            if facts.time > deposit.fill_deadline:
                return RefundObservation(
                    last, each.tx_hash, Returned(deposit.depositor, token.id, deposit.input_amount)
                )
        last = blocks.last
    return RefundObservation(last)


def _returns(chain: "EvmChain", token: str, deposit: Deposit, blocks: BlockRange) -> tuple[LoggedReturn, ...]:
    read = agree(chain, lambda node: node.returns(token, deposit.depositor, deposit.input_amount, blocks))
    return read.value


def _last_block_until(chain: "EvmChain", instant: datetime, first: int, newest: int) -> int:
    """The last block up to an instant among those from `first` to `newest`; `first` if all are later."""
    while first < newest:
        middle = (first + newest + 1) // 2
        if read_agreed_facts(chain, [middle]).value[middle].time <= instant:
            first = middle
        else:
            newest = middle - 1
    return first
