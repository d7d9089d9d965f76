"""An exchange rate, as it is kept with a quote and with a payment."""

from datetime import datetime
from math import gcd

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits


@frozen
class Rate:
    """One whole unit of `base` is `numerator` / `denominator` whole units of `quote`, in lowest terms.

    `base` is the currency of an invoice and `quote` what is paid, both as ids of the catalogue. `source` names who says
    so, `at` when (UTC), for a rate of several feeds the time of the oldest. Raises ValueError for a rate that is not
    above 0.
    """

    base: str
    quote: str
    numerator: BaseUnits
    denominator: BaseUnits
    """Both may have more digits than a number of DynamoDB."""
    source: str
    at: datetime

    def __post_init__(self) -> None:
        if self.numerator <= 0 or self.denominator <= 0:
            raise ValueError(f"the rate of {self.base} in {self.quote} is not above 0")
        common = gcd(self.numerator, self.denominator)
        object.__setattr__(self, "numerator", BaseUnits(self.numerator // common))
        object.__setattr__(self, "denominator", BaseUnits(self.denominator // common))
