"""The view of how far each network is read."""

from collections.abc import Sequence
from typing import Literal, Self

from pydantic import Field

from chalicelib.base.timestamps import iso
from chalicelib.payments.scanning import flows
from chalicelib.payments.scanning.records import DEFERRED_COUNTED, DeferredTransaction, Evidence
from chalicelib.payments.scanning.rules import NetworkStatus
from chalicelib.platform.http.schemas import Output, iso_or_none
from chalicelib.platform.http.view import Call


class NodesAnswer(Output):
    """The nodes by which one network is read, as they were compared in the last minute."""

    total: int = Field(description="How many there are")
    usable: int = Field(description="How many of them answer and have the newest blocks")
    agree: bool = Field(description="Whether their blocks agree; the network is not read while they do not")


class EvidenceAnswer(Output):
    """How it is known that no payment was left out of what a node listed."""

    newest: Evidence = Field(description="Of the blocks that were read last")
    unprovedBlocks: int = Field(
        description="Blocks of the last three days for which only one node vouches; they are read again"
    )
    unprovedSince: str | None = Field(description="When the first of them was read")

    @classmethod
    def of(cls, status: NetworkStatus) -> Self | None:
        if status.evidence is None:
            return None
        since = iso_or_none(status.unproved_since)
        return cls(newest=status.evidence, unprovedBlocks=status.unproved_blocks, unprovedSince=since)


class DeferredAnswer(Output):
    """Transactions whose transfers are not recorded yet, as no node returns what they are compared with."""

    count: int = Field(description=f"How many there are; of more than {DEFERRED_COUNTED} so many are counted")
    since: str = Field(description="When the first of them was deferred")

    @classmethod
    def of(cls, deferred: Sequence[DeferredTransaction]) -> Self | None:
        if not deferred:
            return None
        return cls(count=len(deferred), since=iso(min(each.deferred_at for each in deferred)))


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
    paymentsRestOn: Literal["one node", "several nodes"] = Field(
        description="How many nodes say that payments are there: one if the network has only one, or if the others were"
        " silent and what it said is not compared yet"
    )
    waitsForNode: bool = Field(
        description="Whether for a while only one of several nodes says until when the network was read: nothing"
        " expires there, and nothing is signed in, paid out or freed by its contracts, until another one says the same"
    )
    evidence: EvidenceAnswer | None = Field(description="How the blocks are known")
    deferred: DeferredAnswer | None = Field(
        description="Transactions that are read again until a node says what is in them; null if there are none"
    )

    @classmethod
    def of(cls, status: NetworkStatus) -> Self:
        nodes = status.nodes
        return cls.from_record(
            status,
            lagSeconds=None if status.lag is None else int(status.lag.total_seconds()),
            lastRead=iso_or_none(status.read_at),
            isSeeingPayments=status.sees_payments,
            paymentsRestOn="one node" if nodes is None or status.is_alone else "several nodes",
            waitsForNode=status.waits_for_node,
            nodes=None if nodes is None else NodesAnswer.from_record(nodes),
            evidence=EvidenceAnswer.of(status),
            deferred=DeferredAnswer.of(status.deferred),
        )


class StatusAnswer(Output):
    """The networks that this deployment serves."""

    networks: list[NetworkStatusAnswer]


def show_status(call: Call[None, None]) -> StatusAnswer:
    return StatusAnswer(networks=[NetworkStatusAnswer.of(each) for each in flows.status(call.services)])
