"""One record of every kind, in the states that are stored differently, by a name that says which.

`vectors/items_of_shape_1.json` holds the items that were written for them by the first version of their present shape.
Stages hold such items, so the file is never written anew.
"""

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta

from chalicelib.accounts.branding.records import Colours, PageBranding
from chalicelib.accounts.changes.records import Asker, OpenChanges, PendingChange
from chalicelib.accounts.domains.records import PageDomain
from chalicelib.accounts.email.records import EmailToken
from chalicelib.accounts.email.records import Purpose as LinkPurpose
from chalicelib.accounts.members.records import Invitation
from chalicelib.accounts.orchestrators.records import Linkage, LinkageStatus, Orchestrator
from chalicelib.accounts.passkeys.records import Passkey, PasskeyChallenge
from chalicelib.accounts.payees.records import Action, ActiveDestination, PayeeDestination, SigningNonce
from chalicelib.accounts.sign_in.records import Challenge, Purpose
from chalicelib.base.money import MAX_UINT256, BaseUnits
from chalicelib.base.records import Counts, Record
from chalicelib.chains.calldata.recurring import SchedulePermit
from chalicelib.chains.calldata.tokens.erc2612 import TokenPermit
from chalicelib.chains.calldata.tokens.erc3009 import Authorization
from chalicelib.chains.calldata.tokens.permit2 import End as PermitEnd
from chalicelib.chains.calldata.tokens.permit2 import PaymentPermit
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.nodes.escrow.logs import EscrowEventKind, LoggedEscrow
from chalicelib.chains.nodes.history.logs import BlockRange, Checkpoint, LoggedConversion
from chalicelib.commerce.core.records import (
    Collector,
    CommercePayment,
    EntryState,
    EscrowEntry,
    OperationKind,
    PendingOperation,
)
from chalicelib.crosschain.core.records import BridgeTransfer, Deposit, Returned, Stage
from chalicelib.crosschain.service.payment_intents.records import End, PaymentIntent
from chalicelib.crosschain.service.payment_intents.records import Stage as PermitStage
from chalicelib.crosschain.service.router.records import KeptAnswer, RouterCircuit
from chalicelib.gasless.energy.records import EnergyDelegation, EnergyUse
from chalicelib.gasless.energy.records import Stage as EnergyStage
from chalicelib.gasless.records import GaslessBatch, GaslessPayment, LastSigned
from chalicelib.gasless.records import Stage as GaslessStage
from chalicelib.mail.records import Choices, Mail, Mailbox, MailKind, MailState
from chalicelib.offramp.core.records import Order, OrderStatus
from chalicelib.offramp.payers.records import AccountStatus, AgreementStatus, BankAccount, KycStatus, Payer, PayerName
from chalicelib.payments.archive.records import ArchivePass
from chalicelib.payments.links.records import (
    AnnouncedStatus,
    AnnouncedTransaction,
    Flow,
    Link,
    LinkAnnouncements,
    LinkStatus,
    PaymentType,
    Proof,
    SigningClaim,
)
from chalicelib.payments.rates.records import Rate, RateSource
from chalicelib.payments.requests.names.records import Resolution, ResolvedNames
from chalicelib.payments.requests.payments.records import (
    Direction,
    Origin,
    Payment,
    PaymentKind,
    PaymentStatus,
    Refund,
    SentRefund,
    UnmatchedTransfer,
)
from chalicelib.payments.requests.plain_transfers.records import PlainTransfer, WatchedAddress
from chalicelib.payments.requests.quotes.records import LockedRate, Quote
from chalicelib.payments.requests.records import (
    CustomerAddress,
    CustomerInfo,
    DailyCount,
    FirstRequest,
    Frequency,
    PayeeName,
    Recurrence,
    Reference,
    Request,
    RequestPointer,
    RequestStatus,
)
from chalicelib.payments.scanning.records import (
    Cursor,
    DeferredTransaction,
    LoggedBlock,
    LoggedTransfer,
    NextTarget,
    NodeCheck,
    ScanLease,
    SilentNode,
    TransferId,
    TransferState,
    UnrecordedTransfers,
    Verification,
)
from chalicelib.platform.access.audit.records import AuditEntry
from chalicelib.platform.access.credentials.records import (
    Account,
    ApiKey,
    ClientId,
    CredentialAdditions,
    CredentialPointer,
    CredentialStatus,
    LastUse,
    OrchestratorKey,
)
from chalicelib.platform.access.idempotency.records import IdempotentRequest
from chalicelib.platform.access.modes import Mode, Tier
from chalicelib.platform.access.people.records import Identity, Membership, MembershipPointer, Person, Role
from chalicelib.platform.access.rate_limits.records import Ban
from chalicelib.platform.access.sessions.records import PresenceProof, Session, SessionKind, SessionPointer
from chalicelib.platform.emergency_stop.records import Stop
from chalicelib.platform.own_accounts.records import Sender, Senders
from chalicelib.platform.privacy.records import PersonKey
from chalicelib.recurring.records import Commitment, Period, RecurringPayment, RecurringStatus
from chalicelib.relayer.holdings.records import Holding, HoldingsTotal, Move
from chalicelib.relayer.records import (
    AccountUse,
    CallStatus,
    RelayedCall,
    RelayedTransaction,
    RelayerAccount,
    RelayerProgress,
    Reverts,
    Taking,
)
from chalicelib.sandbox.records import (
    BlockTime,
    Fork,
    OperationCount,
    Sandbox,
    VirtualBlock,
    VirtualChain,
    VirtualLog,
    VirtualTransaction,
)
from chalicelib.webhooks.circuits.records import Circuit, CircuitState
from chalicelib.webhooks.deliveries.records import Attempt, Delivery, DeliveryState, ListEntry, Listing
from chalicelib.webhooks.endpoints.records import ClientEndpoint, Endpoint, EndpointUrl, Registrations
from chalicelib.webhooks.records import Event, EventVariant
from chalicelib.webhooks.signature_keys.records import SignatureKey, SignatureKeys

NOW = datetime(2026, 3, 1, 12, 0, 0, 123_000, tzinfo=UTC)
HOUR = timedelta(hours=1)
TOKEN, OTHER_TOKEN = "01KJM9CZ2VT8R5W4XN0QH7B3AD", "01KJM9CZ2WPAYOUTBATCH00000"
ACCOUNT, CLIENT = "01KJM9CZ00ACCOUNT000000000", "cli_8sQvJm2n"
PERSON_ID = "01KJM9CZ01PERSON0000000000"
HASH, OTHER_HASH = "ab" * 32, "cd" * 32
WALLET, TRON_WALLET = "0x52908400098527886E0F7030069857D2E4169EE7", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
REQUEST_ID = "01" + "5c" * 32
LONG = "x" * 60 + "and beyond the 64 characters of a key"

