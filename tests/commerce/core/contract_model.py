"""What the escrow contract allows for one payment, from its rules and without our code: the oracle of the tests."""

from dataclasses import dataclass, replace

BEFORE_PRE_APPROVAL_EXPIRY, BEFORE_AUTHORIZATION_EXPIRY, BEFORE_REFUND_EXPIRY, AFTER_ALL = range(4)
MAX_AMOUNT, MIN_FEE, MAX_FEE = 100, 0, 1000


@dataclass(frozen=True)
class Asked:
    """A call of the contract: by the operator, a reclaim by the payer."""

    name: str
    amount: int = 0
    fee_bps: int = 0
    has_fee_receiver: bool = True


@dataclass(frozen=True)
class Contract:
    """The state of a payment, and in `sums` what each call has moved so far."""

    phase: int = BEFORE_PRE_APPROVAL_EXPIRY
    collected: bool = False
    capturable: int = 0
    refundable: int = 0
    sums: tuple[tuple[str, int], ...] = ()

    def moved(self, name: str) -> int:
        return dict(self.sums).get(name, 0)

    def call(self, asked: Asked) -> "Contract | None":
        """The state after a call; None if it reverts."""
        if asked.name in ("charge", "capture") and not self._takes_fee(asked):
            return None
        match asked.name:
            case "authorize" | "charge":
                is_in_time = self.phase == BEFORE_PRE_APPROVAL_EXPIRY
                if self.collected or not is_in_time or not 0 < asked.amount <= MAX_AMOUNT:
                    return None
                if asked.name == "authorize":
                    return self._with(asked.name, asked.amount, collected=True, capturable=asked.amount)
                return self._with(asked.name, asked.amount, collected=True, refundable=asked.amount)
            case "capture":
                is_in_time = self.phase <= BEFORE_AUTHORIZATION_EXPIRY
                if not is_in_time or not 0 < asked.amount <= self.capturable:
                    return None
                left, back = self.capturable - asked.amount, self.refundable + asked.amount
                return self._with(asked.name, asked.amount, capturable=left, refundable=back)
            case "void":
                return self._with(asked.name, self.capturable, capturable=0) if self.capturable else None
            case "reclaim":
                if self.phase <= BEFORE_AUTHORIZATION_EXPIRY or not self.capturable:
                    return None
                return self._with(asked.name, self.capturable, capturable=0)
            case _:
                if self.phase == AFTER_ALL or not 0 < asked.amount <= self.refundable:
                    return None
                return self._with(asked.name, asked.amount, refundable=self.refundable - asked.amount)

    def later(self) -> "Contract":
        return replace(self, phase=min(self.phase + 1, AFTER_ALL))

    def _takes_fee(self, asked: Asked) -> bool:
        return MIN_FEE <= asked.fee_bps <= MAX_FEE and (asked.has_fee_receiver or not asked.fee_bps)

    def _with(self, name: str, amount: int, **changes: object) -> "Contract":
        sums = dict(self.sums)
        sums[name] = sums.get(name, 0) + amount
        return replace(self, sums=tuple(sorted(sums.items())), **changes)  # type: ignore[arg-type]


def status(contract: Contract) -> str:
    """The status of the interface while nothing is pending and no attempt has failed."""
    is_late = contract.phase > BEFORE_AUTHORIZATION_EXPIRY
    captured, refunded = contract.moved("capture") + contract.moved("charge"), contract.moved("refund")
    if not contract.collected:
        return "PENDING" if contract.phase == BEFORE_PRE_APPROVAL_EXPIRY else "EXPIRED"
    if contract.capturable:
        return "EXPIRED" if is_late else "AUTHORIZED"
    if captured:
        return "PAID" if not refunded else "REFUNDED" if refunded == captured else "PARTIALLY_REFUNDED"
    return "RECLAIMED" if contract.moved("reclaim") else "VOIDED"
