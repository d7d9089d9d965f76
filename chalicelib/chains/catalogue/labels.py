"""The labels of networks as types of fields: bodies and queries take no other, and the OpenAPI document lists them."""

from typing import TYPE_CHECKING, Literal, TypeAlias

from chalicelib.chains.catalogue.bridges import source_networks
from chalicelib.chains.catalogue.networks import ALL_NETWORKS

if TYPE_CHECKING:
    SourceLabel: TypeAlias = str
    """The networks that are paid from, in the order of the interface."""
    Label: TypeAlias = str
    """Those, and then all others."""
else:
    _SOURCES = tuple(each.label for each in source_networks())
    SourceLabel = Literal[_SOURCES]
    Label = Literal[(*_SOURCES, *sorted({each.label for each in ALL_NETWORKS} - {*_SOURCES}))]