LINK = Link(
    token=TOKEN,
    account_id=ACCOUNT,
    client_id=CLIENT,
    origin="https://shop.example",
    payment_type=PaymentType.SINGLE,
    status=LinkStatus.PENDING,
    created_at=NOW,
    expires_at=NOW + 168 * HOUR,
    fee_percentage="1.5",
    fee_address=WALLET,
    reference="order 7 – Ærø",
    payer_identifier=None,
    redirect_url="https://shop.example/thanks",
    redirect_label="Back",
)
MULTICALL = replace(
    LINK,
    token=OTHER_TOKEN,
    client_id=None,
    origin=None,
    payment_type=PaymentType.MULTICALL,
    fee_percentage=None,
    fee_address=None,
    flow=Flow.PAY,
    child_tokens=(TOKEN, "01KJM9CZ2XPAYOUTNUMBERTWO0"),
    execution_kind="evm_same_chain",
)
REQUEST = Request(
    payable_id=TOKEN,
    position=3,
    request_id=REQUEST_ID,
    account_id=ACCOUNT,
    created_at=NOW,
    salt="0011223344556677",
    payment_reference="0x1234567890abcdef",
    payee=WALLET,
    network="sepolia",
    currency="fUSDC-sepolia",
    amount=BaseUnits(12_500_000),
    status=RequestStatus.CREATED,
    paid=BaseUnits(0),
    tx_hash=None,
)
PAYEE_NAME = PayeeName("shop.eth", NOW, is_primary=True)
PLAIN_TRANSFER = PlainTransfer(WALLET, NOW, BaseUnits(125_000), WALLET)
REFUND = Refund("0x" + HASH, "fUSDC-sepolia", REQUEST_ID, TOKEN, "sepolia", WALLET, NOW)
PAYING, PROXY_TOKEN = "0x627306090abaB3A6e1400e9345bC60c78a8BEf57", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
PERMIT2_ADDRESS = "0x000000000022D473030F116dDEE9F6B43aC78BA3"
PAYMENT_INTENT = PaymentIntent(
    intent_id="01KJM9CZ2YPERMIT0000000000",
    account_id="01KJM9CZ2XACCOUNT000000000",
    client_id=None,
    request_id="01" + "ab" * 32,
    source="USDC-base",
    permit=PaymentPermit(
        network="base",
        source=PermitEnd(PAYING, 8453, PROXY_TOKEN),
        destination=PermitEnd(PAYING, 42161, "0xaf88d065e77c8cC2239327C5EDb3A432268e5831"),
        net=12_625_000,
        fee=93_000,
        spender="0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A",
        nonce=(1_773_568_800_000 << 64) | 7,
        deadline=1_773_572_400,
        processing_date=1_773_586_800,
        operator_id="0x" + "ab" * 32,
    ),
    token_permit=None,
    call=Transaction("0x0DfbEe143b42B41eFC5A6F87bFD1fFC78c2f0aC9", "0xc219a14d", 0),
    amount=BaseUnits(12_625_000),
    due=BaseUnits(12_500_000),
    owed=BaseUnits(12_500_000),
    rate=None,
    created_at=NOW,
)
GASLESS = GaslessPayment(
    payment_id="01KJM9CZ2YGASLESS000000000",
    account_id=ACCOUNT,
    client_id=None,
    request_id="01" + "ab" * 32,
    network="base",
    currency="USDC-base",
    payee=PAYING,
    reference="0x86dfbccad783599a",
    owed=BaseUnits(12_500_000),
    amount=BaseUnits(12_500_000),
    fee=BaseUnits(125_000),
    fee_address=PROXY_TOKEN,
    network_fee=BaseUnits(10_000),
    gas_price=BaseUnits(12_500_000),
    authorization=Authorization(
        token=PROXY_TOKEN,
        name="USD Coin",
        token_version="2",
        chain_id=8453,
        payer=PAYING,
        to="0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A",
        value=12_635_000,
        valid_before=1_773_572_400,
        nonce="0x" + "ab" * 32,
    ),
    created_at=NOW,
)
DELEGATION = EnergyDelegation(
    wallet="TPL66VK2gCXNCD7EJg9pgJRfqcRazjhUZY",
    account_id=ACCOUNT,
    link_token=TOKEN,
    owner="TVj7RNVHy6thbM7BWdSe9G6gXwKhjhdNZS",
    energy=200_000,
    bandwidth=886,
    energy_stake=BaseUnits(20_000_000_000),
    bandwidth_stake=BaseUnits(591_000_000),
    created_at=NOW,
    until=NOW + HOUR,
    signed=("0a85", "0a86"),
    signed_until=1_773_572_400_000,
    check_at=NOW,
)
GASLESS_BATCH = GaslessBatch(
    batch_id="01KJM9CZ2YGASLESSBATCH0000",
    network="base",
    account_id=ACCOUNT,
    sender="0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A",
    payment_ids=(GASLESS.payment_id,),
    created_at=NOW,
    check_at=NOW,
)
ANNOUNCED = AnnouncedTransaction(
    link_token=TOKEN,
    account_id=ACCOUNT,
    announced_id="01KJM9CZ2YINTENT0000000000",
    network="sepolia",
    safe_tx_hash="0x" + HASH,
    wallet=None,
    nonce=None,
    deadline=None,
    payer_address=None,
    status=AnnouncedStatus.PENDING,
    created_at=NOW,
    ends_at=NOW + 24 * HOUR,
    check_at=NOW + timedelta(seconds=30),
    scanned_to=8_000_000,
)
ANNOUNCEMENTS = LinkAnnouncements(ANNOUNCED)
RETURNED_TRANSFER = BridgeTransfer(
    "arbitrum-one",
    NOW,
    8_000_000,
    Stage.RETURNED,
    Deposit(
        WALLET, WALLET, "USDC-base", BaseUnits(7), BaseUnits(6), "0x0123456789abcdef", BaseUnits(5), NOW, NOW + HOUR
    ),
    deposit_id=MAX_UINT256,
    relay_hash="0x" + OTHER_HASH,
    fill_key="0x" + HASH,
    deposited_block=8_000_100,
    deposited_at=NOW,
    refund_searched_to=8_000_200,
    destination_hash="0x" + HASH,
    payment_key=f"{HASH[:16]}-1",
    refund_hash="0x" + OTHER_HASH,
    returned=Returned(WALLET, "USDC-base", BaseUnits(7)),
    reason="nobody brought it",
    tool="across",
)
SIGNING = SigningClaim(
    link_token=TOKEN,
    account_id=ACCOUNT,
    claimant=HASH,
    calls="0x" + HASH,
    attempt=2,
    claimed_at=NOW,
    ends_at=NOW + timedelta(minutes=5),
    claimed_seconds=60,
)
QUOTE = Quote(
    REQUEST_ID, 3, Rate("USD", "USDC-base", BaseUnits(10**30 + 1), BaseUnits(10**30), "chainlink", NOW), NOW, NOW + HOUR
)
LOCKED_RATE = LockedRate(
    request_id=REQUEST_ID,
    intent_id="01KJM9CZ2YINTENT0000000000",
    rate=QUOTE.rate,
    amount=BaseUnits(12_500_000),
    source="base",
    payer=WALLET,
    ends_at=NOW + HOUR,
)
PAYMENT = Payment(
    request_id=REQUEST_ID,
    event_key=f"{HASH[:16]}-1",
    value=BaseUnits(MAX_UINT256),
    account_id=ACCOUNT,
    payee=WALLET,
    currency="fUSDC-sepolia",
    invoice_currency="fUSDC-sepolia",
    payment_reference="0x1234567890abcdef",
    network="sepolia",
    block_hash="0x" + HASH,
    log_index=17,
    block_number=8_000_123,
    tx_hash="0x" + OTHER_HASH,
    amount=BaseUnits(MAX_UINT256),
    fee_amount=BaseUnits(187_500),
    fee_address=WALLET.lower(),
    status=PaymentStatus.CONFIRMED,
    detected_at=NOW,
)
UNMATCHED = UnmatchedTransfer(
    request_id=REQUEST_ID,
    event_key=f"{HASH[:16]}-2",
    network="tron",
    block_hash="0x" + HASH,
    log_index=1_234_567,
    block_number=60_000_001,
    tx_hash=OTHER_HASH,
    token_address=None,
    payee="0x" + "11" * 20,
    amount=BaseUnits(1),
    reason="wrong_network",
    detected_at=NOW,
)
TRANSFER_ID = TransferId(8_000_123, "0x" + HASH, "0x" + OTHER_HASH, f"{HASH[:16]}-1")
LOGGED = LoggedTransfer(
    network="sepolia",
    block_number=8_000_123,
    block_hash="0x" + HASH,
    tx_hash="0x" + OTHER_HASH,
    event_key=f"{HASH[:16]}-1",
    log_index=17,
    reference_topic="0x" + HASH,
    payable_id=TOKEN,
    token_address=None,
    payee="0x" + "11" * 20,
    amount=BaseUnits(MAX_UINT256),
    fee_amount=BaseUnits(0),
    fee_address=WALLET.lower(),
    paid_at=NOW - HOUR,
    detected_at=NOW,
)
LOGGED_BLOCK = LoggedBlock("sepolia", 8_000_123, NOW)
UNRECORDED = UnrecordedTransfers(
    payable_id=TOKEN,
    network="sepolia",
    sequence=44,
    block_number=8_000_123,
    part=2,
    digest=HASH[:16],
    detected_at=NOW,
    added=(TRANSFER_ID,),
)
API_KEY = ApiKey(
    key_hash=HASH,
    key_id="01KJM9CZ2ZKEY0000000000000",
    account_id=ACCOUNT,
    label="server",
    prefix="sk_8sQv",
    status=CredentialStatus.ACTIVE,
    created_at=NOW,
)
CLIENT_ID = ClientId(
    client_id_hash=HASH,
    client_id=CLIENT,
    record_id="01KJM9CZ30CLIENT0000000000",
    account_id=ACCOUNT,
    label="shop",
    allowed_domains=("https://shop.example", "http://localhost:3000"),
    status=CredentialStatus.ACTIVE,
    created_at=NOW,
)
DELIVERY = Delivery(
    delivery_id="01KJM9CZ31DELIVERY00000000",
    webhook_id="01KJM9CZ32WEBHOOK000000000",
    account_id=ACCOUNT,
    client_id=CLIENT,
    kind="payment.confirmed",
    body='{"event":"payment.confirmed","note":"Ærø"}',
    is_test=False,
    attempt=0,
    state=DeliveryState.PENDING,
    due_at=NOW + timedelta(seconds=5),
    created_at=NOW,
)
EVENT = Event("01KJM9CZ33EVENT00000000000", "payment.confirmed", ACCOUNT, None, "{}", NOW, published=False)
ENDPOINT = Endpoint(
    webhook_id="01KJM9CZ32WEBHOOK000000000",
    account_id=ACCOUNT,
    client_id=CLIENT,
    url="https://shop.example/hook?a=Ærø",
    secret_ciphertext="AQICAHh=",
    is_active=True,
    created_at=NOW,
    created_with=Mode.API_KEY,
)
CIRCUIT = Circuit(
    webhook_id=ENDPOINT.webhook_id,
    account_id=ACCOUNT,
    client_id=CLIENT,
    state=CircuitState.CLOSED,
    failed_deliveries=(DELIVERY.delivery_id,),
    failing_since=NOW,
    failed_probes=0,
    closed_at=None,
    due_at=None,
    updated_at=NOW,
)
SESSION = Session(
    token_hash=HASH,
    session_id="01KJM9CZ34SESSION000000000",
    account_id=ACCOUNT,
    person_id=PERSON_ID,
    member_since=NOW,
    kind=SessionKind.WALLET,
    subject=WALLET,
    created_at=NOW,
    last_seen_at=NOW,
    expires_at=NOW + HOUR / 4,
    proved_at=NOW,
    proved_by=PresenceProof.WALLET,
    has_second_factor=True,
)
CHALLENGE = Challenge("01KJM9CZ35CHALLENGE0000000", "n0nce", WALLET, "evm", 1, "Sign\nin", NOW + HOUR / 12)
EMAIL = "ann@shop.example"
MAIL = Mail(
    mail_id="01KJM9CZ3AMAIL000000000000",
    kind=MailKind.CONFIRM,
    account_id=ACCOUNT,
    recipient="Ann@shop.example",
    locale="de",
    facts='{"brand": "Acme"}',
    created_at=NOW,
    due_at=NOW,
    expires_at=NOW + 24 * HOUR,
    sealed="AQICAHg=",
)
NONCE = SigningNonce("00" * 16, CLIENT, WALLET, WALLET, 11_155_111, Action.ADD, NOW + HOUR / 12)
DESTINATION = PayeeDestination(
    record_id="01KJM9CZ36DESTINATION00000",
    destination_id=f"{WALLET}@eip155:11155111#FFFFFFFF:{WALLET}",
    account_id=ACCOUNT,
    wallet_address=WALLET,
    token_address=WALLET,
    chain_id=11_155_111,
    is_active=True,
    created_at=NOW,
)
BRANDING = PageBranding(HASH, "01KJM9CZ30CLIENT0000000000", ACCOUNT, NOW)
LINKAGE = Linkage("01KJM9CZ37ORCHESTRATOR0000", CLIENT, HASH, LinkageStatus.ACTIVE, NOW)
IDEMPOTENT = IdempotentRequest(HASH, OTHER_HASH, NOW + HOUR / 60, NOW + 24 * HOUR, None, None, is_encrypted=False, started_at=NOW, nonce=HASH)

