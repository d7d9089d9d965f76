"""The mutants of a JavaScript module: changed operators, numbers, conditions, texts; found by tokens, not by a parser."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TOKEN = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)"
    r"|(?P<regex>(?<=[(,=:] )/(?![/*])[^/\n]+/[a-z]*|(?<=\()/(?![/*])[^/\n]+/[a-z]*)"
    r"|(?P<text>\"[^\"\n]*\"|'[^'\n]*'|`[^`]*`)"
    r"|(?P<number>\b(?:0x[0-9a-fA-F]+|\d[\d_]*)n?\b)"
    r"|(?P<word>[A-Za-z_$][\w$]*)"
    r"|(?P<operator>===|!==|\*\*|<=|>=|=>|&&|\|\||\?\?|\?\.|\+\+|--|\+=|-=|\.\.\.|[-+*/%<>!])",
    re.DOTALL,
)
OPERATORS = {
    "===": "!==", "!==": "===", "<=": "<", ">=": ">", "<": "<=", ">": ">=", "&&": "||", "||": "&&", "??": "&&",
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "**": "*", "+=": "-=", "-=": "+=", "!": "",
}  # fmt: skip
WORDS = {"true": "false", "false": "true", "some": "every", "every": "some", "continue": "break", "break": "continue"}


@dataclass(frozen=True)
class TextMutant:
    """One change of one file."""

    path: str
    line: int
    key: str
    source: str
    statement: int = 0
    names: frozenset[str] = frozenset()
    span: range = range(0)


def mutants(path: Path) -> Iterator[TextMutant]:
    source = path.read_text()
    seen: Counter[str] = Counter()
    for start, end, operator, new in _changes(source):
        line = source.count("\n", 0, start) + 1
        key = f"module: {operator}: {source.splitlines()[line - 1].strip()}"
        seen[key] += 1
        if seen[key] > 1:
            key += f" #{seen[key]}"
        yield TextMutant(str(path), line, key, source[:start] + new + source[end:])


def _changes(source: str) -> Iterator[tuple[int, int, str, str]]:
    """Yields (start, end, name of the change, new text) of every change."""
    for found in TOKEN.finditer(source):
        text, start, end = found[0], found.start(), found.end()
        match found.lastgroup:
            case "operator" if text in OPERATORS:
                yield start, end, f"{text} to {OPERATORS[text] or 'nothing'}", OPERATORS[text]
            case "word" if text in WORDS and not source[end:].startswith(":"):
                yield start, end, f"{text} to {WORDS[text]}", WORDS[text]
            case "word" if text == "if":
                opening = source.index("(", end)
                closing = _closing(source, opening)
                for value in ("true", "false"):
                    yield opening + 1, closing, f"condition is {value}", value
            case "word" if text == "return" and re.match(r" [^;\n]+;", source[end:]):
                yield end, source.index(";", end), "returns undefined", ""
            case "number":
                digits = text.removesuffix("n").replace("_", "")
                suffix = "n" if text.endswith("n") else ""
                yield start, end, f"{text} plus 1", f"{int(digits, 0) + 1}{suffix}"
                if int(digits, 0) > 0:
                    yield start, end, f"{text} minus 1", f"{int(digits, 0) - 1}{suffix}"
            case "text" if text[0] != "`":
                yield start, end, f"{text} changed", f"{text[0]}XX{text[1:]}"


def _closing(source: str, opening: int) -> int:
    depth = 0
    for at in range(opening, len(source)):
        depth += {"(": 1, ")": -1}.get(source[at], 0)
        if depth == 0:
            return at
    raise ValueError(f"no closing bracket for the one at {opening}")
