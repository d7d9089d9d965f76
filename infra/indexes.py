"""The templates by which a stage gets new indexes: one of each table in an update, as CloudFormation requires."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

Template = dict[str, Any]
_INDEXES = "GlobalSecondaryIndexes"


def steps(deployed: Template, wanted: Template) -> Iterator[Template]:
    """The templates that lead from the deployed one to the wanted one, which is the last of them.

    CloudFormation creates or deletes one index of an existing table in an update, and waits until it is filled. So each
    template has one index of each table more or less than the one before. A deployment that was interrupted goes on
    where it stopped.
    """
    old, new = _tables(deployed), _tables(wanted)
    names = {table: list(_indexes(old[table])) for table in old.keys() & new.keys()}
    while True:
        names = {table: _nearer(have, list(_indexes(new[table]))) for table, have in names.items()}
        template = deepcopy(wanted)
        for table, have in names.items():
            _keep(template["Resources"][table]["Properties"], {**_indexes(old[table]), **_indexes(new[table])}, have)
        yield template
        if all(set(have) == set(_indexes(new[table])) for table, have in names.items()):
            return


def _tables(template: Template) -> dict[str, dict[str, Any]]:
    """The properties of the tables of a template, by their names in it."""
    resources = template.get("Resources", {})
    return {name: each["Properties"] for name, each in resources.items() if each["Type"] == "AWS::DynamoDB::Table"}


def _indexes(table: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {index["IndexName"]: index for index in table.get(_INDEXES, [])}


def _nearer(have: list[str], want: list[str]) -> list[str]:
    """The indexes of a table after one more update."""
    if missing := [name for name in want if name not in have]:
        return [*have, missing[0]]
    if surplus := [name for name in have if name not in want]:
        return [name for name in have if name != surplus[0]]
    return have


def _keep(table: dict[str, Any], known: dict[str, dict[str, Any]], names: list[str]) -> None:
    """Gives a table these indexes, and the definitions of just the attributes that are keys."""
    table[_INDEXES] = [known[name] for name in names]
    keys = [*table["KeySchema"], *(key for index in table[_INDEXES] for key in index["KeySchema"])]
    used = {key["AttributeName"] for key in keys}
    table["AttributeDefinitions"] = [each for each in table["AttributeDefinitions"] if each["AttributeName"] in used]
    if not names:
        del table[_INDEXES]
