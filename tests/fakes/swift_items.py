"""Faster ways of items into and out of moto's DynamoDB: what is text or number takes no general rule, the rest does."""

from base64 import b64decode, b64encode
from typing import Any

from botocore.model import MapShape
from botocore.serialize import JSONSerializer
from botocore.validate import ParamValidator, ValidationErrors
from moto.dynamodb import responses
from moto.dynamodb.models import utilities
from moto.dynamodb.models.dynamo_type import DynamoType

_validate, _serialize, _to_dict = (
    ParamValidator._validate_map,
    JSONSerializer._serialize_type_map,
    utilities.dynamo_to_dict,
)
_PLAIN = ("S", "N")
_SIMPLE = (*_PLAIN, "BOOL", "NULL")


def _is_plain(value: Any) -> bool:
    """Whether an attribute's value is one text or number, as botocore wants it."""
    return type(value) is dict and len(value) == 1 and type(value.get("S", value.get("N"))) is str


def _validate_map(validator: ParamValidator, items: Any, shape: MapShape, errors: ValidationErrors, name: str) -> None:
    """Leaves to botocore what is not plain; for a text and a number it would ask twenty questions each."""
    if shape.value.name == "AttributeValue" and type(items) is dict:
        items = {key: value for key, value in items.items() if not (key and type(key) is str and _is_plain(value))}
    _validate(validator, items, shape, errors, name)


def _serialize_map(serializer: JSONSerializer, serialized: Any, value: Any, shape: MapShape, key: Any) -> None:
    if shape.value.name != "AttributeValue":
        _serialize(serializer, serialized, value, shape, key)
        return
    serialized[key] = other = {}
    for name, each in value.items():
        if _is_plain(each):
            other[name] = each
        else:
            serializer._serialize(other, each, shape.value, name)


def _dict_of(value: Any) -> Any:
    """Returns what moto's function does, which asks every value for its methods."""
    kind = type(value)
    if kind is DynamoType and value.type in _SIMPLE:
        return {value.type: value.value}
    if kind is DynamoType and value.type == "B":
        return {"B": b64decode(value.value)}
    if kind is dict:
        return {name: _dict_of(each) for name, each in value.items()}
    return value if kind is str else _to_dict(value)


def as_json(value: Any) -> Any:
    """Parameters for items as they are sent, where bytes are base64."""
    kind = type(value)
    if kind is dict:
        return {name: as_json(each) for name, each in value.items()}
    if kind is list or kind is tuple:
        return [as_json(each) for each in value]
    return b64encode(value).decode() if kind is bytes else value


def apply() -> None:
    """Replaces the functions in moto and botocore for the whole process."""
    ParamValidator._validate_map, JSONSerializer._serialize_type_map = _validate_map, _serialize_map
    utilities.dynamo_to_dict = responses.dynamo_to_dict = _dict_of
