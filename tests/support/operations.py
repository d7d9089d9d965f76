"""The models of an operation, as its view's annotations name them."""

from importlib import import_module

from chalicelib.http.operation import OPERATIONS, Operation
from chalicelib.http.view import Models, models_of


def models(known: Operation) -> Models:
    """The models of an operation that the app has routed."""
    return models_of(getattr(import_module(OPERATIONS[known]), known.name))
