"""Models of the status of networks."""

from typing import Self

from pydantic import Field

from chalicelib.http.schemas import Output, iso_or_none
from chalicelib.scanning.rules import NetworkStatus


class NetworkStatusAnswer(Output):
    """How far one network is read; the values are null before its first blocks were read."""

    network: str
    lagSeconds: int | None = Field(description="The age of the newest block that was read")
    readUntil: str | None = Field(description="The time of that block")
    lastRead: str | None = Field(description="When it was read")
    isSeeingPayments: bool = Field(description="Whether the lag is no more than the network's confirmations explain")

    @classmethod
    def of(cls, status: NetworkStatus) -> Self:
        return cls(
            network=status.network,
            lagSeconds=None if status.lag is None else int(status.lag.total_seconds()),
            readUntil=iso_or_none(status.read_until),
            lastRead=iso_or_none(status.read_at),
            isSeeingPayments=status.sees_payments,
        )


class StatusAnswer(Output):
    """The networks that this deployment serves."""

    networks: list[NetworkStatusAnswer]
