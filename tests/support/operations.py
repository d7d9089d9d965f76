"""The models in the annotations of an operation's view, and one operation of each kind."""

from importlib import import_module

from chalicelib.platform.http.operation import OPERATIONS, Operation
from chalicelib.platform.http.view import Models, models_of


def models(known: Operation) -> Models:
    """Returns the models of a routed operation."""
    return models_of(getattr(import_module(OPERATIONS[known]), known.name))


def one_of_each_kind() -> list[Operation]:
    """An operation for each way to be called: what the pipeline does with a request alone, it does for all of a kind.
    The same ones whatever was imported first."""
    by_name = sorted(OPERATIONS, key=lambda known: known.name)
    return list({(known.modes, known.method == "GET"): known for known in by_name}.values())
