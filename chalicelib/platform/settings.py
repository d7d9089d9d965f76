"""Every environment variable the service reads, typed and checked when the process starts.

Each Lambda reads them at its cold start, so they are parsed here by hand: pydantic would double the time of the start.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import MISSING, field, fields
from typing import Any, Literal
from urllib.parse import urlsplit

from chalicelib.base.frozen import frozen
from chalicelib.platform import setting_readers

FEWEST_CHILDREN, MOST_CHILDREN = 2, 1000
"""The number of children of a multicall. A deployment may set a lower maximum."""


class InvalidSettings(Exception):
    """`problems` says of each environment variable that is missing or wrong, by its name, what is wrong with it."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("\n".join(f"{name} {problem}" for name, problem in problems.items()))
        self.problems = problems


def _setting(read: Callable[[str], Any], default: Any = MISSING) -> Any:
    """A field that `read` makes of the variable's text; required without a default, which may be a function without
    arguments. ValueError says what is wrong."""
    if callable(default):
        return field(default_factory=default, metadata={"read": read})
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata={"read": read})
    return field(default=default, metadata={"read": read})


ValueForm = Literal["plain", "mixed", "bignumber", "hex"]
QueueName = Literal[
    "announcements", "mail-news", "mails", "payment-intents", "recordings", "recurring", "relayed", "scans", 
    "webhook-retries", "webhooks",
]


