"""Amounts and percentages: decimal text in the interface, integer base units in the code, never floats."""

import re
from decimal import Decimal
from functools import lru_cache
from typing import NewType

from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen


@frozen
class Fee:
    """`percentage` of an amount, paid in addition to it to `address`. No fee is charged while either is None."""

    percentage: str | None = None
    address: str | None = None

    @property
    def is_charged(self) -> bool:
        return self.percentage is not None and self.address is not None and parse_percentage(self.percentage) > 0

    def on(self, amount: int) -> "BaseUnits":
        """The fee that is paid on top of `amount`, in the units of the amount, rounded down."""
        if self.percentage is None or self.address is None:
            return BaseUnits(0)
        return fee_of(amount, parse_percentage(self.percentage))


BaseUnits = NewType("BaseUnits", int)
"""An amount in the smallest unit of its token: 1.5 USDC (6 decimals) is 1_500_000."""

MAX_UINT256 = 2**256 - 1
_MAX_INTEGER_DIGITS = len(str(MAX_UINT256))
_MAX_PERCENTAGE_DECIMALS = 18

# ASCII digits, and a point only between digits; no sign, exponent, separator or leading zero.
_PLAIN_DECIMAL = re.compile(r"(0|[1-9][0-9]*)(?:\.([0-9]+))?")


def parse_amount(text: str, decimals: int) -> BaseUnits:
    """Returns the base units of a human-readable amount such as `12.50` (specification, Limits: greater than 0).

    Raises BadRequest unless the text is a plain decimal above 0 with at most `decimals` digits after the point,
    trailing zeros included, whose base units fit in a uint256.
    """
    match = _PLAIN_DECIMAL.fullmatch(text)
    if match is None:
        raise BadRequest(
            "must be a plain decimal number such as 12.50: digits and at most one point, "
            "without sign, exponent, spaces or leading zeros"
        )
    whole, fraction = match[1], match[2] or ""
    if len(whole) > _MAX_INTEGER_DIGITS:
        raise BadRequest(f"is too large: use at most {_MAX_INTEGER_DIGITS} digits before the point")
    if len(fraction) > decimals:
        raise BadRequest(f"has too many decimals: the currency has {decimals}, use at most that many")
    units = int(whole + fraction.ljust(decimals, "0"))
    if units == 0:
        raise BadRequest("must be greater than 0")
    if units > MAX_UINT256:
        raise BadRequest("is too large: in the smallest unit of the currency it must fit in 256 bits")
    return BaseUnits(units)


def format_amount(value: int, decimals: int) -> str:
    """Returns base units as human-readable decimal text without exponent and trailing zeros (`10`, `0.5`, `0`)."""
    if value < 0:
        raise ValueError("an amount is never negative")
    if not value:
        return "0"
    digits = str(value).rjust(decimals + 1, "0")
    point = len(digits) - decimals
    fraction = digits[point:].rstrip("0")
    return f"{digits[:point]}.{fraction}" if fraction else digits[:point]


@lru_cache(maxsize=256)
def parse_percentage(text: str) -> Decimal:
    """Returns the exact value of a fee percentage from `0` to `100` (specification, Limits). Raises BadRequest."""
    match = _PLAIN_DECIMAL.fullmatch(text)
    fraction = (match[2] or "") if match else ""
    # The length is checked first, so that Decimal never parses a very long text.
    if match is None or len(match[1]) > 3 or len(fraction) > _MAX_PERCENTAGE_DECIMALS or Decimal(text) > 100:
        raise BadRequest(
            "feePercentage must be a plain decimal number from 0 to 100 "
            f"with at most {_MAX_PERCENTAGE_DECIMALS} decimals, such as 1.5"
        )
    return Decimal(text)


def fee_of(amount: int, percentage: Decimal) -> BaseUnits:
    """floor(amount * percentage / 100) in base units. Computed with integers, as Decimal rounds to its context."""
    numerator, denominator = percentage.as_integer_ratio()
    return BaseUnits(amount * numerator // (denominator * 100))
