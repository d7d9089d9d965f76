"""README.md, the documents beside it, and docs/ as text: their tables, code blocks, and what they name in backticks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Document:
    path: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def text(self) -> str:
        return self.path.read_text()

    def blocks(self, language: str) -> list[str]:
        """The code blocks in a language."""
        return re.findall(rf"```{language}\n(.*?)```", self.text, re.DOTALL)

    def code(self) -> list[str]:
        """What is in backticks outside of code blocks."""
        return re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", self.text, flags=re.DOTALL))

    def rows(self, *headers: str) -> list[list[str]]:
        """The rows of every table that begins with these headers, as lists of cells."""
        found = [rows for header, rows in self._tables() if tuple(header[: len(headers)]) == headers]
        assert found, f"{self.name} has no table with the columns {headers}"
        return [row for rows in found for row in rows]

    def _tables(self) -> Iterator[tuple[list[str], list[list[str]]]]:
        for table in re.findall(r"(?:^\|.*\n)+", self.text, re.MULTILINE):
            header, _, *rows = ([cell.strip() for cell in line.strip("|\n").split(" |")] for line in table.splitlines())
            yield header, rows


def named(cell: str) -> list[str]:
    """What a cell of a table has in backticks."""
    return re.findall(r"`([^`]+)`", cell)


README = Document(ROOT / "README.md")
RUNBOOK = Document(ROOT / "infra" / "runbook.md")
DOCS = {path.stem: Document(path) for path in sorted((ROOT / "docs").glob("*.md"))}
CONTRIBUTING, SECURITY, CHANGELOG = (Document(ROOT / f"{name}.md") for name in ("CONTRIBUTING", "SECURITY", "CHANGELOG"))
ALL = [README, CONTRIBUTING, SECURITY, CHANGELOG, RUNBOOK, *DOCS.values()]
IDS = [document.name for document in ALL]
