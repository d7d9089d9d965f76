"""Models of the status of networks."""

from typing import Self

from pydantic import Field

from chalicelib.payments.scanning.rules import NetworkStatus
from chalicelib.platform.http.schemas import Output, iso_or_none


class NodesAnswer(Output):
    """The nodes by which one network is read, as they were compared in the last minute."""

    total: int = Field(description="How many there are")
    usable: int = Field(description="How many of them answer and have the newest blocks")
    agree: bool = Field(description="Whether their blocks agree; the network is not read while they do not")


class NetworkStatusAnswer(Output):
    """How far one network is read; the values are null before its first blocks were read."""

    network: str
    lagSeconds: int | None = Field(description="The age of the newest block that was read")
    readUntil: str | None = Field(description="The time of that block")
    lastRead: str | None = Field(description="When it was read")
    isSeeingPayments: bool = Field(
        description="Whether the lag is no more than the network's confirmations explain, and its nodes do not disagree"
    )
    nodes: NodesAnswer | None = Field(description="How the network's nodes compare; null if it has only one")

    @classmethod
    def of(cls, status: NetworkStatus) -> Self:
        nodes = status.nodes
        return cls(
            network=status.network,
            lagSeconds=None if status.lag is None else int(status.lag.total_seconds()),
            readUntil=iso_or_none(status.read_until),
            lastRead=iso_or_none(status.read_at),
            isSeeingPayments=status.sees_payments,
            nodes=None if nodes is None else NodesAnswer(total=nodes.total, usable=nodes.usable, agree=nodes.agree),
        )


class StatusAnswer(Output):
    """The networks that this deployment serves."""

    networks: list[NetworkStatusAnswer]
