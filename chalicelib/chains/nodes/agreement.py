"""Readings that decide something: what the nodes of a network say alike.

One node can lie, be behind or be replaced by somebody else. So what moves money, signs somebody in, or ends or frees
something is decided by an `Agreed` value: every configured node was asked, all that answered said the same, and at
least two did. Otherwise nothing is decided, and it is asked again later. With one node configured, it is the word of
that node.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from chalicelib.base.errors import ChainUnavailable, NotConfirmed
from chalicelib.chains.nodes.readings import Agreed

if TYPE_CHECKING:
    from chalicelib.chains.calldata.transaction import SentTransaction
    from chalicelib.chains.nodes.accounts.balances import WalletReading
    from chalicelib.chains.nodes.evm import EvmChain
    from chalicelib.chains.nodes.history.logs import BlockFacts
    from chalicelib.chains.nodes.nodes import NodesDisagree
    from chalicelib.chains.nodes.protocol import Chain

T = TypeVar("T")
U = TypeVar("U")
C = TypeVar("C", bound="Chain")
_COMPARED_IN_LOGS = ("transactionHash", "blockHash", "address", "topics", "data")
_MOST_SHOWN = 400
"""Characters of an answer that are in the log."""


class TooFewNodes(NotConfirmed):
    """Of several nodes of a network only one answers, which is not enough to decide something."""

    def __init__(self, network: str, reason: str) -> None:
        super().__init__(
            f"Only one node of {network} responds, and its answer has to be confirmed by another one", reason
        )


def agree(
    chain: C,
    read: Callable[[C], T],
    *,
    compared: Callable[[T], Any] = lambda value: value,
    chosen: Callable[[Sequence[T]], T] = lambda values: values[0],
) -> Agreed[T]:
    """What `read` returns of each configured node.

    One that failed lately is asked last, and only while less than two others have answered: so a node that hangs does
    not delay each reading.

    `compared` is what has to be equal of the answers, all by default; `chosen` says which of equal ones is taken, the
    preferred node's by default. Raises NodesDisagree if answers differ, which raises the alarm; TooFewNodes if several
    are configured and one answers; the first ChainUnavailable if none does; and what else `read` raises.
    """
    from chalicelib.chains.nodes.nodes import host_of  # for those that read a chain

    (first, value), *others = answers = _ask_enough(chain, read)
    for other, said in others:
        if compared(said) != compared(value):
            first_said, other_said = (repr(compared(each))[:_MOST_SHOWN] for each in (value, said))
            reason = f"{host_of(first)} says {first_said}, {host_of(other)} says {other_said}"
            raise _disagreement(chain, reason)
    return Agreed(chosen([said for _, said in answers]))


def combine_answers(chain: C, read: Callable[[C], T], combine: Callable[[Sequence[T]], U]) -> Agreed[U]:
    """What `combine` makes of all that `read` returns of the nodes, which may differ: by a rule that no node alone can
    turn to what the others would not have said. They are asked as by `agree`, and enough have to answer.

    Raises TooFewNodes if several are configured and one answers; the first ChainUnavailable if none does.
    """
    return Agreed(combine([said for _, said in _ask_enough(chain, read)]))


def _ask_enough(chain: C, read: Callable[[C], T]) -> list[tuple[C, T]]:
    """The answers of at least two nodes of several. Raises TooFewNodes; the first ChainUnavailable if none answers."""
    from chalicelib.chains.nodes.nodes import host_of

    count, answers = _ask_each(chain, read, 2)
    if len(answers) < min(count, 2):
        raise TooFewNodes(chain.network, f"{host_of(answers[0][0])} alone, of {count} nodes")
    return answers


def read_alike(chain: C, read: Callable[[C], T]) -> T:
    """What `read` returns of each node that answers, without those that failed lately; one is enough, as a source of
    another kind confirms it. Raises ChainUnavailable if the answers differ, as they do for a moment if one is behind,
    or if there is none."""
    _, ((_, value), *others) = _ask_each(chain, read, 1)
    if any(said != value for _, said in others):
        raise ChainUnavailable(f"The nodes of {chain.network} do not say the same")
    return value


def _ask_each(chain: C, read: Callable[[C], T], least: int) -> tuple[int, list[tuple[C, T]]]:
    """How many nodes there are, and the answers of those that give one; of those that failed lately only while there
    are fewer than `least`. Raises the first ChainUnavailable if there is none."""
    from chalicelib.chains.nodes.nodes import in_order

    nodes, answers = in_order(chain), list[tuple[C, T]]()
    failure: ChainUnavailable | None = None
    for node, has_failed in nodes:
        if has_failed and len(answers) >= least:
            break
        try:
            answers.append((node, read(node)))
        except ChainUnavailable as error:
            failure = failure or error
    if failure is not None and not answers:
        raise failure
    return len(nodes), answers


def _disagreement(chain: "Chain", reason: str) -> "NodesDisagree":
    """The error of nodes that say different things, once the alarm is raised."""
    from chalicelib.chains.nodes.nodes import Nodes, NodesDisagree

    if isinstance(chain, Nodes):
        chain.report(chain.network, reason)
    return NodesDisagree(chain.network, reason, is_logged=isinstance(chain, Nodes))


def read_agreed_head(chain: "Chain") -> Agreed[int]:
    """The newest block that all nodes have that answer, at least two of several. Raises as `combine_answers`."""
    return combine_answers(chain, lambda node: node.head(), min)


def read_agreed_code(chain: "Chain", address: str) -> Agreed[bool]:
    """Whether there is a contract at the address, which is called where its signature is checked. Raises as `agree`."""
    return agree(chain, lambda node: node.has_code(address))


def read_agreed_wallet(
    chain: "EvmChain", wallet: str, token: str, spender: str, code_of: str
) -> "Agreed[WalletReading]":
    """What a wallet has of a token and allows a spender, as one node says; whether there is a contract at the address
    `code_of`, as all agree: a wallet that is one may not exist where what fails is given back. Raises as `agree`."""
    return agree(
        chain,
        lambda node: node.read_wallet(wallet, [token], spender, code_of=code_of),
        compared=lambda said: said.is_contract,
    )


def read_agreed_facts(chain: "Chain", numbers: Sequence[int]) -> "Agreed[dict[int, BlockFacts]]":
    """The canonical hash and the time of the block at each height. Raises as `agree`."""
    return agree(chain, lambda node: node.block_facts(numbers))


def read_agreed_transaction(chain: "EvmChain", tx_hash: str, newest: int) -> "Agreed[SentTransaction | None]":
    """The transaction with that hash, whose block and outcome are agreed on if that is at most the block `newest`.

    What is in no such block is in the mempools of some nodes and not of others: those that have it have to say the same
    of what was signed, and if one alone has it, that `is_of_one`. None if no node has it. Raises as `agree`.
    """

    def if_deep(sent: "SentTransaction | None") -> "SentTransaction | None":
        return sent if sent is not None and sent.block is not None and sent.block <= newest else None

    said = agree(
        chain, lambda node: [node.sent_transaction(tx_hash)], compared=lambda each: if_deep(*each), chosen=_all
    )
    found = [each for each in said.value if each is not None]
    if len({(each.sender, each.to, each.data, each.nonce) for each in found}) > 1:
        raise _disagreement(chain, f"transaction {tx_hash} is signed by {found}"[:_MOST_SHOWN])
    sent = found[0] if found else None
    if sent is not None and len(found) < min(len(said.value), 2):
        sent = replace(sent, is_of_one=True)
    return Agreed(sent)


def _all(said: "Sequence[list[SentTransaction | None]]") -> "list[SentTransaction | None]":
    return [each for (each,) in said]


def comparable_logs(logs: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    """What has to be equal of the logs of transactions: each in its place, and neither the number that a node gives it
    in its block, which honest nodes count differently, nor the case of digits, such as of addresses by EIP-55."""
    ordered = sorted(logs, key=lambda log: (log["transactionHash"].lower(), int(log["logIndex"], 16)))
    return [tuple(str(log[name]).lower() for name in _COMPARED_IN_LOGS) for log in ordered]
