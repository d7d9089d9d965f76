"""The alarms of a stage, as tables: what is watched, when it rings, what it says, and whether it wakes a person.

Each says what stands still for whom; the row of its name in infra/runbook.md says what to do. Silence is not an alarm.
Those that wake a person: payments are not found or not announced, money is in danger, or the API is down. All others go
to the topic of tickets, and can wait for the morning. infra/alarm_resources.py makes the resources, and adds the alarms
that every queue, network and table has.
"""

from dataclasses import dataclass
from typing import Any

from infra import APP
from infra.resources import name_ending_in

LAMBDA, SQS, DYNAMODB, API = "AWS/Lambda", "AWS/SQS", "AWS/DynamoDB", "AWS/ApiGateway"
Dimensions = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class When:
    """How often a metric is looked at, in seconds, and in how many of so many looks it has to be bad; all, if `bad` is
    None."""

    every: int
    looks: int
    bad: int | None = None


AT_ONCE = When(60, 1)
THREE_OF_FIVE, FOUR_OF_FIVE, FIVE_OF_FIVE = (When(60, 5, bad) for bad in (3, 4, 5))
IN_FIVE_MINUTES = When(300, 1)


@dataclass(frozen=True)
class Alarm:
    """One alarm. It rings when the metric is above the threshold; with `below_is_bad` when it is below or absent.

    With a percentile such as p80 as `statistic`, its state stays as it is while CloudWatch has too few values for it:
    fewer than 10 / (1 - 0.8).
    """

    name: str
    metric: str
    says: str
    when: When = AT_ONCE
    wakes: bool = False
    above: Any = 0  # a number, or a parameter of the template
    statistic: str = "Sum"
    namespace: Any = None  # of our own metrics: the name of the stage
    dimensions: Dimensions = ()
    resource: str = ""  # by default the metric's name; a stage that exists knows an alarm by it
    below_is_bad: bool = False


