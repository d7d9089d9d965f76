"""Checks the environment variables of a stage before anything of it is made."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from chalicelib.platform.settings import InvalidSettings, Settings
from infra import APP
from infra.stack import DeploymentStopped

MOST_BYTES = 4_096
"""Of all environment variables of a function, names and values (AWS Lambda quotas)."""
_OF_OTHERS = ("PYDANTIC_DISABLE_PLUGINS", "PYTHONPATH")
"""Variables that Python and its packages read, and not the service."""


def check_settings(stage: str, variables: Mapping[str, str]) -> None:
    """Raises DeploymentStopped, with a line for each problem, unless functions would start with these variables.

    They have to name this stage, as tables and queues of another one would be used otherwise.
    """
    problems = [*_unknown(variables), *_of_other_stage(stage, variables), *_too_long(variables)]
    try:
        Settings.read(variables)
    except InvalidSettings as invalid:
        problems += [f"{name} {problem}" for name, problem in invalid.problems.items()]
    if problems:
        raise DeploymentStopped("\n  ".join(["the environment variables of the functions cannot be used:", *problems]))


def _unknown(variables: Mapping[str, str]) -> Iterator[str]:
    known = (*Settings.variables(), *_OF_OTHERS)
    for name in sorted(variables.keys() - known):
        nearest = get_close_matches(name, known, 1)
        yield f"{name} is not a setting" + (f": is {nearest[0]} meant?" if nearest else "")


def _of_other_stage(stage: str, variables: Mapping[str, str]) -> Iterator[str]:
    for name, wanted in (("STAGE", stage), ("RESOURCE_PREFIX", f"{APP}-{stage}")):
        if variables.get(name) != wanted:
            yield f"{name} is {variables.get(name)!r}, and has to be {wanted!r}"


def _too_long(variables: Mapping[str, str]) -> Iterator[str]:
    sizes = {name: len(f"{name}{text}".encode()) for name, text in variables.items()}
    if sum(sizes.values()) > MOST_BYTES:
        largest = sorted(sizes, key=lambda each: sizes[each], reverse=True)[:3]
        named = ", ".join(f"{name} ({sizes[name]})" for name in largest)
        yield f"they have {sum(sizes.values())} bytes, and Lambda takes {MOST_BYTES}; the longest are {named}"
