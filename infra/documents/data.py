"""Writes docs/data.md: every stored record with its table, keys, index and time to live, as the records declare them.

    python -m infra.documents.data           write the file
    python -m infra.documents.data --check   exit with status 1 if the file is not what the records say
"""

import argparse
import inspect
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import chalicelib
from chalicelib.base.records import TABLES, Record
from chalicelib.platform.storage.items import DUE_SHARDS
from chalicelib.platform.storage.store import DUE_INDEX

FILE = Path(__file__).parents[2] / "docs" / "data.md"

_HEAD = f"""\
# Data

Generated from the records by `make docs`; do not edit.

A record is a frozen dataclass in the `records.py` of its package. It declares its table and its key as a pattern, when
it is due, and when it vanishes (`chalicelib/base/records.py`). Named reads are in the `store.py` beside it; no other
module makes keys.

- **Keys**: `{{name}}` is a field or property of the record. `{{position:04}}` is padded with zeros, so that keys sort
  as the numbers do; `{{nonce:.64}}` is cut after 64 characters, as what callers send can be longer.
- **Index**: `{DUE_INDEX}` (partition key `due_shard`, sort key `due_at`) holds the records that a sweep has to look at,
  and no others. It is spread over {DUE_SHARDS} shards, `<group>0` to `<group>{DUE_SHARDS - 1}`, by a hash of the
  partition key.
- **Vanishes**: what the attribute `ttl` is set to. DynamoDB may delete an item days later, so code compares times and
  does not rely on a deletion.
- Each record has the attribute `version`, the number of times it was written; every write that can race requires the
  version that was read. A field that has its default has no attribute, as that of an older item has none; so
  the default of a field never changes.
- The bodies of events and deliveries are compressed (zlib, with the preset dictionary of
  `chalicelib/webhooks/records.py`), unless they are very short. The body of a variant is that of its event with
  another `event`, and is not stored.
- A record that exists is updated: the attributes that its class has are set or removed, and others stay, because newer
  code may have written them. `schema` is the shape of the item (`Record.SCHEMA`, 1 if there is none); code refuses a
  newer shape than its own. How what is stored may change: [operations.md](operations.md), Changing what is stored.
- A record that was written alone has the attribute `write_id`, a random text. If the response of the write was lost,
  the repetition finds its own id and is not a conflict. Transactions have a token instead (`ClientRequestToken`).
- The records of a sandbox (test mode) are in the same tables with the same keys. Their partition keys, those of indexes
  included, begin with `test/<account id>/` (`chalicelib/platform/storage/namespaces.py`). They have a `ttl` of 90 days
  after they were last written, but for kinds of which there are few (`Record.ARE_FEW`).
- All tables have encryption at rest and on-demand capacity, and all but `keys` point-in-time recovery
  (`infra/resources.py`). `keys` holds the data keys of persons: with the only copy of a key goes what it sealed.
"""


def record_classes() -> list[type[Record]]:
    """Every kind of record, in the order of tables and keys."""
    for module in walk_packages(chalicelib.__path__, "chalicelib."):
        if module.name.endswith(".records"):
            import_module(module.name)
    return sorted(_subclasses(Record), key=_order)


def _order(cls: type[Record]) -> tuple[int, str, str]:
    return TABLES.index(cls.KEY.table), cls.KEY.partition_format, cls.KEY.sort_format


def document() -> str:
    """The text of docs/data.md."""
    classes = record_classes()
    return "\n".join([_HEAD, *(_table(name, classes) for name in TABLES)])


def _table(name: str, classes: Iterable[type[Record]]) -> str:
    head = f"## `{name}`\n\n| Record | Partition key | Sort key | What it is | In `{DUE_INDEX}` | Vanishes |\n"
    rows = (_row(cls) for cls in classes if cls.KEY.table == name)
    return head + "|---|---|---|---|---|---|\n" + "".join(rows)


def _row(cls: type[Record]) -> str:
    keys = (f"`{cls.KEY.partition_format}`", f"`{cls.KEY.sort_format}`")
    due, end = _summary_of_own(cls, "next_due"), _summary_of_own(cls, "vanishes_at")
    if cls.DUE_GROUP:
        due += f" Group `{cls.DUE_GROUP}`."
    cells = (cls.__name__, *keys, _summary(cls), due, end)
    return f"| {' | '.join(cells)} |\n"


def _summary_of_own(cls: type[Record], name: str) -> str:
    """The docstring of a property that a record has of its own; empty for one that it does not."""
    own = getattr(cls, name)
    return "" if own is getattr(Record, name) else _summary(own)


def _summary(documented: object) -> str:
    """The first paragraph of a docstring, on one line."""
    text = inspect.getdoc(documented) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")


def _subclasses(cls: type[Record]) -> Iterator[type[Record]]:
    for each in cls.__subclasses__():
        if each.__module__.startswith("chalicelib."):
            yield each
            yield from _subclasses(each)


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes docs/data.md from the records.")
    parser.add_argument("--check", action="store_true", help="compare only")
    if parser.parse_args().check:
        return 0 if FILE.exists() and FILE.read_text() == document() else 1
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(document())
    return 0


if __name__ == "__main__":
    sys.exit(main())
