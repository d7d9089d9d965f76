"""The mutants of a Python module: single changes of its syntax tree, each with a name."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitXor: ast.BitOr,
}  # fmt: skip
UNTOUCHED = frozenset({"annotation", "returns", "decorator_list", "type_params", "bases", "keywords_of_class"})
"""Fields of the syntax tree without effect on a running program."""

LOG_CALLS = frozenset({"debug", "info", "warning", "error", "exception", "critical"})
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Slot = tuple[Any, str, int | None]
"""A node's position: its parent, the field, and the index in a field that is a list."""


@dataclass(frozen=True)
class Mutant:
    """One change of one module. `key` contains the line's text, not its number, so that it is stable."""

    path: str
    line: int
    key: str
    statement: int  # line of the enclosing statement of a function's body; 0 if it is executed by the import
    names: frozenset[str]  # the names that the statement defines, if it is executed by the import
    span: range  # the lines of the enclosing function or class
    module: "Module" = field(compare=False, repr=False)
    slot: Slot = field(compare=False, repr=False)
    new: Any = field(compare=False, repr=False)


@dataclass(frozen=True)
class _Where:
    """The context of a node during the walk."""

    qualname: str = ""
    statement: int = 0
    names: frozenset[str] = frozenset()
    span: range = range(0)
    text_matters: bool = False  # strings are changed where they are compared or returned, not in messages


class Module:
    """A module's source, syntax tree and mutants."""

    def __init__(self, path: Path) -> None:
        self.path, self.source = path, path.read_text()
        self.tree = ast.parse(self.source)
        self._lines = self.source.splitlines()
        self._seen: Counter[str] = Counter()
        self.mutants = list(self._walk(self.tree, _Where()))

    @contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[ast.Module]:
        """Yields the tree with this change; undoes it afterwards."""
        parent, name, index = mutant.slot
        holder, at = (getattr(parent, name), index) if index is not None else (parent.__dict__, name)
        before = holder[at]
        holder[at] = mutant.new
        try:
            yield ast.fix_missing_locations(self.tree)
        finally:
            holder[at] = before

    def _walk(self, parent: ast.AST, where: _Where) -> Iterator[Mutant]:
        for name, value in ast.iter_fields(parent):
            if name in UNTOUCHED or (isinstance(parent, ast.ClassDef) and name == "keywords"):
                continue
            children = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
            for index, node in children:
                if isinstance(node, ast.AST) and not _has_no_effect(parent, name, index, node):
                    inside = _inside(parent, name, node, where)
                    for operator, new in _changes(parent, name, node, inside):
                        if ast.dump(new) != ast.dump(node):
                            yield self._mutant(operator, node, (parent, name, index), new, inside)
                    yield from self._walk(node, inside)

    def _mutant(self, operator: str, node: Any, slot: Slot, new: Any, where: _Where) -> Mutant:
        line = getattr(node, "lineno", None) or slot[0].lineno
        ast.copy_location(new, node if hasattr(node, "lineno") else slot[0])
        key = f"{where.qualname or 'module'}: {operator}: {self._lines[line - 1].strip()}"
        self._seen[key] += 1
        if self._seen[key] > 1:
            key += f" #{self._seen[key]}"
        return Mutant(str(self.path), line, key, where.statement, where.names, where.span, self, slot, new)