PAYER = Payer(
    user_id="a25a4274-8f50-4579-b476-8f35b297d4ad",
    account_id=ACCOUNT,
    client_id=CLIENT,
    created_at=NOW,
    kyc_status=KycStatus.RETRY_REQUIRED,
    agreement_status=AgreementStatus.COMPLETED,
    sealed="c2VhbGVk",
    sequence=7,
    is_submitted=True,
    bank_accounts=2,
    open_orders=1,
    check_at=NOW + HOUR,
    checks=3,
)
BANK_ACCOUNT = BankAccount(
    user_id=PAYER.user_id,
    details_id="fa898aec-519c-46be-9b4c-e76ef4ff99d9",
    account_id=ACCOUNT,
    created_at=NOW,
    status=AccountStatus.PENDING,
    sealed="c2VhbGVk",
    fingerprint=HASH,
    check_at=NOW + HOUR,
)
CALL = RelayedCall("recurring/01KJM9CZ34/2/1", "base", WALLET, 12, NOW)
RELAYED = RelayedTransaction(
    "base", WALLET, 12, CALL.call_key, WALLET, "0xac7a9e00", BaseUnits(0), 180_000, BaseUnits(2 * 10**9), BaseUnits(10**8), NOW
)
TAKING = Taking(WALLET, WALLET, WALLET, BaseUnits(10**34))
MOVE = Move("permit/01KJM9CZ34", WALLET, BaseUnits(10**34), inward=False)
HOLDING = Holding("base", WALLET, MOVE.token.lower(), MOVE.owner, NOW, BaseUnits(10**34))
OPERATION = PendingOperation(
    number=2,
    kind=OperationKind.CAPTURE,
    amount=BaseUnits(60),
    submitted_at=NOW,
    fee_bps=250,
    fee_receiver=WALLET,
    payer=WALLET,
    collector=Collector.PERMIT2,
    signature="0xab",
    reason="sold out",
    step="captured",
    call_keys=("commerce-2",),
    transaction_hash="0x" + HASH,
)
COMMERCE = CommercePayment(
    payable_id=TOKEN,
    request_id=REQUEST_ID,
    account_id=ACCOUNT,
    client_id=None,
    merchant_id="shop",
    network="base",
    currency="USDC-base",
    escrow=WALLET,
    operator=WALLET,
    is_service_operator=True,
    receiver=WALLET,
    buyer=None,
    amount=BaseUnits(100),
    max_amount=BaseUnits(2**120 - 1),
    pre_approval_expiry=NOW + HOUR,
    authorization_expiry=NOW + 2 * HOUR,
    refund_expiry=NOW + 3 * HOUR,
    min_fee_bps=0,
    max_fee_bps=10_000,
    fee_receiver=None,
    salt=HASH,
    created_at=NOW,
    changed_at=NOW,
)
ESCROWED = EscrowEntry(
    request_id=REQUEST_ID,
    block_number=8_000_123,
    block_hash="0x" + HASH,
    tx_hash="0x" + HASH,
    event_key="ab-0",
    log_index=3,
    kind=EscrowEventKind.CAPTURED,
    amount=BaseUnits(60),
    at=NOW,
    fee_bps=250,
    fee_receiver=WALLET,
    payer=WALLET,
    operation=OPERATION,
)
OFFRAMP = Order(
    request_id=REQUEST_ID,
    account_id=ACCOUNT,
    user_id=PAYER.user_id,
    details_id=BANK_ACCOUNT.details_id,
    provider_id="ord_1",
    fee="0.5",
    created_at=NOW,
    changed_at=NOW,
)
PAYOUT = RecurringPayment(
    recurring_id="01JXYJKCAHGFTDR15F2D072ESG",
    template=replace(REQUEST, payer=WALLET, recurring_payment_id="01JXYJKCAHGFTDR15F2D072ESG"),
    permit=SchedulePermit(
        subscriber=WALLET,
        token=WALLET,
        recipient=WALLET,
        fee_address=WALLET,
        amount=10**34,
        fee_amount=1,
        relayer_fee=0,
        period_seconds=2_419_200,
        first_payment=1_900_000_000,
        total_payments=255,
        nonce=2**120 - 1,
        deadline=4_000_000_000,
        strict_order=False,
    ),
    start=NOW,
    frequency=Frequency.MONTHLY,
    created_at=NOW,
)
RECORDS: dict[str, Record] = {
    "off-ramp order": OFFRAMP,
    "off-ramp order, bounced": replace(
        OFFRAMP,
        status=OrderStatus.BOUNCED,
        provider_status="bounced",
        sequence=6,
        reason="account_closed",
        paid_at=NOW,
        announced=5,
        aside=OrderStatus.BOUNCED,
        is_counted=True,
        check_at=NOW + 24 * HOUR,
        checks=2,
        version=7,
    ),
    "recurring payout, not signed": PAYOUT,
    "recurring payout, at work": replace(
        PAYOUT,
        status=RecurringStatus.ACTIVE,
        signature="0x" + "12" * 65,
        processed=4,
        failures=2,
        failure_reason="Insufficient token balance",
        last_payment_at=NOW,
        original_request_id="01" + "ab" * 32,
        original_payment_reference="0xb3581f0b0f74cc61",
        request_id="01" + "cd" * 32,
        attempt=3,
        sent_at=NOW,
        check_at=NOW + HOUR,
        version=9,
    ),
    "period, not paid": Period(PAYOUT.recurring_id, 1, "01" + "ab" * 32, "0xb3581f0b0f74cc61"),
    "period, paid": Period(
        PAYOUT.recurring_id, 2, "01" + "cd" * 32, "0x86dfbccad783599a", "01K", BaseUnits(10**34), NOW, HASH, version=1
    ),
    "commitment": Commitment("fUSDC-sepolia", WALLET.lower(), Counts({"committed": 10**37})),
    "payer": PAYER,
    "payer, erased": replace(PAYER, sealed=None, check_at=None, erased_at=NOW + HOUR, is_forgotten=True, version=9),
    "bank account": BANK_ACCOUNT,
    "bank account, erased": replace(
        BANK_ACCOUNT,
        status=AccountStatus.FAILED,
        sealed=None,
        fingerprint=None,
        sequence=2,
        is_submitted=True,
        check_at=None,
        checks=1,
    ),
    "name of a payer": PayerName(HASH, ACCOUNT, PAYER.user_id),
    "data key of a person": PersonKey(PAYER.user_id, "d3JhcHBlZA==", NOW),
    "link, pending": LINK,
    "link, expired": replace(LINK, status=LinkStatus.EXPIRED, version=2),
    "link, completed": replace(LINK, status=LinkStatus.COMPLETED, completed_at=NOW + HOUR, version=3),
    "link, a payout in a batch": replace(
        LINK,
        payment_type=PaymentType.BATCH,
        flow=Flow.PAY,
        creator_wallet=WALLET,
        recipient_identifier="employee 4",
        parent_token=OTHER_TOKEN,
    ),
    "link, merged into a batch": replace(LINK, status=LinkStatus.INVALIDATED, successor_token=OTHER_TOKEN, version=1),
    "multicall, assembling": replace(MULTICALL, status=LinkStatus.ASSEMBLING),
    "multicall, pending": replace(MULTICALL, version=1),
    "request": REQUEST,
    "request, paid": replace(
        REQUEST,
        position=999,
        amount=BaseUnits(MAX_UINT256),
        paid=BaseUnits(MAX_UINT256),
        status=RequestStatus.PAID,
        tx_hash="0x" + HASH,
        reference="its own",
        version=4,
    ),
    "request, with totals": replace(
        REQUEST,
        payment_count=100,
        confirmed_count=98,
        counted_as=RequestStatus.PARTIALLY_PAID,
        dust_count=4_900,
        dust_amount=BaseUnits(MAX_UINT256),
        unknown_token_count=20,
        other_payee_count=30,
        right_payee_count=50,
    ),
    "request, by itself": replace(
        REQUEST,
        payable_id=REQUEST_ID,
        position=0,
        account_id=ACCOUNT,
        client_id=CLIENT,
        created_at=NOW,
        invoice_currency="USD",
        customer_info=CustomerInfo("Ada", None, "ada@example.com", CustomerAddress(city="London", country="GB")),
        recurrence=Recurrence("2030-01-01", Frequency.MONTHLY, True, 3, NOW),
        listening_since=NOW,
    ),
    "quote": QUOTE,
    "held rate": LOCKED_RATE,
    "held rate of a recorded payment": replace(
        LOCKED_RATE, fill_key="0x" + HASH, tx_hash="0x" + OTHER_HASH, event_key=f"{HASH[:16]}-1"
    ),
    "reference": Reference("0x" + HASH, TOKEN, 3),
    "refund, offered": REFUND,
    "refund, sent": replace(
        REFUND, sent=BaseUnits(7), sent_count=2, tx_hash="0x" + HASH, block_number=8_000_123, announced_count=1, version=2
    ),
    "request pointer": RequestPointer(REQUEST_ID, TOKEN, 3),
    "signing claim": SIGNING,
    "announced transaction, pending": ANNOUNCEMENTS,
    "announced transaction, of a known Safe": LinkAnnouncements(
        replace(ANNOUNCED, wallet=WALLET, nonce=0, deadline=NOW + HOUR, payer_address=WALLET, span=100, is_public=True),
        public_claims=2,
    ),
    "announced transaction, settled": LinkAnnouncements(
        replace(ANNOUNCED, status=AnnouncedStatus.SETTLED, executed_block=8_000_100, transaction_hash="0x" + HASH), version=7
    ),
    "announced transaction, of a payment from another chain": LinkAnnouncements(
        replace(ANNOUNCED, network="base", transaction_hash="0x" + HASH, bridge_transfer=RETURNED_TRANSFER),
        failures_notified=1,
    ),
    "payment, from another chain": replace(
        PAYMENT, type=PaymentKind.CROSSCHAIN, origin=Origin("base", "0x" + HASH, WALLET)
    ),
    "refund that was sent": SentRefund(
        **{each.name: getattr(PAYMENT, each.name) for each in fields(PAYMENT) if each.name != "direction"},
        direction=Direction.OUT,
    ),
    "payment": PAYMENT,
    "payment, with an event key, not announced": replace(PAYMENT, event_key=f"{HASH[:16]}-1", is_announced=False),
    "payment, converted": replace(
        PAYMENT,
        payer=WALLET,
        type=PaymentKind.CONVERSION,
        rate=QUOTE.rate,
        value=BaseUnits(1_250_000_000),
        account_id=ACCOUNT,
        payee=WALLET,
        currency="fUSDC-sepolia",
        invoice_currency="USD",
        payment_reference="0x0123456789abcdef",
    ),
    "payment, with the rate of dollars": replace(
        PAYMENT,
        dollar_rate=Rate("USD", "fUSDC-sepolia", BaseUnits(10**30 + 1), BaseUnits(10**30), RateSource.CHAINLINK, NOW),
    ),
    "payment, reversed": replace(PAYMENT, status=PaymentStatus.REVERSED, paid_at=NOW - HOUR, version=1),
    "unmatched transfer, of the coin": UNMATCHED,
    "unmatched transfer, of a token, reversed": replace(
        UNMATCHED, token_address=WALLET.lower(), status=PaymentStatus.REVERSED, paid_at=NOW, version=1
    ),
    "block with logged transfers": LOGGED_BLOCK,
    "logged transfer": LOGGED,
    "logged transfer, recorded": replace(LOGGED, token_address=WALLET.lower(), state=TransferState.PAYMENT, version=1),
    "logged transfer, from another chain": replace(LOGGED, payer=WALLET, bridged_from="base", fill_key="0x" + HASH),
    "logged transfer, converted": replace(
        LOGGED,
        payer=WALLET,
        conversion=LoggedConversion("0x" + "22" * 20, BaseUnits(MAX_UINT256), BaseUnits(0), 300),
        path_amount=BaseUnits(MAX_UINT256),
    ),
    "logged transfer, summed": replace(LOGGED, state=TransferState.DUST, value=BaseUnits(0), version=1),
    "unrecorded transfers": UNRECORDED,
    "unrecorded transfers, after a fork": replace(UNRECORDED, added=(), removed=(TRANSFER_ID, TRANSFER_ID), version=1),
    "archive pass": ArchivePass(NOW, "REQUEST#01", "REQUEST", version=2),
    "scan lease": ScanLease("sepolia", NOW, version=7),
    "request, with an address for plain transfers": replace(REQUEST, plain_transfer=PLAIN_TRANSFER),
    "watched address": WatchedAddress("sepolia", WALLET.lower(), "0x" + HASH, WALLET.lower(), WALLET.lower(), NOW),
    "first request": FirstRequest("base", NOW),
    "cursor, of compared nodes": Cursor("base", 8_000_000, (), 2000, nodes=NodeCheck(2, 1, agree=False)),
    "cursor, with targets": Cursor("base", 8_000_000, (), 2000, next_targets=(NextTarget(0, 8_000_000, NOW),)),
    "cursor, with silent nodes": Cursor(
        "base", 8_000_000, (), 2000, silent=(SilentNode("node", 8_000_000, NOW),), alone=BlockRange(1, 2), deferred_from=""
    ),
    "deferred transaction": DeferredTransaction("base", 8_000_000, "0x01", NOW),
    "cursor, new": Cursor("sepolia", 8_000_000, (), 2000),
    "cursor, with times": Cursor(
        "sepolia", 8_000_000, (), 2000, read_until=NOW, read_at=NOW, verifications=(Verification(1, 2, NOW),), version=3
    ),
    "cursor, with unfinished blocks": Cursor("sepolia", 8_000_000, (), 2000, unfinished=BlockRange(8_000_001, 8_000_005)),
    "cursor": Cursor("tron", 60_000_000, (Checkpoint(1, "0x01"), Checkpoint(2, "0x02")), 1, version=44),
    "account": Account(ACCOUNT, "the shop", NOW),
    "person, by wallet": Person(PERSON_ID, (WALLET,), ACCOUNT, NOW),
    "person, joined": Person(PERSON_ID, ("merchant@example.com", f"{WALLET}@eip155:1"), ACCOUNT, NOW, "hash", 3, version=3),
    "identity, of a wallet": Identity(WALLET, PERSON_ID, NOW, NOW),
    "identity, of an e-mail address": Identity("merchant@example.com", PERSON_ID, NOW, version=1),
    "membership": Membership(ACCOUNT, PERSON_ID, Role.FINANCE, NOW),
    "membership pointer": MembershipPointer(ACCOUNT, PERSON_ID, NOW),
    "passkey": Passkey(PERSON_ID, HASH, "aWQ", "a2V5", 7, False, "phone", NOW),
    "passkey, synced, used": Passkey(PERSON_ID, HASH, "aWQ", "a2V5", 0, True, "laptop", NOW, NOW + HOUR, version=2),
    "passkey challenge": PasskeyChallenge(HASH, Purpose.SIGN_IN, None, NOW + HOUR / 12),
    "invitation": Invitation(ACCOUNT, "01KJM9CZ02INVITATION000000", HASH, WALLET, Role.ADMIN, PERSON_ID, NOW, NOW + HOUR),
    "pending change": PendingChange(
        account_id=ACCOUNT,
        change_id="01KJM9CZ03CHANGE0000000000",
        operation="create_webhook",
        path="{}",
        query="{}",
        body='{"url": "https://shop.example/hook"}' * 40,
        effects='[{"after": {"url": "https://shop.example/hook"}, "before": null, "resource": "webhook"}]',
        scope="webhooks:write",
        asker=Asker(Mode.API_KEY, "apikey:KEY", "203.0.113.7", "01KJM9CZ04REQUEST000000000", key_id="KEY"),
        asked_at=NOW,
        expires_at=NOW + 168 * HOUR,
        notice_id="01KJM9CZ05NOTICE0000000000",
        takes_effect_at=NOW + 24 * HOUR,
    ),
    "open changes": OpenChanges(ACCOUNT, "apikey:KEY", ("01KJM9CZ03CHANGE0000000000",)),
    "page domain": PageDomain(
        client_id_hash=HASH,
        record_id="01KJM9CZ2YCLIENT0000000000",
        account_id=ACCOUNT,
        domain="shop.example",
        proof="payment-requests=2a2a",
        set_at=NOW,
        checked_at=NOW,
        problem="There is no TXT record",
    ),
    "API key": API_KEY,
    "API key, limited": replace(
        API_KEY,
        status=CredentialStatus.REVOKED,
        scopes=("secure_payments:read", "audit:read"),
        allowed_ips=("203.0.113.0/24",),
        expires_at=NOW + HOUR,
        tier=Tier.PREMIUM,
        version=5,
    ),
    "client id": CLIENT_ID,
    "API key, whose payers sign": replace(API_KEY, uses_payment_intents=True),
    "client id, whose payers sign": replace(CLIENT_ID, uses_payment_intents=True),
    "client id, which has transactions sent": replace(CLIENT_ID, may_execute=True),
    "what the calls for an account may cost": AccountUse("sepolia", ACCOUNT, "2026-11-20", BaseUnits(10**18)),
    "reverts of an account": Reverts("base", ACCOUNT, 4, NOW, version=3),
    "reverts of a payer": Reverts("base", f"payer/{WALLET.lower()}", 1, NOW, None, CALL.call_key, NOW + HOUR, version=2),
    "payment intent": PAYMENT_INTENT,
    "gasless payment": GASLESS,
    "gasless payment, signed": replace(
        GASLESS, stage=GaslessStage.SIGNED, signature="0x" + "11" * 65, accepted_at=NOW, check_at=NOW
    ),
    "gasless batch": GASLESS_BATCH,
    "gasless payment of a wallet": LastSigned("base", GASLESS.payer.lower(), GASLESS.payment_id, NOW),
    "energy of a wallet": DELEGATION,
    "energy of a wallet, taken back": replace(
        DELEGATION, stage=EnergyStage.ENDED, unpaid=True, taking_since=NOW, ended_at=NOW, signed=(), check_at=None
    ),
    "energy of a day": EnergyUse(ACCOUNT, "2026-11-20", 200_000),
    "payment intent, of a converted amount": replace(
        PAYMENT_INTENT,
        rate=Rate("USD", "USDC-arbitrum-one", BaseUnits(10**30 + 1), BaseUnits(10**30), RateSource.CHAINLINK, NOW),
    ),
    "payment intent, with a token's permit": replace(
        PAYMENT_INTENT,
        token_permit=TokenPermit(PROXY_TOKEN, "USD Coin", "2", 8453, PAYING, PERMIT2_ADDRESS, 1, 1_800_000_000),
    ),
    "payment intent, in the bridge": replace(
        PAYMENT_INTENT,
        stage=PermitStage.BRIDGED,
        signature="0x" + "11" * 65,
        approval_signature="0x" + "12" * 65,
        accepted_at=NOW,
        taking=BaseUnits(12_655_100),
        searched_to=120,
        taken_at=NOW,
        approvals=2,
        spends=2,
        announced=ANNOUNCED,
        check_at=NOW,
        version=6,
    ),
    "payment intent, returned": replace(
        PAYMENT_INTENT,
        stage=PermitStage.ENDED,
        end=End.REFUNDED,
        signature="0x" + "11" * 65,
        accepted_at=NOW,
        taking=BaseUnits(12_655_100),
        taken_at=NOW,
        returned_by="0x" + HASH,
        reason="no route",
        ended_at=NOW,
        version=7,
    ),
    "client id, linked": replace(
        CLIENT_ID,
        allowed_domains=(),
        updated_at=NOW,
        fee_percentage="2",
        fee_address=WALLET,
        operator_wallet_address=WALLET,
        default_pre_approval_expiry=3600,
        default_authorization_expiry=7200,
        payee_destination_id="01KJM9CZ36DESTINATION00000",
        admits_orchestrator="01KJM9CZ37ORCHESTRATOR0000",
        orchestrator_id="01KJM9CZ37ORCHESTRATOR0000",
        was_linked=True,
        tier=Tier.HIGH_VOLUME,
        version=2,
    ),
    "orchestrator key": OrchestratorKey(
        HASH, "01KJM9CZ38KEY0000000000000", "01KJM9CZ37ORCHESTRATOR0000", ACCOUNT, "ok_1", CredentialStatus.ACTIVE, NOW
    ),
    "credential pointer, of an API key": CredentialPointer(ACCOUNT, "API_KEY", "01KJM9CZ2ZKEY0000000000000", HASH),
    "credential pointer, of a client id": CredentialPointer(ACCOUNT, "CLIENT_ID", "01KJM9CZ30CLIENT0000000000", HASH),
    "last use": LastUse("01KJM9CZ2ZKEY0000000000000", NOW),
    "branding, empty": BRANDING,
    "branding": replace(
        BRANDING,
        logo="iVBORw0KGgo=",
        colours=Colours("#ffffff", "#eeeeee", "#112233", "#000000", "#444444"),
        terms_url="https://shop.example/terms",
        privacy_url="https://shop.example/privacy",
        display_request_branding=False,
        version=1,
    ),
    "orchestrator": Orchestrator("01KJM9CZ37ORCHESTRATOR0000", ACCOUNT, "platform", "ops@example.com", NOW),
    "linkage": LINKAGE,
    "linkage, revoked, of a long client id": replace(
        LINKAGE, client_id=LONG, status=LinkageStatus.REVOKED, revoked_at=NOW + HOUR, version=1
    ),
    "destination": DESTINATION,
    "destination, inactive, of a client id": replace(
        DESTINATION, is_active=False, client_id=CLIENT, access_mode="off", version=1
    ),
    "active destination": ActiveDestination(WALLET, ACCOUNT, "01KJM9CZ36DESTINATION00000"),
    "active destination, of a contract wallet": ActiveDestination(f"{WALLET}@eip155:1", ACCOUNT, "01KJM"),
    "audit entry": AuditEntry(
        ACCOUNT, "01KJM9CZ39ENTRY00000000000", NOW, "session:1", "webhook.created", "w1", "::1", "r1"
    ),
    "audit entry, whose owners were told": AuditEntry(
        ACCOUNT, "01KJM9CZ39ENTRY00000000002", NOW, "session:1", "webhook.created", "w1", "::1", "r1", is_notified=True
    ),
    "audit entry, for addresses from before": AuditEntry(
        ACCOUNT, "01KJM9CZ39ENTRY00000000003", NOW, f"person:{PERSON_ID}", "identity.removed", "ab" * 32, "::1", "r1",
        mailed_to=(EMAIL,),
    ),
    "audit entry, of a person": AuditEntry(
        ACCOUNT, "01KJM9CZ39ENTRY00000000001", NOW, f"person:{PERSON_ID}", "webhook.created", "w1", "::1", "r1", "01KJM9"
    ),
    "session": SESSION,
    "session, of a contract wallet": replace(SESSION, chain_id=8453, version=3),
    "session pointer": SessionPointer(PERSON_ID, "01KJM9CZ34SESSION000000000", HASH, NOW + HOUR),
    "session pointer, long": SessionPointer(PERSON_ID, LONG, HASH, NOW + HOUR),
    "challenge": CHALLENGE,
    "challenge, to add a wallet": replace(CHALLENGE, purpose=Purpose.ADD, session_id="01KJM9CZ34SESSION000000000"),
    "challenge, long": replace(CHALLENGE, challenge_id=LONG, address=TRON_WALLET, family="tron"),
    "link in an e-mail, to register": EmailToken(
        HASH, LinkPurpose.REGISTER, EMAIL, NOW + 24 * HOUR, account_id=ACCOUNT, password_hash="$argon2id$v=19$x", locale="de"
    ),
    "link in an e-mail, to confirm": EmailToken(
        HASH, LinkPurpose.CONFIRM, EMAIL, NOW + 24 * HOUR, person_id=PERSON_ID, sessions_since=7
    ),
    "link in an e-mail, to set a password": EmailToken(
        HASH, LinkPurpose.RESET, EMAIL, NOW + HOUR / 2, person_id=PERSON_ID, password_mark="ab" * 8
    ),
    "mail": MAIL,
    "mail, that is being sent": replace(
        MAIL, attempt=2, due_at=NOW + HOUR / 60, leased_until=NOW + HOUR / 60, version=2
    ),
    "mail, that came back": replace(
        MAIL, sealed=None, state=MailState.BOUNCED, message_id="0100018f", error="no such user", version=4
    ),
    "mailbox": Mailbox(HASH, "de"),
    "mailbox, that takes no mail": Mailbox(HASH, stopped_at=NOW, stopped_by="complaint", version=1),
    "choices of e-mails": Choices(ACCOUNT, payments=True, attention=True),
    "nonce": NONCE,
    "nonce, long": replace(NONCE, nonce=LONG, action=Action.DEACTIVATE),
    "ban": Ban("ab" * 16, NOW + HOUR / 12),
    "ban, again": Ban("ab" * 16, NOW + HOUR, version=1),
    "idempotent request, running": IDEMPOTENT,
    "idempotent request, with a transaction": replace(
        IDEMPOTENT, started_at=NOW, nonce="0f" * 16, steps=("conflict", "1f" * 8), version=2
    ),
    "idempotent request, answered": replace(IDEMPOTENT, status=201, answer='["{}", {}]', is_encrypted=True, version=1),
    "webhook, of a client id": ENDPOINT,
    "webhook, of an account": replace(ENDPOINT, client_id=None, is_active=False, version=1),
    "webhook URL, of a client id": EndpointUrl(ACCOUNT, CLIENT, ENDPOINT.url, ENDPOINT.webhook_id),
    "webhook URL, of an account": EndpointUrl(ACCOUNT, None, ENDPOINT.url, ENDPOINT.webhook_id),
    "event, in the outbox": EVENT,
    "event, with a body that is shorter when it is compressed": replace(EVENT, body=f'{{"note":"{"Ærø" * 99}"}}'),
    "event, with variants": replace(EVENT, variants=(EventVariant("payment.confirmed.checkout", "{}"),)),
    "event, announced": replace(EVENT, client_id=CLIENT, published=True, version=1),
    "delivery, pending": DELIVERY,
    "delivery, leased": replace(DELIVERY, state=DeliveryState.SENDING, leased_until=NOW, body="Ærø" * 99),
    "delivery, being sent": replace(DELIVERY, state=DeliveryState.SENDING, version=1),
    "delivery, delivered": replace(DELIVERY, state=DeliveryState.DELIVERED, attempt=2, version=6),
    "delivery, with attempts": replace(
        DELIVERY,
        state=DeliveryState.WAITING,
        attempt=1,
        trying_since=NOW,
        attempts=(Attempt(NOW, 500, None, "oh\nno", 12), Attempt(NOW + HOUR, None, "no answer in time", "", 5000)),
        version=4,
    ),
    "delivery in a list": ListEntry(DELIVERY.webhook_id, Listing.FAILED, DELIVERY.delivery_id, NOW),
    "event, queued by a sweep": replace(EVENT, queued_at=NOW + HOUR, version=1),
    "registrations": Registrations(CLIENT, version=3),
    "additions of credentials": CredentialAdditions(ACCOUNT, "API_KEY", version=3),
    "circuit, with a failure": CIRCUIT,
    "circuit, open": replace(
        CIRCUIT, state=CircuitState.OPEN, failed_probes=3, due_at=NOW + HOUR, client_id=None, version=9
    ),
    "circuit, draining": replace(CIRCUIT, failed_deliveries=(), failing_since=None, closed_at=NOW, due_at=NOW, version=10),
    "reference of a payer": Reference(HASH, TOKEN, 0, payer=WALLET, expires_at=NOW),
    "commerce payment": COMMERCE,
    "commerce payment, captured": replace(
        COMMERCE,
        buyer=WALLET,
        fee_receiver=WALLET,
        payer=WALLET,
        payment_hash="0x" + HASH,
        pre_approved_by=(WALLET,),
        authorized=BaseUnits(100),
        captured=BaseUnits(60),
        fees=BaseUnits(1),
        voided=BaseUnits(30),
        reclaimed=BaseUnits(10),
        refunded=BaseUnits(5),
        pending=OPERATION,
        operations=2,
        failure="It reverted",
        is_end_notified=True,
        check_at=NOW,
        version=7,
    ),
    "entry of the escrow": ESCROWED,
    "logged transfer, of the escrow": replace(
        LOGGED,
        escrow=LoggedEscrow(EscrowEventKind.CHARGED, "0x" + HASH, BaseUnits(2**120 - 1), WALLET, 250, WALLET),
        state=TransferState.ESCROW,
    ),
    "entry of the escrow, voided": replace(ESCROWED, operation=None, state=EntryState.VOIDED, version=2),
    "reference of a refund": Reference(HASH, TOKEN, 3, is_refund=True),
    "link, whose expiry is checked again": replace(LINK, expiry_check_at=NOW + HOUR, version=2),
    "announced transaction, of an account": LinkAnnouncements(replace(ANNOUNCED, account_id=ACCOUNT)),
    "webhook, with chosen events": replace(ENDPOINT, events=("payment.confirmed", "payment.partial.*")),
    "webhook, in the list of its account": ClientEndpoint(ACCOUNT, ENDPOINT.webhook_id, CLIENT),
    "request, with its credential": replace(REQUEST, created_with=Mode.CLIENT_ID),
    "client id, limited": replace(CLIENT_ID, allowed_payees=(WALLET, TRON_WALLET), allowed_currencies=()),
    "announced transaction, of a transaction that was sent, with another": LinkAnnouncements(
        replace(ANNOUNCED, safe_tx_hash=None, transaction_hash="0x" + HASH, missing_since=NOW, locks=False),
        (replace(ANNOUNCED, proof=Proof.PROPOSED),),
    ),
    "daily count": DailyCount(ACCOUNT, "ACCOUNT", "2026-03-01", "", 3, Counts({"USDC-base|USD|conversion|": 2})),
    "delivery, given up": replace(DELIVERY, client_id=None, is_test=True, state=DeliveryState.FAILED, version=8),
    "call, accepted": CALL,
    "call, reverted": replace(
        CALL,
        status=CallStatus.REVERTED,
        tx_hash="0x" + HASH,
        block_number=27_000_000,
        cost=BaseUnits(150_000 * 10**9),
        reason="ERC20: insufficient allowance",
        version=1,
    ),
    "transaction, not signed": RELAYED,
    "transaction, replaced": replace(RELAYED, hashes=("0x" + HASH, "0x" + HASH[::-1]), raw="0x02f8", signed_at=NOW, version=3),
    "transaction, superseded": replace(RELAYED, hashes=("0x" + HASH,), signed_at=NOW, nonce_used_since=NOW, closed_at=NOW + HOUR, version=4),
    "account of the relayer": RelayerAccount("base", WALLET, 13, "2026-03-01", BaseUnits(10**17), version=12),
    "answer of the router": KeptAnswer(HASH, '{"tool": "across"}', NOW, NOW + HOUR),
    "circuit of the router": RouterCircuit(5, 1, NOW + HOUR, NOW, version=5),
    "circuit of the router, closed": RouterCircuit(1, 0, None, NOW),
    "progress of the relayer": RelayerProgress("base", WALLET, 12, NOW, version=40),
    "accounts of the relayer": Senders((Sender("base", WALLET), Sender("sepolia", WALLET))),
    "funds under way": replace(TAKING.counter("base"), amounts=Counts({"under way": 10**34})),
    "tokens held for a payment intent": HOLDING,
    "tokens held for a payment intent, spent": replace(HOLDING, spent=BaseUnits(10**34), version=2),
    "tokens held for all": HoldingsTotal("base", WALLET, HOLDING.token, Counts({"held": 10**34})),
    "transaction of the relayer that spends what is held": replace(RELAYED, nonce=14, moves=MOVE, is_counted=True),
    "transaction of the relayer, unknown": replace(RELAYED, nonce=15, nonce_used_since=NOW, nonce_used_at=27_000_000),
    "progress of the relayer, searching": RelayerProgress("base", WALLET, 12, NOW, 27_000_000, 27_000_010, version=41),
    "transaction of the relayer, of several payers": replace(RELAYED, nonce=16, payers=("payer/0x01", "payer/0x02")),
    "transaction of the relayer that takes funds": replace(RELAYED, nonce=13, takes=TAKING, call_version=3),
    "stop": Stop(NOW, "a drill"),
    "keys of signatures": SignatureKeys((SignatureKey(HASH[:43], HASH[:43], HASH, NOW),)),
    "request, to a name": replace(REQUEST, payee_name=PAYEE_NAME),
    "names of a call": ResolvedNames(HASH[:32], NOW, (Resolution("sepolia", WALLET, PAYEE_NAME),)),
    "clock of a sandbox": Sandbox(86_400, version=2),
    "operations on a sandbox": OperationCount("2026-03-01", NOW),
    "virtual chain": VirtualChain("base", 1_012, (BlockTime(0, NOW), BlockTime(1_001, NOW)), (Fork(1_003, 1),), 1, version=3),
    "virtual block": VirtualBlock("base", 1_001, "0x" + HASH, WALLET, WALLET, (VirtualLog(WALLET, ("0x" + HASH,), "0x01"),)),
    "virtual transaction": VirtualTransaction("base", "0x" + HASH, 1_001),
    "virtual transaction, removed": VirtualTransaction("base", "0x" + HASH[::-1], None, version=1),
}
