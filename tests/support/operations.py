"""The models in the annotations of an operation's view."""

from importlib import import_module

from chalicelib.platform.http.operation import OPERATIONS, Operation
from chalicelib.platform.http.view import Models, models_of


def models(known: Operation) -> Models:
    """Returns the models of a routed operation."""
    return models_of(getattr(import_module(OPERATIONS[known]), known.name))