def _has_no_effect(parent: Any, name: str, index: int | None, node: Any) -> bool:
    """Returns whether a node is a docstring, an import, or a block for type checkers only."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _inside(parent: Any, name: str, node: Any, where: _Where) -> _Where:
    qualname, statement, names, span = where.qualname, where.statement, where.names, where.span
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        qualname = f"{qualname}.{node.name}".lstrip(".")
        names = names if statement else names | {node.name}
        span = span or range(node.lineno, (node.end_lineno or node.lineno) + 1)
    if isinstance(node, ast.Assign | ast.AnnAssign) and not statement:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = names | {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
    if isinstance(node, ast.stmt) and (statement or (isinstance(parent, FUNCTIONS) and name == "body")):
        statement = node.lineno
    return _Where(qualname, statement, names, span, _text_matters(parent, name, node, where))


def _text_matters(parent: Any, name: str, node: Any, where: _Where) -> bool:
    if isinstance(parent, ast.Compare | ast.Return | ast.IfExp | ast.MatchValue):
        return True
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id == "Decimal":
        return True
    return where.text_matters and isinstance(parent, ast.Tuple | ast.Set | ast.List | ast.Dict | ast.BoolOp)


def _changes(parent: Any, name: str, node: Any, where: _Where) -> Iterator[tuple[str, Any]]:
    """Yields (name of the change, new node) for every change of a node."""
    if name == "test" and not isinstance(parent, ast.Assert):
        yield "condition is true", ast.Constant(True)
        yield "condition is false", ast.Constant(False)
    if name == "ifs":
        yield "filter lets all through", ast.Constant(True)
    match node:
        case ast.cmpop() if type(node) in COMPARISONS:
            yield f"{type(node).__name__} to {COMPARISONS[type(node)].__name__}", COMPARISONS[type(node)]()
        case ast.operator() if type(node) in ARITHMETIC:
            yield f"{type(node).__name__} to {ARITHMETIC[type(node)].__name__}", ARITHMETIC[type(node)]()
        case ast.And():
            yield "and to or", ast.Or()
        case ast.Or():
            yield "or to and", ast.And()
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not removed", operand
        case ast.Constant():
            yield from _other_constants(node.value, where)
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value in (None, True, False)):
            yield "returns None", ast.Return(ast.Constant(None))
        case ast.Raise():
            yield "raise removed", ast.Pass()
        case ast.Expr(value=ast.Call() as call) if not _is_log(call):
            yield "call removed", ast.Pass()
        case ast.Break():
            yield "break to continue", ast.Continue()
        case ast.Continue():
            yield "continue to break", ast.Break()
        case ast.Slice():
            yield from _other_slices(node)
        case ast.Call():
            yield from _other_calls(node)


def _other_constants(value: Any, where: _Where) -> Iterator[tuple[str, Any]]:
    if isinstance(value, bool):
        yield f"{value} to {not value}", ast.Constant(not value)
    elif isinstance(value, int):
        yield f"{value} plus 1", ast.Constant(value + 1)
        if value > 0:
            yield f"{value} minus 1", ast.Constant(value - 1)
    elif isinstance(value, str) and (changed := _other_condition(value)) != value:
        yield f"{value!r} to {changed!r}", ast.Constant(changed)
    elif isinstance(value, str) and where.text_matters:
        is_number = value.replace(".", "").isdigit()
        yield f"{value!r} changed", ast.Constant(value + "1" if is_number else "XX" + value)


def _other_condition(text: str) -> str:
    """A condition of DynamoDB with another comparison, which names its values `:value`."""
    if text.startswith("attribute_not_exists"):
        return text.replace("attribute_not_exists", "attribute_exists", 1)
    if not re.fullmatch(r"\w+ (<|<=|>|=) :\w+( AND .*)?", text):
        return text
    _, operator, tail = re.split(r" (<=|<|>|=) (?=:)", text)[-3:]
    return text.removesuffix(f"{operator} {tail}") + {"<": "<=", "<=": "<", ">": ">=", "=": ">"}[operator] + f" {tail}"


def _other_slices(node: ast.Slice) -> Iterator[tuple[str, Any]]:
    for bound in ("lower", "upper", "step"):
        if getattr(node, bound) is not None:
            kept = {each: getattr(node, each) for each in ("lower", "upper", "step") if each != bound}
            yield f"slice without {bound}", ast.Slice(**kept)


def _other_calls(node: ast.Call) -> Iterator[tuple[str, Any]]:
    """Yields calls with one keyword argument removed, not of classes, which require theirs."""
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if called in ("sorted", "reversed") and node.args:
        yield f"{called} to list", ast.Call(ast.Name("list", ast.Load()), node.args[:1], [])
    if called[:1].isupper() or _is_log(node):
        return
    for index, keyword in enumerate(node.keywords):
        if keyword.arg is not None:
            kept = node.keywords[:index] + node.keywords[index + 1 :]
            yield f"{keyword.arg}= dropped", ast.Call(node.func, node.args, kept)


def _is_log(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in LOG_CALLS