OWN = (
    Alarm(
        "node-failures", "NodeFailures", when=FIVE_OF_FIVE,
        says="A node did not answer in five minutes of five: payments on its network are not seen",
    ),
    Alarm(
        "node-contradictions", "NodeContradictions", when=THREE_OF_FIVE,
        says="A node contradicted itself in three minutes of five: its network is not read while it does",
    ),
    Alarm(
        "nodes-disagree", "NodesDisagree", when=When(60, 3, 2),
        says="Two nodes of a network had different blocks in two minutes of three, so that it is not read, or only one"
        " of several answered, so that nothing ends there",
    ),
    Alarm(
        "block-refused", "BlocksRefused", when=THREE_OF_FIVE,
        says="A node refused the logs of a single block in three minutes of five: its network stands still",
    ),
    Alarm(
        "transfers-missing", "TransfersMissing",
        says="A node left out transfers, or listed logs that its blocks do not have: it is not reliable",
    ),
    Alarm(
        "blocks-unproved", "BlocksUnproved", when=FIVE_OF_FIVE,
        says="Only one node vouches for blocks for over an hour, or no node has headers that can be checked: payments"
        " that are left out may be missed",
    ),
    Alarm(
        "totals-differ", "TotalsDiffer", wakes=True,
        says="The paid amount of a request is not the sum of its payments: a fault of this service",
    ),
    Alarm(
        "deep-forks", "DeepForks", wakes=True,
        says="A fork replaced confirmed blocks: announced payments may be corrected",
    ),
    Alarm(
        "outbox-age", "OutboxAge", when=THREE_OF_FIVE, wakes=True, above=300, statistic="Maximum",
        says="In three minutes of five an event waited for more than five minutes to be announced",
    ),
    Alarm(
        "webhooks-failed", "Deliveries", when=When(300, 3), resource="WebhooksFailed",
        above=50,  # a few are usual: merchants switch receivers off
        dimensions=(("Outcome", "failed"),),
        says="More than 50 deliveries failed for good in five minutes, three times in a row: receivers are down, or the"
        " service cannot reach them",
    ),
    Alarm(  # of values that are 0 or 1; metric math would take a second metric and a condition for the same share
        "receivers-failing", "FirstAttemptsFailed", when=When(900, 1), statistic="p80",
        says="More than a fifth of the first attempts at webhooks failed in a quarter of an hour, of 50 or more: many"
        " receivers are down, or the service cannot reach them",
    ),
    Alarm(
        "webhooks-failing-long", "WebhooksFailingLong", when=When(3600, 1),
        says="Every attempt at a webhook has failed for over an hour: its deliveries wait, and are given up in time",
    ),
    Alarm(
        "relayer-balance-low", "RelayerBalanceLow", when=THREE_OF_FIVE,
        says="The service's own account has less of a native coin than RELAYER_LOW_BALANCES: transactions will stop",
    ),
    Alarm(
        "relayer-limit-near", "RelayerLimitNear", when=THREE_OF_FIVE,
        says="The service's own transactions of today may cost nine tenths of RELAYER_DAILY_LIMITS or more: beyond it"
        " they wait until tomorrow (UTC)",
    ),
    Alarm(
        "crosschain-unknown", "CrosschainUnknown", when=When(3600, 1),
        says="Two hours after its time nobody knows what became of a payment from another chain (a refund: a day); its"
        " link stays locked",
    ),
    Alarm(
        "calls-postponed", "CallsPostponed", when=THREE_OF_FIVE,
        says="The service's own account could not make calls in three minutes of five: for want of coins, a role, or by"
        " a limit",
    ),
    Alarm(
        "relayed-stuck", "RelayedStuck", when=THREE_OF_FIVE, wakes=True,
        says="A transaction of the service gets into no block, and it can offer no more: all behind it wait",
    ),
    Alarm(
        "relayer-nonce-used", "RelayerNonceUsed", wakes=True,
        says="Another transaction has a nonce of the service's own account: somebody else signs with its key",
    ),
    Alarm(
        "relayed-unknown", "RelayedUnknown", wakes=True,
        says="Nodes contradict each other about a transaction of the service, or for ten minutes not every one confirms"
        " it: what depends on it waits",
    ),
    Alarm(
        "holdings-missing", "RelayerHoldingsMissing", wakes=True,
        says="The service's own account has less of a token than it holds for others, or a call would spend more than"
        " is held for it: nothing is spent",
    ),
    Alarm(
        "relayed-not-checked", "CallsNotFollowed", when=FIVE_OF_FIVE,
        says="A node did not answer for five minutes: the service's own transactions on its network are neither"
        " followed nor replaced",
    ),
    Alarm(
        "relayed-removed", "RelayedRemoved",
        says="A fork deeper than the confirmations took transactions of the service out of the chain: they are sent"
        " again",
    ),
    Alarm(
        "recurring-waits", "RecurringWaits", when=FIVE_OF_FIVE,
        says="For five minutes recurring payments could not be made for want of a node, of gas money, or of a role of"
        " the contract",
    ),
    Alarm(
        "recurring-unrecorded", "RecurringUnrecorded", wakes=True,
        says="A recurring payment was made and no event of the fee proxy was found: the recurring payout is paused",
    ),
    Alarm(
        "rates-unavailable", "RatesUnavailable", when=THREE_OF_FIVE, wakes=True,
        says="There was no exchange rate in three minutes of five: nothing is quoted, and payments without a quote"
        " wait",
    ),
    Alarm(
        "rates-not-shown", "RatesNotShown", when=When(3600, 6, 4),
        says="In four hours of six payments were recorded, or requests shown, without their value in dollars or a rate",
    ),
    Alarm(
        "routes-refused", "RoutesRefused",
        says="The router proposed a transaction that is not what was asked for; no payer was shown it",
    ),
    Alarm(
        "router-closed", "RouterClosed", when=When(300, 2),
        says="The router did not answer in two times five minutes, or asked not to be called: no payments from another"
        " chain",
    ),
    Alarm(
        "offramps-late", "OfframpsLate", when=IN_FIVE_MINUTES,
        says="Money that was paid for a bank account is late, lost or not expected at the off-ramp provider",
    ),
    Alarm(
        "offramps-unread", "OfframpsUnread", when=When(300, 3),
        says="The off-ramp provider did not answer in three times five minutes",
    ),
    Alarm(
        "commerce-overdue", "CommerceOverdue", when=IN_FIVE_MINUTES, wakes=True,
        says="Tokens taken from a merchant for a refund are in the service's account for over an hour",
    ),
    Alarm(
        "commerce-unrecorded", "CommerceUnrecorded", when=IN_FIVE_MINUTES, wakes=True,
        says="The books of a commerce payment are not those of its escrow",
    ),
    Alarm(
        "payment-intents-overdue", "PaymentIntentsOverdue", when=IN_FIVE_MINUTES, wakes=True,
        says="Tokens of a payer are in the service's own account for over two hours; they go neither on nor back",
    ),
    Alarm(
        "mails-not-sent", "MailsNotSent", when=IN_FIVE_MINUTES,
        says="SES sends no e-mail until somebody mends it: the sender is not verified, or sending is paused",
    ),
    Alarm(
        "mails-failed", "Mails", when=IN_FIVE_MINUTES, resource="MailsFailed", above=5,
        dimensions=(("Outcome", "failed"),),
        says="More than five e-mails failed for good in five minutes: SES refuses them, or their time was over",
    ),
    Alarm(
        "mail-addresses-stopped", "MailAddressesStopped", when=When(3600, 1), above=20,
        says="More than 20 addresses bounced or complained in an hour: SES pauses accounts of which too many do",
    ),
)
"""By metrics of our own (chalicelib/platform/metrics.py)."""

