"""Faster updates in moto's DynamoDB: an expression is parsed once, and copied and walked without reflection."""

import copy
from functools import cache
from typing import Any

from moto.dynamodb.models.dynamo_type import DynamoType, Item, LimitedSizeDict
from moto.dynamodb.parsing.ast_nodes import DepthFirstTraverser, Node
from moto.dynamodb.parsing.expressions import UpdateExpressionParser

_SCALARS = ("S", "N", "B", "BOOL", "NULL")
"""The types of values that moto replaces and never changes in place."""
_copied = DynamoType.__deepcopy__


def _copied_value(value: DynamoType, memo: dict[int, Any]) -> DynamoType:
    return value if value.type in _SCALARS else _copied(value, memo)


def _copied_item(item: Item, memo: dict[int, Any]) -> Item:
    other: Item = Item.__new__(Item)
    other.hash_key, other.range_key, other.attrs = item.hash_key, item.range_key, LimitedSizeDict()
    dict.update(other.attrs, {name: _copied_value(value, memo) for name, value in item.attrs.items()})
    return other


def _copied_node(node: Node, memo: dict[int, Any]) -> Node:
    """Copies a tree from its root, whose node is never looked up by another part of the tree before it is copied."""
    other = copy.copy(node)
    other.parent = memo.get(id(node.parent))
    memo[id(node)] = other
    if node.children is not None:
        other.children = [copy.deepcopy(child, memo) for child in node.children]
    return other


def _traverse(traverser: DepthFirstTraverser, root: Node) -> Node:
    """Asks once which nodes are processed, and how; moto asks at every node."""
    processors = tuple(traverser._processing_map().items())

    def visit(node: Any, child_id: int) -> Any:
        if not isinstance(node, Node):
            return node
        parent = node.parent
        for position, child in enumerate(node.children or ()):
            traverser.pre_processing_of_child(node, position)
            visit(child, position)
        for kind, process in processors:
            if isinstance(node, kind):
                node = process(node)
                node.parent = parent
                if parent:
                    parent.children[child_id] = node
                break
        return node

    return visit(root, -1)


def apply() -> None:
    """Replaces the methods in moto for the whole process."""
    UpdateExpressionParser.make = staticmethod(cache(UpdateExpressionParser.make))
    DynamoType.__deepcopy__ = _copied_value  # type: ignore[method-assign]
    Item.__deepcopy__ = _copied_item  # type: ignore[method-assign]
    Node.__deepcopy__ = _copied_node
    DepthFirstTraverser.traverse = _traverse
