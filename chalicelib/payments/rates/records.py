"""An exchange rate, as it is kept with a quote and with a payment."""

from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from math import gcd

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits


class RateSource(StrEnum):
    """Who gives a rate, by the names that clients know."""

    CHAINLINK = "chainlink"
    COINGECKO = "coingecko"
    """The HTTP price source, which speaks CoinGecko's protocol, whoever runs it."""
    UNKNOWN = "unknown"
    MIXED = "mixed"


@frozen
class Rate:
    """One whole unit of `base` is `numerator` / `denominator` whole units of `quote`, in lowest terms.

    `base` is the currency of an invoice and `quote` what is paid, both as ids of the catalogue. `source` says
    so, `at` is when (UTC), for a rate of several feeds the time of the oldest. Raises ValueError for a rate that is not
    above 0.
    """

    base: str
    quote: str
    numerator: BaseUnits
    denominator: BaseUnits
    """Both may have more digits than a number of DynamoDB."""
    source: RateSource
    at: datetime

    @property
    def fraction(self) -> Fraction:
        return Fraction(self.numerator, self.denominator)

    def __post_init__(self) -> None:
        if self.numerator <= 0 or self.denominator <= 0:
            raise ValueError(f"the rate of {self.base} in {self.quote} is not above 0")
        common = gcd(self.numerator, self.denominator)
        object.__setattr__(self, "numerator", BaseUnits(self.numerator // common))
        object.__setattr__(self, "denominator", BaseUnits(self.denominator // common))
