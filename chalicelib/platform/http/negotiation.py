"""Which of several media types a client wants, by its header Accept (RFC 9110, 12.5.1)."""

import re
from collections.abc import Sequence

_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_RANGE = re.compile(rf"{_NAME}/{_NAME}")
_PARAMETER = re.compile(rf"({_NAME})=({_NAME}|\"[^\"]*\")")
_WEIGHT = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")


def choose_media_type(accept: str, offered: Sequence[str]) -> str:
    """The offered media type, such as `text/csv`, that has the highest weight.

    Of types with the same weight it is the one that is named more exactly, then the one that is named first, then the
    one that is offered first. That is also the answer where none is accepted or the header does not have its form.
    """
    weights: dict[str, tuple[float, int]] = {}
    try:
        for range_, weight in map(_parse_weight, filter(None, map(str.strip, accept.lower().split(",")))):
            weights.setdefault(range_, (weight, -len(weights)))
    except ValueError:
        return offered[0]
    ranked = [(_rank(each, weights), each) for each in offered]
    best, wanted = max(ranked, key=lambda entry: entry[0])
    return wanted if best[0] > 0 else offered[0]


def _parse_weight(element: str) -> tuple[str, float]:
    """A media range and its weight. Raises ValueError."""
    range_, *parameters = (part.strip() for part in element.split(";"))
    weight = "1"
    for parameter in filter(None, parameters):
        found = _PARAMETER.fullmatch(parameter)
        if found is None:
            raise ValueError("a parameter is a name and a value")
        weight = found[2] if found[1] == "q" else weight
    if _RANGE.fullmatch(range_) is None or _WEIGHT.fullmatch(weight) is None:
        raise ValueError("a range is type/subtype, and a weight 0 to 1 with at most 3 decimals")
    return range_, float(weight)


def _rank(media_type: str, weights: dict[str, tuple[float, int]]) -> tuple[float, int, int]:
    """The weight of a media type by the most exact range that it is in, how exact that is, and how early it stands."""
    for exactness, range_ in ((2, media_type), (1, f"{media_type.split('/')[0]}/*"), (0, "*/*")):
        if range_ in weights:
            weight, order = weights[range_]
            return weight, exactness, order
    return 0, 0, 0
