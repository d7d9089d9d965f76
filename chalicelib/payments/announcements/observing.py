"""Reads what became of an announced transaction, from the Safe Transaction Service and the nodes.

What ends it, and so frees its link, is what the nodes agree on (chains/nodes/agreement.py)."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from chalicelib.base.addresses import same_address
from chalicelib.base.errors import ChainUnavailable, TooManyRequests
from chalicelib.chains.calldata.transaction import SentTransaction
from chalicelib.chains.calldata.wallets.safe import safe_tx_hash
from chalicelib.chains.catalogue.networks import require_network
from chalicelib.chains.nodes.agreement import (
    TooFewNodes,
    agree,
    read_agreed_facts,
    read_agreed_head,
    read_agreed_transaction,
)
from chalicelib.chains.nodes.history.log_ranges import RangeTooLarge
from chalicelib.chains.nodes.history.logs import BlockRange
from chalicelib.chains.nodes.safes.service import SafeServiceUnavailable
from chalicelib.payments.announcements import rules
from chalicelib.payments.announcements.admission import names_payment, pays_link, requests_paid_by
from chalicelib.payments.announcements.rules import Execution, Observation
from chalicelib.payments.links.records import AnnouncedTransaction, Payable, PayableLink, Proof
from chalicelib.payments.scanning import store as scan_store
from chalicelib.platform.access.rate_limits import flows as rate_limits
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.chains.nodes.evm import EvmChain
    from chalicelib.chains.nodes.readings import Agreed
    from chalicelib.chains.nodes.safes.reads import SafeEvent
    from chalicelib.chains.nodes.safes.records import Proposal

_RANGES_PER_CHECK = 5


def observe_announced(
    services: Services, payable: PayableLink, announced: AnnouncedTransaction, unavailable: set[str]
) -> tuple[AnnouncedTransaction, Observation]:
    """The announced transaction with its Safe, nonce, proof and span updated, and the observation, without the state of
    the link.

    The first call to the node does not depend on the payer's data: if it fails, the node is unavailable. Raises
    ChainUnavailable, also if it is not known until when the network was read.
    """
    cursor = scan_store.cursor(services.store, announced.network)
    assert cursor is not None, "an intent is recorded where detection has begun"
    detected_to = cursor.ends_until
    if detected_to is None:
        raise ChainUnavailable(f"The {announced.network} chain has not been read since the service was updated")
    chain = services.chains.evm(announced.network)  # of Tron, its reads of what was sent are the same
    newest = min(cursor.scanned_to, newest_deep(services, chain))
    if announced.safe_tx_hash is None:
        return _observe_sent(services, chain, payable, announced, newest, detected_to)
    announced, is_unknown = with_proposal(services, payable, announced, unavailable)
    announced, block, executed = find_execution(services, chain, announced, newest, cursor.range_limit)
    if executed is not None and executed.value.success:
        sent = read_agreed_transaction(chain, executed.value.transaction_hash, newest).value
        if sent is not None and _may_be_unread(chain, payable, sent, detected_to):
            block, executed = announced.scanned_to, None
    nonce, block_time = None, detected_to
    if block != newest:
        block_time = read_agreed_facts(chain, [block]).map(lambda facts: facts[block].time)
    elif announced.wallet is not None and announced.nonce is not None and executed is None:
        safe = announced.wallet
        nonce = _agreed_or_none(chain, lambda node: node.safe_nonce(safe, block))
    observation = Observation(block, block_time, detected_to, executed, nonce, False, is_unknown)
    return announced, observation


def newest_deep(services: Services, chain: "EvmChain") -> int:
    """The newest block of a chain that is deep enough at every node that answers. One request to each. Raises
    ChainUnavailable."""
    known = require_network(chain.network)
    return max(
        read_agreed_head(chain).value - services.settings.confirmations.get(known.name, known.confirmations) + 1, 0
    )


def _observe_sent(
    services: Services,
    chain: "EvmChain",
    payable: PayableLink,
    announced: AnnouncedTransaction,
    block: int,
    detected_to: "Agreed[datetime]",
) -> tuple[AnnouncedTransaction, Observation]:
    """The announced transaction of a transaction that was sent with its sender and nonce, and the observation.

    It is executed once detection has finished its block. The nonce is read if the node does not have the transaction,
    which may have been replaced. If the node does not return this very transaction, nothing is known of it.
    """
    assert announced.transaction_hash is not None, "it was sent"
    observation = Observation(block, detected_to, detected_to, None, None, False)
    try:
        agreed = read_agreed_transaction(chain, announced.transaction_hash, block)
        sent = agreed.value
        is_unread = sent is not None and _may_be_unread(chain, payable, sent, detected_to)
    except ChainUnavailable as error:
        services.log.warning(
            "transaction not read", extra={"announced_id": announced.announced_id, "reason": error.message}
        )
        return announced, observation
    if sent is None:
        count = None
        if announced.wallet is not None and announced.nonce is not None:
            sender = announced.wallet
            count = _agreed_or_none(chain, lambda node: node.transaction_count(sender, block))
        return announced, replace(observation, nonce=count, is_unknown=True)
    locks = announced.locks or announced.proof is not Proof.SENT  # it is known from now on
    if sent.is_of_one:
        return replace(announced, missing_since=None, locks=locks), replace(observation, is_waiting=True)
    if announced.proof is None and not pays_link(payable, sent):
        return announced, replace(observation, is_foreign=True)
    nonce = nonce_of(announced.network, sent)
    known = replace(announced, wallet=sent.sender, nonce=nonce, proof=Proof.SENT, missing_since=None, locks=locks)
    if sent.block is None or sent.block > block or is_unread:
        return known, replace(observation, is_waiting=sent.block is None)
    tx_hash = announced.transaction_hash
    return known, replace(observation, execution=agreed.map(lambda sent: _execution_by(sent, tx_hash)))


def _execution_by(sent: SentTransaction | None, tx_hash: str) -> Execution:
    assert sent is not None and sent.block is not None, "an execution is in a block"
    return Execution(sent.success is True, sent.block, tx_hash)


def _may_be_unread(
    chain: "EvmChain", payable: PayableLink, sent: SentTransaction, detected_to: "Agreed[datetime]"
) -> bool:
    """Whether a transaction has paid requests of the link to which nothing is recorded, and its block is not old enough
    to have been read again: one node may have left out the logs at first (payments/scanning/rules.py). One request to
    each node if it has paid."""
    from chalicelib.payments.links.rules import is_read_past
    from chalicelib.payments.scanning.rules import READ_AGAIN_AFTER  # most transactions do not get here

    number, paid = sent.block, requests_paid_by(payable, sent)
    if number is None or not sent.success or not paid or any(each.paid for each in paid):
        return False
    read_again = read_agreed_facts(chain, [number]).map(lambda facts: facts[number].time + READ_AGAIN_AFTER)
    return not is_read_past(read_again.value, detected_to)


def read_sent(services: Services, name: str, tx_hash: str, newest: int = 0) -> SentTransaction | None:
    """A transaction that a payer announces, of whose sender and nonce nothing may come from one of several nodes; None
    if no two of them have it. Its block is agreed on if that is at most `newest`. Raises ChainUnavailable."""
    try:
        sent = read_agreed_transaction(services.chains.evm(name), tx_hash, newest).value
    except TooFewNodes:
        return None  # it is read again later
    return None if sent is None or sent.is_of_one else sent


def nonce_of(name: str, sent: SentTransaction) -> int | None:
    """The nonce of a transaction that was sent; None on Tron, which has none."""
    return sent.nonce if name != "tron" else None


def find_execution(
    services: Services, chain: "EvmChain", announced: AnnouncedTransaction, newest: int, range_limit: int
) -> tuple[AnnouncedTransaction, int, "Agreed[Execution] | None"]:
    """The announced transaction with its span updated, the last block read for the Safe's events, and the execution if
    found.

    Events are read up to the block `newest`, in ranges at most half as long as `range_limit`, which the node may
    refuse. After a refusal for this Safe, later checks read smaller ranges. If a deep fork rolled detection back,
    reading is rolled back, too. Reads nothing while the Safe is unknown.
    """
    if announced.wallet is None or announced.safe_tx_hash is None or newest <= announced.scanned_to:
        return announced, newest, None
    block, max_span = announced.scanned_to, max(range_limit // 2, 1)
    for _ in range(_RANGES_PER_CHECK):
        last = min(block + rules.span_of(announced, max_span), newest)
        try:
            event = _safe_event(chain, announced.wallet, announced.safe_tx_hash, BlockRange(block + 1, last))
        except (RangeTooLarge, ChainUnavailable) as error:
            facts = {"announced_id": announced.announced_id, "blocks": last - block, "reason": str(error)}
            services.log.warning("events of a Safe not read", extra=facts)
            return rules.narrow_span(announced, last - block), block, None
        block, announced = last, rules.widen_span(announced, max_span)
        if event.value is not None:
            return announced, block, event.map(_execution_of)
        if block == newest:
            break
    return announced, block, None


def _execution_of(event: "SafeEvent | None") -> Execution:
    assert event is not None, "an execution is of an event"
    return Execution(event.success, event.block_number, event.transaction_hash)


def _safe_event(chain: "EvmChain", safe: str, tx_hash: str, blocks: BlockRange) -> "Agreed[SafeEvent | None]":
    return agree(chain, lambda node: node.safe_event(safe, tx_hash, blocks))


def _agreed_or_none(chain: "EvmChain", read: "Callable[[EvmChain], int | None]") -> "Agreed[int | None] | None":
    """A nonce after a block, None if there is no Safe; None if the nodes no longer have that state, or do not agree."""
    try:
        return agree(chain, read)
    except ChainUnavailable:
        return None


def with_proposal(
    services: Services, payable: Payable, announced: AnnouncedTransaction, unavailable: set[str]
) -> tuple[AnnouncedTransaction, bool]:
    """The announced transaction with Safe, nonce and proof from the Safe Transaction Service, and whether the service
    answered that it does not know the transaction. It is read until it knows it.

    A proposal of another Safe counts as unknown, because the payer's Safe cannot execute it.
    """
    if announced.proof is Proof.PROPOSED:
        return announced, False
    assert announced.safe_tx_hash is not None, "it is a multisig transaction"
    known_as = announced.network, announced.safe_tx_hash
    proposal, is_answered = read_proposal(services, announced.account_id, *known_as, unavailable)
    if proposal is None or (announced.wallet is not None and not same_address(announced.wallet, proposal.safe)):
        return announced, is_answered
    known = replace(announced, wallet=proposal.safe, nonce=proposal.terms.nonce)
    return replace(known, proof=proof_of(payable, proposal) or announced.proof), False


def proof_of(payable: Payable, proposal: "Proposal") -> Proof | None:
    """PROPOSED if a proposal pays the link; other proposals are not proof, since anybody can read those of any Safe."""
    called = proposal.transaction
    return Proof.PROPOSED if names_payment(payable, called.to, called.data) else None


def read_proposal(
    services: Services, account_id: str, name: str, announced: str, unavailable: set[str]
) -> "tuple[Proposal | None, bool]":
    """The proposal with that hash from the network's Safe Transaction Service, and whether the service answered. It is
    not asked while the account of the link has had its share of a minute.

    A proposal whose fields do not hash to `announced` is ignored. Only its Safe and nonce are used; whether it was
    executed is read from the chain.
    """
    service = f"safes of {name}"
    if service in unavailable or not services.safes.serves(name):
        return None, False
    try:
        rate_limits.count_safe_requests(services, account_id, 1)
        proposal = services.safes.transaction(name, announced)
    except TooManyRequests:
        services.log.warning("share of the Safe Transaction Service used up", extra={"account_id": account_id})
        return None, False
    except SafeServiceUnavailable as error:
        services.log.warning("Safe Transaction Service unavailable", extra={"network": name, "reason": error.message})
        unavailable.add(service)
        return None, False
    if proposal is not None and _hash_of(proposal, name) != announced:
        services.log.warning("proposal does not have the requested hash", extra={"safe_tx_hash": announced})
        return None, True
    return proposal, True


def _hash_of(proposal: "Proposal", name: str) -> str:
    return safe_tx_hash(require_network(name).chain_id, proposal.safe, proposal.transaction, proposal.terms)
