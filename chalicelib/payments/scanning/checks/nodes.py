"""Whether the nodes of a network agree; while they do not, nothing is read."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.nodes.history.logs import BlockFacts
from chalicelib.chains.nodes.nodes import Node, Nodes, NodesDisagree, answer_or_none
from chalicelib.payments.scanning import ranges
from chalicelib.payments.scanning import rules as scan_rules
from chalicelib.payments.scanning import store as scan_store
from chalicelib.payments.scanning.checks.comparison import NotAgreed
from chalicelib.payments.scanning.records import Cursor, NodeCheck, SilentNode
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.chains.catalogue.networks import Network
    from chalicelib.chains.nodes.protocol import Chain


def compare(services: Services, chain: "Chain", facts: "Network", confirmations: int, cursor: Cursor) -> Cursor:
    """The cursor with how the network's nodes compare now, stored if that has changed. Without several nodes no call.

    What is wrong is in the log each time. Raises NodesDisagree if they have different times of the newest block that
    was read and that two of them have confirmed: what ends by time ends by that.
    """
    check, silent, until = None, tuple[SilentNode, ...](), cursor.agreed_until
    of_transfers = silent
    if isinstance(chain, Nodes):
        views = chain.views(confirmations)
        check, wrong = scan_rules.compare_nodes(views, block_time(facts))
        unusable = scan_rules.unusable(views, block_time(facts))
        after = timedelta(seconds=services.settings.silent_nodes_seconds)
        heads = {view.host: view.head for view in unusable}
        now = services.clock()
        silent = scan_rules.silent_nodes(cursor.silent, heads, now)
        of_transfers = tuple(each for each in cursor.silent_of_transfers if now - each.since < 2 * after)
        if wrong:
            log = services.log.warning if check.agree else services.log.error
            message = "nodes are not usable" if check.agree else "nodes disagree"
            log(message, extra={"network": facts.name, "reason": wrong})
        if check.agree and check.usable > 1:
            second = sorted(view.head for view in views if view.head is not None)[-2]
            until = _read_agreed_time(chain, cursor, scan_rules.height_of_confirmed(second, confirmations)) or until
    compared = replace(cursor, nodes=check, silent=silent, silent_of_transfers=of_transfers, agreed_until=until)
    return cursor if compared == cursor else ranges.store_cursor(services, compared)


def _read_agreed_time(chain: "Chain", cursor: Cursor, confirmed: int) -> datetime | None:
    """The time of the newest block up to `confirmed` to which was read; None if too few nodes have it. A request to
    each node."""
    from chalicelib.chains.nodes.agreement import agree  # few messages compare nodes

    newest = next((each for each in reversed(cursor.checkpoints) if each.number <= confirmed), None)
    if newest is None:
        return None

    def words(facts: BlockFacts) -> str:
        return f"block {newest.number} {facts.hash} is of {facts.time:%FT%TZ}"

    try:
        facts = agree(chain, lambda node: node.block_facts([newest.number])[newest.number], compared=words).value
    except NodesDisagree:
        raise
    except ChainUnavailable:
        return None
    return facts.time if facts.hash == newest.hash else None


def limit_head(services: Services, chain: "Chain", head: int, cursor: Cursor) -> int:
    """The newest block of a node, at most that of one more: one alone could have transfers recorded that are not
    confirmed yet. Those that are dead do not count, nor those that do not answer. One request to each other node."""
    if not isinstance(chain, Node):
        return head
    after, now = timedelta(seconds=services.settings.silent_nodes_seconds), services.clock()

    def is_dead(node: Node, at: int | None) -> bool:
        return scan_rules.are_dead(cursor.all_silent, {node.host: at}, after, now)

    asked = [each for each in chain.others if not each.has_failed or not is_dead(each, None)]
    heads = [(each, at) for each in asked if (at := answer_or_none(each.head)) is not None]
    return min(head, max((at for each, at in heads if not is_dead(each, at)), default=head))


def wait(services: Services, cursor: Cursor, error: NotAgreed) -> Cursor:
    """Notes which nodes are silent, so that a network does not wait for a dead one; the stored cursor."""
    services.log.error("transfers wait for another node", extra={"network": cursor.network, "reason": error.reason})
    silent = scan_rules.silent_nodes(cursor.silent_of_transfers, error.silent, services.clock())
    if silent == cursor.silent_of_transfers:
        return cursor
    return ranges.store_cursor(services, replace(cursor, silent_of_transfers=silent))


def hold(services: Services, name: str, error: NodesDisagree) -> None:
    """Keeps a network from being read, because a tick found that its nodes disagree, until a comparison finds that they
    agree again. A node that contradicts another one is not silent."""
    if not error.is_logged:
        services.log.error("nodes disagree", extra={"network": name, "reason": error.reason})
    cursor = scan_store.cursor(services.store, name)
    if cursor is not None:
        known = cursor.nodes or NodeCheck(2, 2, agree=True)
        cursor = replace(cursor, nodes=replace(known, agree=False), silent=(), silent_of_transfers=())
        ranges.store_cursor(services, cursor)


def block_time(facts: "Network") -> timedelta:
    return timedelta(milliseconds=facts.block_milliseconds)
