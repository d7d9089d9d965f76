"""What this service measures of itself: counts and times, written to the log as CloudWatch reads metrics from it (EMF).

Values are kept until `flush`, which every invocation ends with. A metric that has no value in an hour costs nothing.
"""

import json
import logging
import sys
from collections import defaultdict

from chalicelib.base.frozen import frozen


@frozen
class Metric:
    """`dimension` names what its values are told apart by; None for a metric without parts."""

    name: str
    dimension: str | None = None
    unit: str = "Count"


PAYMENTS = Metric("PaymentsConfirmed", "Network")
LAG = Metric("Lag", "Network", "Seconds")
RPC_ERRORS = Metric("RpcErrors", "Network")
DELIVERIES = Metric("Deliveries", "Outcome")
FIRST_ATTEMPTS_FAILED = Metric("FirstAttemptsFailed")
"""1 for a first attempt that failed, 0 for one that was answered: the average is the share that failed."""
MAILS = Metric("Mails", "Outcome")
OUTBOX_AGE = Metric("OutboxAge", unit="Seconds")
COLD_STARTS = Metric("ColdStarts", "FunctionName")
CHECKS_NOT_RUN = Metric("ChecksNotRun", "Network")
MEASURED = (
    PAYMENTS, LAG, RPC_ERRORS, DELIVERIES, FIRST_ATTEMPTS_FAILED, MAILS, OUTBOX_AGE, COLD_STARTS, CHECKS_NOT_RUN
)

COUNTED_LINES = {
    "scan failed": "NodeFailures",
    "node contradicts itself": "NodeContradictions",
    "nodes disagree": "NodesDisagree",
    "transfers wait for another node": "NodesDisagree",
    "decisions wait for another node": "NodesDisagree",
    "transfers of one node recorded": "BlocksUnproved",
    "transfers rest on one node": "BlocksUnproved",
    "transactions deferred": "BlocksUnproved",
    "receipt not compared": "BlocksUnproved",
    "block refused by the node": "BlocksRefused",
    "transfers were missing": "TransfersMissing",
    "node lists other logs": "TransfersMissing",
    "blocks unproved for an hour": "BlocksUnproved",
    "check fails for every node": "BlocksUnproved",
    "totals differ": "TotalsDiffer",
    "webhook fails for an hour": "WebhooksFailingLong",
    "fork deeper than the confirmations": "DeepForks",
    "relayer balance is low": "RelayerBalanceLow",
    "relayer limit is near": "RelayerLimitNear",
    "crosschain outcome unknown": "CrosschainUnknown",
    "call postponed": "CallsPostponed",
    "transaction is stuck": "RelayedStuck",
    "nonce used by another transaction": "RelayerNonceUsed",
    "call outcome unknown": "RelayedUnknown",
    "holdings do not cover a call": "RelayerHoldingsMissing",
    "account not checked": "CallsNotFollowed",
    "recurring payments wait": "RecurringWaits",
    "recurring payment not recorded": "RecurringUnrecorded",
    "transactions removed by a fork": "RelayedRemoved",
    "no exchange rate": "RatesUnavailable",
    "no exchange rate to show": "RatesNotShown",
    "route refused": "RoutesRefused",
    "router circuit opened": "RouterClosed",
    "off-ramp order is late": "OfframpsLate",
    "off-ramp order is not known to the provider": "OfframpsLate",
    "off-ramp order is given up": "OfframpsLate",
    "off-ramp order is not for what was paid": "OfframpsLate",
    "commerce payment has no event": "CommerceUnrecorded",
    "escrow differs": "CommerceUnrecorded",
    "commerce refund overdue": "CommerceOverdue",
    "provider does not answer": "OfframpsUnread",
    "payment intent overdue": "PaymentIntentsOverdue",
    "mail needs the operator": "MailsNotSent",
    "mail address stopped": "MailAddressesStopped",
}
"""The lines of the log that an alarm waits for, each with the metric that counts it."""

_VALUES = 99
"""The most values of a line. CloudWatch takes 100 of a metric; with them Powertools writes the line by itself, and
refuses to write the rest if there is none."""


class Metrics:
    """The values of one process since the last `flush`, in the namespace of the stage."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._values: list[tuple[Metric, str, float]] = []

    def add(self, metric: Metric, part: str = "", value: float = 1) -> None:
        """Adds a value; `part` is that of the metric's dimension. It may be called by several threads."""
        self._values.append((metric, part, value))

    def flush(self) -> None:
        """Writes what was added since the last time, lines for each dimension and part; nothing if there is none."""
        taken, self._values = self._values, []
        if not taken:
            return
        from aws_lambda_powertools.metrics import EphemeralMetrics

        parts = defaultdict[tuple[str | None, str], list[tuple[Metric, float]]](list)
        for metric, part, value in taken:
            parts[metric.dimension, part].append((metric, value))
        for (dimension, part), values in parts.items():
            for first in range(0, len(values), _VALUES):
                line = EphemeralMetrics(namespace=self._namespace)
                if dimension:
                    line.add_dimension(dimension, part)
                for metric, value in values[first : first + _VALUES]:
                    line.add_metric(metric.name, metric.unit, value)
                text = json.dumps(line.serialize_metric_set(), separators=(",", ":"))
                sys.stdout.write(f"{text}\n")  # in one write, as other threads log


class LineCounter(logging.Handler):
    """Counts the lines of COUNTED_LINES as they are written to a log."""

    def __init__(self, metrics: Metrics) -> None:
        super().__init__(logging.WARNING)
        self._metrics = metrics

    def emit(self, record: logging.LogRecord) -> None:
        name = COUNTED_LINES.get(str(record.msg))
        if name is not None:
            self._metrics.add(Metric(name))
