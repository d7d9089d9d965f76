"""What the document says of each operation: the files of docs/operations, two for each folder of chalicelib.

`accounts.toml` is written by hand. It has a table for each operation of chalicelib/accounts, by the name of its view:

    summary       a few words, as in docs/api.md
    description   what a caller has to know beyond that, in a few sentences
    errors        its error statuses beside those that any operation may have
    same_as       another operation of the file, which has the keys that are left out here

`accounts.json` has an example of each: `path`, `query` and `body` of a request. `make docs` records its response in
docs/openapi.json. An operation is known by the module of its view (`chalicelib.accounts.api_keys.api`) and its name
there.
"""

import json
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from chalicelib.base.frozen import frozen
from chalicelib.platform.http.documents import FOLDER
from chalicelib.platform.http.operation import Operation

Json = dict[str, Any]
_PLACE = FOLDER / "operations"


@frozen
class Texts:
    """What is said of an operation in words, and its own error statuses."""

    summary: str
    description: str
    errors: tuple[int, ...] = ()


def texts_of(api: str, name: str) -> Texts:
    """Raises LookupError, with what to write where, if the operation is not described."""
    file = _file(api, "toml")
    return texts_in(_tables(file), name, _path_of(file))


def texts_in(tables: Mapping[str, Json], name: str, file: str) -> Texts:
    """The texts of an operation in the tables of a file, which is named by what is refused."""
    own = tables.get(name, {})
    said = {**tables.get(own.get("same_as", ""), {}), **own}
    said.pop("same_as", None)
    for key in ("summary", "description"):
        if not said.get(key):
            raise LookupError(f"{file} has no {key} of {name}: write it below [{name}]")
    if others := said.keys() - {"summary", "description", "errors"}:
        raise LookupError(f"{file} says {', '.join(sorted(others))} of {name}, which nothing reads")
    return Texts(said["summary"], " ".join(said["description"].split()), tuple(said.get("errors", ())))


def examples(api: str) -> dict[str, Json]:
    """The examples of the operations of a folder, by their names."""
    file = examples_file(api)
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def examples_file(api: str) -> Path:
    return _file(api, "json")


def answers_in(document: Json) -> dict[str, Any]:
    """The responses of the examples in an OpenAPI document, by the names of their operations."""
    found = dict[str, Any]()
    for operation in (each for methods in document["paths"].values() for each in methods.values()):
        for response in operation["responses"].values():
            content = response.get("content", {}).get("application/json", {})
            if "example" in content:
                found.setdefault(operation["operationId"], content["example"])
    return found


def check_names(operations: Mapping[Operation, str]) -> None:
    """Raises LookupError if a file says something of an operation that is not one of these."""
    known = {(api.split(".")[1], operation.name) for operation, api in operations.items()}
    for file in sorted(_PLACE.iterdir()):
        names = _tables(file) if file.suffix == ".toml" else json.loads(file.read_text(encoding="utf-8"))
        for name in names:
            if (file.stem, name) not in known:
                raise LookupError(f"{_path_of(file)} has {name}, which is in no routes.py of {file.stem}: remove it")


@cache
def _tables(file: Path) -> Mapping[str, Json]:
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def _file(api: str, kind: str) -> Path:
    """The file for the folder of chalicelib that a view is in."""
    return _PLACE / f"{api.split('.')[1]}.{kind}"


def _path_of(file: Path) -> str:
    return file.relative_to(FOLDER.parent).as_posix()