CRASHES = {
    "deliver_webhook": (True, "deliveries are repeated by the queue"),
    "retry_webhook": (False, "retries are repeated by the queue"),
    "announce_events": (True, "events are announced late"),
    "scan_chain": (True, "payments may not be seen"),
    "record_transfers": (True, "payments may not be announced"),
    "follow_relayed": (True, "the service's own transactions are not followed"),
    "track_relayed": (False, "the service's own transactions are followed late"),
    "execute_recurring": (False, "some recurring payments are made late"),
    "follow_payment_intent": (False, "payments that were signed are made late"),
    "run_recurring": (False, "recurring payments are not made"),
    "send_mail": (False, "e-mails are sent late"),
    "note_mail": (False, "addresses that bounce are written to"),
    "tell_changes": (False, "owners are not told of what was changed in their accounts"),
    "apply_changes": (False, "changes that wait for approval neither take effect after their delay nor expire"),
    "sweep_mails": (False, "e-mails whose message was lost are not sent, nor tried again after an hour"),
    "start_scans": (True, "scans are not started, or the lag is not measured"),
    "sweep_transfers": (False, "transfers whose message was lost are not recorded"),
    "sweep_outbox": (False, "lost announcements are not repeated"),
    "expire_links": (False, "expired links are not announced"),
    "track_announced": (False, "links stay locked for multisig transactions that failed"),
    "run_payment_intents": (True, "payments that were signed stand still"),
    "run_gasless": (True, "gasless payments that were signed stand still, or energy on Tron is not taken back"),
    "check_offramps": (False, "off-ramp orders are followed by events alone"),
    "run_commerce": (False, "commerce payments that were pre-approved are not authorized"),
}
"""Function -> whether its crashes in three minutes of five wake a person, and what follows from them. Those of the API
and of schedules that run every five minutes are among OTHERS. The same holds if a schedule is silent."""

OTHERS = (
    Alarm(
        "api_handler-errors", "Errors", namespace=LAMBDA, when=When(60, 1, 1), resource="ApiHandlerErrors",
        dimensions=(("FunctionName", name_ending_in("")),),
        says="The API crashed: a caller saw a 500 that no code of ours answered",
    ),
    Alarm(
        "check_payers-errors", "Errors", namespace=LAMBDA, when=When(300, 2), resource="CheckPayersErrors",
        dimensions=(("FunctionName", name_ending_in("-check_payers")),),
        says="check_payers failed twice in a row; the compliance provider does not answer",
    ),
    Alarm(
        "check_domains-errors", "Errors", namespace=LAMBDA, when=When(300, 2), resource="CheckDomainsErrors",
        dimensions=(("FunctionName", name_ending_in("-check_domains")),),
        says="check_domains failed twice in a row; domains that are not checked for three days lose their mark",
    ),
    Alarm(
        "archive_paid-errors", "Errors", namespace=LAMBDA, when=When(300, 2), resource="ArchivePaidErrors",
        dimensions=(("FunctionName", name_ending_in("-archive_paid")),),
        says="archive_paid failed twice in a row; what was paid long ago stays in the tables and costs more there",
    ),
    Alarm(  # without a dimension: of all functions, because they share the concurrency of the account
        "functions-throttled", "Throttles", namespace=LAMBDA, when=THREE_OF_FIVE, wakes=True,
        resource="FunctionsThrottled",
        says="Lambda refused to run functions in three minutes of five: the account has reached its concurrency",
    ),
    Alarm(  # the limit of an account is 1,000 unless it is raised; new accounts have less, which `make verify` names
        "concurrency-near", "ConcurrentExecutions", namespace=LAMBDA, when=THREE_OF_FIVE,
        above={"Ref": "ManyFunctions"}, statistic="Maximum", resource="ConcurrencyNear",
        says="More functions ran at once than four fifths of the account's limit, in three minutes of five",
    ),
    Alarm(
        "api-5xx", "5XXError", namespace=API, when=IN_FIVE_MINUTES, wakes=True, resource="ApiServerErrors", above=5,
        dimensions=(("ApiName", APP), ("Stage", {"Ref": "Stage"})),
        says="More than five answers of the API in five minutes were a 5xx",
    ),
)

SLOW_SCHEDULES = {
    "check_payers": "payers wait for news of their checks",
    "check_domains": "domains that are not checked for three days lose their mark on the payment page",
    "archive_paid": "what was paid long ago stays in the tables",
}
"""The schedules that run every five minutes, and what follows if one is silent."""

LAG_SECONDS = 450
"""The lag of a network, at which its alarm rings: the age of the newest block that was read.

It grows whatever the cause: a node that fails or whose head stands still, scans that crash or wait. It is normally the
confirmations times the time between blocks, which is 2.5 minutes on mainnet and less on the others. The threshold is
five minutes more; with other CONFIRMATIONS it may have to be raised. There is no data for a network without a node, and
for one of which no block was read yet."""
LAG_NAMES = {"arbitrum-one": "Arbitrum"}
"""What stages that exist call a network in the name of this resource, where it is not its own name."""
