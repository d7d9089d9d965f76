"""Faster updates in moto's DynamoDB: an expression is parsed once, and plain ones are checked once for the same types."""

import copy
import re
from functools import cache
from typing import Any

from moto.dynamodb import models
from moto.dynamodb.exceptions import ItemSizeTooLarge
from moto.dynamodb.models.dynamo_type import DynamoType, Item, LimitedSizeDict
from moto.dynamodb.models.table import Table
from moto.dynamodb.models.utilities import bytesize
from moto.dynamodb.parsing.ast_nodes import DepthFirstTraverser, Node
from moto.dynamodb.parsing.executors import UpdateExpressionExecutor
from moto.dynamodb.parsing.expressions import UpdateExpressionParser
from moto.dynamodb.parsing.validators import UpdateExpressionValidator

_SCALARS = ("S", "N", "B", "BOOL", "NULL")
"""The types of values that moto replaces and never changes in place."""
MOST_BYTES = 405_000
"""moto's limit of an item's size."""
_PLAIN = re.compile(r"(?:SET (?P<sets>.+?))?(?:\s*\bREMOVE (?P<removes>.+?))?(?:\s*\bADD (?P<adds>.+))?")
_SET, _ADD = re.compile(r"(#?\w+) *= *(:\w+)"), re.compile(r"(#?\w+) +(:\w+)")
_NAME = re.compile(r"#?\w+")
_copied = DynamoType.__deepcopy__
_make, _find, _execute = UpdateExpressionParser.make, Node.find_clauses, UpdateExpressionExecutor.execute


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
    other.__dict__.pop("clauses", None)
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


@cache
def _parsed(text: str) -> Node:
    """The tree of an expression, which is not changed but copied; `plain`: see _plain."""
    tree = _make(text)
    tree.clauses, tree.plain = {}, _plain(text)
    return tree


def _find_once(node: Node, kinds: list[Any]) -> list[Any]:
    known = node.__dict__.get("clauses")
    if known is None:
        return _find(node, kinds)
    if tuple(kinds) not in known:
        known[tuple(kinds)] = _find(node, kinds)
    return known[tuple(kinds)]


def _plain(text: str) -> tuple[list[Any], list[Any], list[str]] | None:
    """The names and values that `SET a = :b, ... REMOVE e, ... ADD c :d, ...` sets and adds, and the names it removes.

    None for any other expression.
    """
    parts = _PLAIN.fullmatch(text)
    if parts is None:
        return None
    sets = [_SET.fullmatch(each.strip()) for each in parts["sets"].split(",")] if parts["sets"] else []
    adds = [_ADD.fullmatch(each.strip()) for each in parts["adds"].split(",")] if parts["adds"] else []
    removes = [each.strip() for each in parts["removes"].split(",")] if parts["removes"] else []
    if None in sets or None in adds or not all(_NAME.fullmatch(each) for each in removes):
        return None
    return [each.groups() for each in sets if each], [each.groups() for each in adds if each], removes


class _Changes:
    """What a plain expression makes of an item; in the place of the tree that moto's validator returns."""

    def __init__(self, sets: dict[str, DynamoType], adds: dict[str, DynamoType], removes: list[str]) -> None:
        self._sets, self._adds, self._removes = sets, adds, removes

    def normalize(self) -> None:
        """Paths are different from each other, so that their order has no meaning."""

    def make(self, item: Item) -> None:
        sums = {name: item.attrs[name] + value if name in item.attrs else value for name, value in self._adds.items()}
        attrs = {**item.attrs, **self._sets, **sums}
        for name in self._removes:
            attrs.pop(name, None)
        if sum(bytesize(name) + value.size() for name, value in attrs.items()) > MOST_BYTES:
            raise ItemSizeTooLarge  # moto measures the whole item before every attribute
        dict.clear(item.attrs)
        dict.update(item.attrs, attrs)


class _Validator:
    """moto's validator for the first of all plain expressions whose names, and types of attributes and values, are equal."""

    def __init__(
        self,
        expression: Node,
        expression_attribute_names: dict[str, str] | None,
        expression_attribute_values: dict[str, dict[str, Any]] | None,
        item: Item,
        table: Table,
    ) -> None:
        self._given = expression, expression_attribute_names, expression_attribute_values, item, table

    def validate(self) -> Any:
        tree, names, values, item, table = self._given
        names, values = names or {}, values or {}
        if tree.plain is None or any(not _is_number(values.get(value)) for _, value in tree.plain[1]):
            return UpdateExpressionValidator(*self._given).validate()
        sets, adds = ({names.get(name, name): value for name, value in each} for each in tree.plain[:2])
        removes = [names.get(name, name) for name in tree.plain[2]]
        if any(item.attrs[name].type != "N" for name in adds if name in item.attrs):
            return UpdateExpressionValidator(*self._given).validate()
        types = tuple((name, *((kind, text == "") for kind, text in value.items())) for name, value in values.items())
        known = id(tree), table.name, repr(table.schema), repr(table.attr), tuple(names.items()), types
        if known not in _valid:
            UpdateExpressionValidator(*self._given).validate()
            _valid.add(known)
        return _Changes(*({name: DynamoType(values[value]) for name, value in each.items()} for each in (sets, adds)), removes)


_valid = set[Any]()


def _is_number(value: dict[str, Any] | None) -> bool:
    return value is not None and "N" in value


def _executed(executor: UpdateExpressionExecutor, node: Node | None = None) -> None:
    if isinstance(executor.update_ast, _Changes):
        executor.update_ast.make(executor.item)
    else:
        _execute(executor, node)


def apply() -> None:
    """Replaces the methods in moto for the whole process."""
    UpdateExpressionParser.make = staticmethod(_parsed)
    UpdateExpressionExecutor.execute = _executed  # type: ignore[method-assign]
    models.UpdateExpressionValidator = _Validator  # type: ignore[misc,assignment]
    DynamoType.__deepcopy__ = _copied_value  # type: ignore[method-assign]
    Item.__deepcopy__ = _copied_item  # type: ignore[method-assign]
    Node.__deepcopy__, Node.find_clauses = _copied_node, _find_once
    DepthFirstTraverser.traverse = _traverse