@frozen
class Settings:
    """Names are the environment variables in lower case; JSON where the type is a tuple or a mapping."""

    stage: Literal["local", "dev", "prod"] = _setting(setting_readers.one_of("local", "dev", "prod"))
    resource_prefix: str = _setting(setting_readers.plain_text)
    """Names every table, queue, key and secret: `<prefix>-payments`, `alias/<prefix>-secrets`, ..."""
    api_url: str = _setting(setting_readers.base_url)
    auth_url: str = _setting(setting_readers.base_url)
    pay_url: str = _setting(setting_readers.base_url)
    explorer_url: str = _setting(setting_readers.base_url)
    confirmations: Mapping[str, int] = _setting(setting_readers.by_network(setting_readers.whole(1), int), {})
    """Overrides of a network's confirmations: {"sepolia": 1}. What a mapping by network leaves out is as in
    networks.json, here and below."""
    scan_interval_seconds: int = _setting(setting_readers.whole(1, 60), 5)
    scan_intervals: Mapping[str, int] = _setting(setting_readers.by_network(setting_readers.whole(1, 60), int), {})
    """The interval of single networks, in seconds: {"base": 2}."""
    headers_every: Mapping[str, int] = _setting(setting_readers.by_network(setting_readers.whole(0, 10_000), int), {})
    """Of one block in so many the header is checked: {"base": 100}; 1 is each, 0 none."""
    scan_waits: tuple[str, ...] = _setting(setting_readers.texts(setting_readers.network_name), ())
    """Networks whose reading goes on only after blocks of which another node lists the same logs."""
    unproved_accepted: tuple[str, ...] = _setting(setting_readers.texts(setting_readers.network_name), ())
    """Networks whose unproved blocks raise no alarm, as the operator has one node of them."""
    silent_nodes_seconds: int = _setting(setting_readers.whole(10, 600), 120)
    """How long all other nodes of a network have to be silent before payments are recorded that one node alone has."""
    link_lifetime_seconds: int = _setting(setting_readers.whole(1), 7 * 24 * 3600)
    safe_transaction_lifetime_seconds: int = _setting(setting_readers.whole(1), 24 * 3600)
    """How long a link waits for an announced transaction at most, whatever deadline its payer names."""
    multicall_max_children: int = _setting(setting_readers.whole(FEWEST_CHILDREN, MOST_CHILDREN), 150)
    multicall_max_crosschain_children: int = _setting(setting_readers.whole(FEWEST_CHILDREN, 50), 20)
    """How many children a multicall has at most that is paid from another chain: one route is quoted for each."""
    webhook_allow_loopback: bool = _setting(setting_readers.flag, False)
    """True lets webhooks go to localhost, for tests; private and metadata addresses stay refused."""
    webhook_concurrency: int = _setting(setting_readers.concurrency, 200)
    """How many first attempts of deliveries are made at the same time; above 1,000 the queue has no maximum."""
    webhook_retry_concurrency: int = _setting(setting_readers.whole(2, 1000), 200)
    """How many retries, tests, and attempts at webhooks that failed or were slow last are made at the same time."""
    recording_concurrency: int = _setting(setting_readers.whole(2, 1000), 20)
    """How many payables are recorded at the same time."""
    announcement_concurrency: int = _setting(setting_readers.whole(2, 1000), 20)
    """How many messages with events are announced at the same time."""
    header_brands: tuple[str, ...] = _setting(setting_readers.texts(), ("service", "request-network"))
    """Each delivery carries its headers (`x-<brand>-signature`, ...) once per brand, for receivers of either name."""
    payment_processor: str = _setting(setting_readers.plain_text, "service-network")
    fiat_processor: str = _setting(setting_readers.plain_text, "service-tech")
    """The paymentProcessor of events about what follows a payment that is sent to a bank account."""
    offramp_check_seconds: int = _setting(setting_readers.whole(60, 86_400), 600)
    """After how long without news a paid off-ramp order is read at the provider; each pause is twice the last one."""
    offramp_late_seconds: int = _setting(setting_readers.whole(3600), 3 * 86_400)
    """How long after its payment an off-ramp order without an end raises an alarm."""
    offramp_lost_seconds: int = _setting(setting_readers.whole(600), 6 * 3600)
    """How long the provider may not know a paid off-ramp order before it counts as lost."""
    offramp_give_up_seconds: int = _setting(setting_readers.whole(86_400), 30 * 86_400)
    """How long after the last news a paid off-ramp order without an end is read no more: its payer can be erased."""
    interop_checksum: Literal["warn", "strict"] = _setting(setting_readers.one_of("warn", "strict"), "warn")
    """What a wrong ERC-7828 checksum in a destination id leads to: a log line, or 400."""
    transaction_value_form: Literal["published", "plain", "mixed", "bignumber"] = _setting(
        setting_readers.one_of("published", "plain", "mixed", "bignumber"), "published"
    )
    """How 0 and another value are written. plain: 0 and a hex string; bignumber: {"type": "BigNumber", "hex": "0x..."}
    for both; mixed: 0 and such a BigNumber; published: as the published interface of each operation has it, from
    another chain a hex string for both."""
    rate_limit_scale: int = _setting(setting_readers.whole(1), 1)
    """Multiplies every rate limit; above 1 for local stacks and load tests only."""
    trusted_proxy_header: str = _setting(setting_readers.header, "")
    """The header with a caller's address, which the only proxy in front overwrites; empty: that of the connection."""
    session_origins: tuple[str, ...] = _setting(setting_readers.texts(), ())
    """Origins of the dashboards that may send session cookies from a browser."""
    session_domain: str = _setting(setting_readers.plain_text, "")
    """The Domain of the session cookie, such as example.com, for the API host too; empty: for the auth host alone."""
    safe_service_urls: Mapping[str, str] = _setting(setting_readers.safe_services, setting_readers.all_safe_services)
    """The Safe Transaction Service of each network that has one. The variable overrides those of networks.json; an
    empty URL asks none on a network, {} none at all: then only the chain tells what a Safe executed."""
    price_api_url: str = _setting(setting_readers.optional_url, "")
    """The HTTP price source, one of the two sources of exchange rates; empty: none, and no conversion is quoted."""
    price_api_key_header: str = _setting(setting_readers.header, "x-cg-demo-api-key")
    """The header that sends the price source its key, the entry `price_api_key` beside the URLs of nodes."""
    compliance_api_url: str = _setting(setting_readers.optional_url, "")
    """The compliance and off-ramp provider (platform/outbound/compliance.py); empty: none, and nobody is paid out in
    fiat."""
    compliance_account: str = _setting(setting_readers.plain_text, "")
    """The name of this service's account at that provider, which its events have to carry."""
    lifi_base_url: str = _setting(setting_readers.optional_url, "")
    """The router that finds ways to pay from another chain (platform/outbound/lifi.py), without /v1; empty: none is
    offered."""
    lifi_integrator: str = _setting(setting_readers.client_id, "payment-requests")
    router_seconds: int = _setting(setting_readers.whole(1, 20), 8)
    """How long its answers to all questions of a request are waited for."""
    route_seconds: int = _setting(setting_readers.whole(10, 600), 120)
    """How long a payer is shown a quoted route."""
    route_cost_bps: int = _setting(setting_readers.whole(0, 1000), 200)
    route_cost_dollars: int = _setting(setting_readers.whole(0, 1000), 5)
    """How much more than the amount a route may take: basis points of it, and in addition so many dollars."""
    price_max_age_seconds: int = _setting(setting_readers.whole(1), 600)
    """How old a price of the HTTP source may be."""
    feed_max_age_seconds: int = _setting(setting_readers.whole(1), 25 * 3600)
    """How old an answer of a Chainlink feed may be; those of stablecoins and fiat that do not move come once a day."""
    rate_tolerance_bps: int = _setting(setting_readers.whole(0, 1000), 100)
    """How far the two sources may differ, in basis points of the lower rate."""
    payment_tolerance_bps: int = _setting(setting_readers.whole(0, 1000), 100)
    """How much less than a request's rest counts as the rest of it without a quote, in basis points."""
    conversion_slippage_bps: int = _setting(setting_readers.whole(0, 1000), 100)
    """By how much the rate may rise, in basis points, between /pay and a payment that a contract converts."""
    quote_seconds: int = _setting(setting_readers.whole(10, 3600), 300)
    """How long a quoted rate is held for the payers of a request."""
    relayer_keys: Mapping[str, str] = _setting(
        setting_readers.by_network(setting_readers.one_of("kms", "secret"), str), {}
    )
    """Where the key of the service's own account is, for each EVM network on which it sends transactions: `kms` is the
    key alias/<prefix>-relayer, which never leaves KMS; `secret` the private key in the secret <prefix>-relayer-key, for
    test networks only. Without an entry nothing is sent on a network."""
    relayer_daily_limits: Mapping[str, str] = _setting(setting_readers.by_network(setting_readers.coins, str), {})
    """Overrides of what the transactions of a day (UTC) may cost at most, in native coins as text."""
    relayer_reserve_percent: int = _setting(setting_readers.whole(0, 90), 25)
    """How much of a day's limit only captures, refunds and what gives tokens back may use, in percent."""
    relayer_account_percent: int = _setting(setting_readers.whole(1, 100), 20)
    """How much of what its transactions may use of a day's limit one account may use, in percent."""
    relayer_wallet_factories: tuple[str, ...] = _setting(setting_readers.texts(), ())
    """The factories whose contract wallets may sign before they are deployed (ERC-6492); empty: none."""
    relayer_low_balances: Mapping[str, str] = _setting(setting_readers.by_network(setting_readers.coins, str), {})
    """Overrides of below which balance of the account an alarm is raised, in native coins as text."""
    relayer_max_fee_gwei: Mapping[str, int] = _setting(setting_readers.by_network(setting_readers.whole(1), int), {})
    """Overrides of the highest price of a unit of gas that is offered, in gwei."""
    relayer_stuck_seconds: int = _setting(setting_readers.whole(10), 120)
    """After how long without a block a transaction is replaced by the same one with a higher fee."""
    recurring_retry_seconds: int = _setting(setting_readers.whole(10), 3600)
    """After how long a payment of a recurring payout is tried again that has failed; after the third time it pauses."""
    recurring_relayer_fees: Mapping[str, str] = _setting(setting_readers.by_currency, {})
    """What a payer of recurring payouts pays to the service's own account with each payment, by currency id, in
    human-readable amounts: {"USDC-base": "0.05"}; in other currencies the fee of the network in networks.json; "0"
    takes none. The payer signs it with the permit."""
    archive_bucket: str = _setting(setting_readers.plain_text, "")
    """The bucket of S3 to which paid requests are moved; a deployment sets it. Empty: they stay in the tables."""
    archive_after_days: int = _setting(setting_readers.whole(90, 3660), 396)
    """How many days after its last payment a paid request is moved to the archive; 13 months."""
    escrow_contracts: Mapping[str, Any] = _setting(setting_readers.escrows, {})
    """The contracts of commerce payments by network, where they are not the catalogue's
    (chains/catalogue/escrows.py)."""
    commerce_pre_approval_seconds: int = _setting(setting_readers.whole(60, 10**9), 24 * 3600)
    commerce_authorization_seconds: int = _setting(setting_readers.whole(60, 10**9), 7 * 24 * 3600)
    commerce_refund_seconds: int = _setting(setting_readers.whole(60, 10**9), 60 * 24 * 3600)
    """How long a commerce payment can be authorized, then captured, then refunded, if nothing else is asked for."""
    page_client_id: str = _setting(setting_readers.client_id, "cli_hosted_payment_page")
    """The client id that the hosted payment page sends; it is stored nowhere, and admits the page's origin alone."""
    page_frame_ancestors: tuple[str, ...] = _setting(
        setting_readers.texts(setting_readers.matching(setting_readers.ORIGIN, "must be origins, such as https://app.example")),
        ("https://app.safe.global",),
    )
    """Whose pages may show the payment page in a frame, beside its own host."""
    walletconnect_project_id: str = _setting(setting_readers.project_id, "")
    """The operator's project with WalletConnect (https://dashboard.reown.com); empty: the page does not offer it."""
    walletconnect_relay_url: str = _setting(setting_readers.relay_url, "wss://relay.walletconnect.org")
    """The relay between the payment page and wallets in other devices."""
    brand: str = _setting(setting_readers.plain_text, "Payment Request Service")
    """Named in the text that wallets sign, and in e-mails."""
    mail_sender: str = _setting(setting_readers.optional_email, "")
    """The address that e-mails come from, which SES has verified; empty: no e-mail is sent, and answers say so."""
    mail_link_url: str = _setting(setting_readers.optional_url, "")
    """Where links in e-mails lead to: <URL>/confirm#<token>, /password#<token> and /invitation#<token>; empty: to the
    dashboard."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = _setting(
        setting_readers.one_of("DEBUG", "INFO", "WARNING", "ERROR"), "INFO"
    )

    @classmethod
    def read(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """The settings of this process; names of variables in any case. Raises InvalidSettings."""
        values: dict[str, Any] = {}
        problems: dict[str, str] = {}
        texts = {name.upper(): text for name, text in environment.items()}
        for each in fields(cls):
            name = each.name.upper()
            if name in texts:
                try:
                    values[each.name] = each.metadata["read"](texts[name])
                except ValueError as error:
                    problems[name] = str(error)
            elif each.default is MISSING and each.default_factory is MISSING:
                problems[name] = "is missing"
        problems |= _relayer_problems(values)
        if problems:
            raise InvalidSettings(problems)
        return cls(**values)

    @classmethod
    def variables(cls) -> tuple[str, ...]:
        """The names of all environment variables that are read."""
        return tuple(each.name.upper() for each in fields(cls))

    def value_form(self, published: ValueForm) -> ValueForm:
        """The form of values in the answers of an operation that is `published` with this one."""
        return published if self.transaction_value_form == "published" else self.transaction_value_form

    def scan_interval(self, network: str) -> int:
        """How many seconds are between two ticks of a network."""
        from chalicelib.chains.catalogue.networks import find_network as network_named

        known = network_named(network)
        of_network = known.scan_seconds if known else None
        return self.scan_intervals.get(network, of_network or self.scan_interval_seconds)

    @property
    def page_origin(self) -> str:
        """What browsers send as Origin from the hosted payment page."""
        return origin_of(self.pay_url)

    def queue(self, name: QueueName) -> str:
        return f"{self.resource_prefix}-{name}"

    @property
    def rpc_urls_secret(self) -> str:
        return f"{self.resource_prefix}-rpc-urls"


def _relayer_problems(values: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with the keys of the service's own account: a network, or a private key where money is real."""
    keys = values.get("relayer_keys")
    if not keys:
        return {}
    from chalicelib.chains.catalogue.networks import find_network as network_named

    for name, kind in keys.items():
        known = network_named(name)
        if known is None or known.relayer is None:
            return {"RELAYER_KEYS": f"{name}: must be an EVM network"}
        if kind == "secret" and not known.is_test and values.get("stage") != "local":
            return {"RELAYER_KEYS": f"{name}: must be kms, as a secret is for test networks"}
    return {}


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL, as browsers send them for Origin."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.lower()}"
