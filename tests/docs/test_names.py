"""Settings, operations, events and errors: what the code has is in the documents, and they name nothing else."""

import ast
import importlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import app
from chalicelib.base.errors import ServiceError
from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.offramp.core.rules import OrderReport, after_report
from chalicelib.offramp.payers import bank_accounts, reports
from chalicelib.offramp.payers import flows as payers
from chalicelib.payments.links import flows as links
from chalicelib.payments.links.multicalls.children import Reason, recovery_action
from chalicelib.payments.links.records import Link, Payable
from chalicelib.payments.rates.records import Rate
from chalicelib.payments.recording.causes.offramps import follow_order
from chalicelib.payments.recording.events import payment_event, refunded_event, removed_event
from chalicelib.payments.recording.matching import MAX_PAYMENTS, MAX_SMALL_PAYMENTS, SMALL_PART
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus, Refund
from chalicelib.payments.requests.records import CustomerInfo, Request, RequestStatus
from chalicelib.payments.transfers.rules import Classification, RecoveryAction
from chalicelib.platform.access.audit.records import AUDIT_RETENTION
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.idempotency.rules import MAX_KEY_LENGTH, RETENTION
from chalicelib.platform.access.modes import Mode, Tier
from chalicelib.platform.access.rate_limits.rules import (
    FAILURES,
    FAILURES_PER_DAY,
    REQUESTS_PER_SECOND,
    SIGN_INS_PER_MINUTE,
    UNKNOWN_TOKENS_PER_MINUTE,
)
from chalicelib.platform.http.documents import OPENAPI
from chalicelib.platform.http.documents import document as written
from chalicelib.platform.http.parsing import _SENTENCES, MAX_BODY_BYTES
from chalicelib.platform.outbound.compliance import ProviderAccount, ProviderUser
from chalicelib.platform.settings import Settings
from chalicelib.recurring.periods import paused_event, recurring_event
from chalicelib.webhooks.circuits.records import CircuitState
from chalicelib.webhooks.circuits.rules import failing_event, new_circuit
from chalicelib.webhooks.deliveries.rules import RETRY_DELAYS
from chalicelib.webhooks.endpoints import flows as endpoints
from chalicelib.webhooks.endpoints.records import Choices
from chalicelib.webhooks.endpoints.rules import CHOICES, MAX_ENDPOINTS
from chalicelib.webhooks.flows import event_context
from chalicelib.webhooks.kinds import KINDS, with_sequence
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import EventContext
from chalicelib.webhooks.samples import sample_event
from infra.documents.events import document as tables_of_events
from tests.docs.documents import ALL, DOCS, IDS, ROOT, Document, named
from tests.fakes.compliance import BANK, PERSON
from tests.fakes.offramps import load_order, store_order
from tests.fakes.recurring import store_recurring
from tests.fakes.world import PAYEE, START, World, draft
from tests.support.sources import nodes_of, reads_code

API, WEBHOOKS, LINKS = DOCS["api"], DOCS["webhooks"], DOCS["links"]
OTHER_VARIABLES = {"PYDANTIC_DISABLE_PLUGINS", "ESCROW_RUNTIME", "API_KEY", "CLIENT_ID", "ORCHESTRATOR_KEY", "SIGNATURE_KEYS"}
"""A variable that another package reads, and words of the keys of records."""
WAYS = {
    "anyone": [{}],
    "orchestrator pair": [{"orchestratorKey": [], "clientId": []}],
    "orchestrator key": [{"orchestratorKey": []}],
    "API key": [{"apiKey": []}],
    "client id": [{"clientId": []}],
    "session": [{"sessionCookie": []}, {"sessionToken": []}],
}


def operations() -> dict[tuple[str, str], Any]:
    paths = json.loads(written(OPENAPI, "http://api.test"))["paths"]
    return {(method.upper(), path): facts for path, methods in paths.items() for method, facts in methods.items()}


def errors(base: type[ServiceError] = ServiceError) -> Iterator[type[ServiceError]]:
    yield base
    for each in base.__subclasses__():
        yield from errors(each)


def code_texts() -> set[str]:
    """Every text that the product writes into a field `code` of an error."""
    found = set(_SENTENCES)
    for path in (ROOT / "chalicelib").rglob("*.py"):
        for node in nodes_of(path):
            match node:
                case ast.keyword(arg="code", value=ast.Constant(value=str(text))):
                    found.add(text)
                case ast.AnnAssign(target=ast.Name("code"), value=ast.Constant(value=str(text))):
                    found.add(text)
                case ast.Assign(targets=[ast.Name("code")], value=ast.Constant(value=str(text))):
                    found.add(text)
                case ast.Dict(keys=[ast.Constant(value="code"), *_], values=[ast.Constant(value=str(text)), *_]):
                    found.add(text)
                case ast.Call(func=ast.Name("Problem"), args=[_, _, ast.Constant(value=str(text)), *_]):
                    found.add(text)
    return found


def test_every_setting_is_in_the_table_and_nothing_else_is() -> None:
    rows = DOCS["operations"].rows("Variable", "Meaning")
    documented = [name for variable, *_ in rows for name in named(variable)]
    where = "the settings of docs/operations.md differ from chalicelib/platform/settings.py"
    assert sorted(documented) == sorted(Settings.variables()), f"{where} in {set(documented) ^ set(Settings.variables())}"


def test_the_defaults_of_the_settings_are_those_of_the_code() -> None:
    for variable, _, default in DOCS["operations"].rows("Variable", "Meaning"):
        field = next(each for each in fields(Settings) if each.name.upper() == named(variable)[0])
        value = field.default_factory() if callable(field.default_factory) else field.default
        if default.startswith("`"):
            assert named(default)[0] in (json.dumps(value, separators=(",", ":")), str(value)), variable
        else:
            assert default in ("empty", "the public services") or value is MISSING, variable


@pytest.mark.parametrize("document", ALL, ids=IDS)
def test_every_variable_it_names_is_a_setting(document: Document) -> None:
    variables = {name for name in document.code() if re.fullmatch(r"[A-Z]+(_[A-Z]+)+", name)}
    assert variables <= set(Settings.variables()) | OTHER_VARIABLES


def test_every_operation_is_in_the_tables_with_who_may_call_it() -> None:
    rows = [(method, named(path)[0], callers) for method, path, callers, _ in API.rows("Method", "Path")]
    documented = {(method, path): callers for method, path, callers in rows}
    assert len(documented) == len(rows)
    found = operations()
    assert documented.keys() ^ found.keys() == set(), "the tables of docs/api.md have not the operations of the code"
    for operation, callers in documented.items():
        ways = [way for caller in callers.split(", ") for way in WAYS[caller]]  # type: ignore[attr-defined]
        assert found[operation]["security"] == ways, operation


@pytest.mark.parametrize("document", ALL, ids=IDS)
def test_every_operation_it_names_exists(document: Document) -> None:
    found = operations()
    for name in document.code():
        if match := re.match(r"(GET|POST|PUT|PATCH|DELETE) (/\S*)", name):
            assert (match[1], match[2]) in found, name


def test_every_path_of_the_app_is_documented() -> None:
    documented = {path for _, path in operations()} | set(API.code())
    assert set(app.app.routes) - documented == set(), "these paths are not in the tables of docs/api.md"


def test_the_tables_of_events_are_what_make_docs_writes() -> None:
    assert tables_of_events(WEBHOOKS.text) == WEBHOOKS.text, "run make docs"


def test_every_event_kind_is_in_the_table_and_nothing_else_is() -> None:
    documented = [name for events, _ in WEBHOOKS.rows("Event", "When it is sent") for name in named(events)]
    assert sorted(documented) == sorted(KINDS)


@pytest.mark.parametrize("document", ALL, ids=IDS)
def test_every_event_it_names_exists(document: Document) -> None:
    events = {
        name for name in document.code() if re.fullmatch(r"(payment|request|compliance|payment_detail)\.\w+", name)
    }
    assert events <= set(KINDS)


@dataclass(frozen=True)
class Field:
    """A row of the table of fields."""

    name: str
    type: str
    is_always_present: bool


TYPES: dict[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "amount": lambda value: isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)?", value) is not None,
    "time": lambda value: re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", value) is not None,
    "boolean": lambda value: isinstance(value, bool),
    "list of objects": lambda value: isinstance(value, list) and all(isinstance(each, dict) for each in value),
    "object": lambda value: isinstance(value, dict),
    "list of texts": lambda value: isinstance(value, list) and all(isinstance(each, str) for each in value),
    "number": lambda value: isinstance(value, int),
    "null": lambda value: value is None,
}


def documented_fields(kind: str) -> dict[str, Field]:
    """The fields that webhooks.md promises for an event, by name. Variants have those of their core event."""
    core = kind.removesuffix(".client_id").removesuffix(".checkout")
    short = core.removeprefix("payment.")
    found = {}
    for names, events, type, present, _ in WEBHOOKS.rows("Field", "Events"):
        if events == "all" or short in events.split(", ") or core in named(events):
            found |= {name: Field(name, type, present == "always") for name in named(names)}
    return found


def check_fields(kind: str, payload: dict[str, Any]) -> None:
    """Asserts that the table has every field of a payload with its type, and the payload all that are always there."""
    fields = documented_fields(kind)
    assert payload.keys() <= fields.keys(), kind
    assert payload.keys() >= {field.name for field in fields.values() if field.is_always_present}, kind
    for name, value in payload.items():
        assert any(TYPES[type](value) for type in fields[name].type.split(" or ")), (kind, name, value)


def events_sent(world: World) -> dict[str, list[dict[str, Any]]]:
    """The payloads of each kind of event, for links with and without a client id: after a partial payment, an
    overpayment, a refund, and a reorganization that removes the payments."""
    world.register_webhook()
    every = ("*", "payment.unexpected")
    endpoints.register(world.services, world.actor, None, Mode.API_KEY, "https://platform.example/hook", Choices(every))
    context = event_context(world.services)
    sent: dict[str, list[dict[str, Any]]] = {}
    for owner in (replace(world.owner, mode=Mode.CLIENT_ID), Owner(world.account_id, None, None, mode=Mode.API_KEY)):
        world.scan()
        payment = links.create(world.services, owner, draft())
        (request,) = payment.requests
        world.chain.pay(request, amount=request.amount // 2, fee=1)
        world.scan()
        world.chain.pay(request)
        world.scan()
        world.chain.pay(request, payee=PAYEE.replace("1", "2"))
        world.scan()
        world.chain.fork(11)
        world.scan()
        pay_by_a_token_that_keeps_a_part(world, links.create(world.services, owner, draft()).requests[0])
        refund = Refund("0x", request.currency, request.request_id, "token", "sepolia", PAYEE, START, tx_hash="0x1")
        refunded = with_sequence(refunded_event(request, refund, BaseUnits(1), context), 1)
        sent.setdefault(refunded.kind, []).append(json.loads(refunded.body))
        world.drain()
    for posted in world.receiver.posted:
        sent.setdefault(posted.event, []).append(json.loads(posted.body))
    for event_to_payer in events_to_payers(world):
        sent.setdefault(event_to_payer["event"], []).append(event_to_payer)
    for event in (*converted(payment.link, request, context), *events_of_payouts(world, context)):
        for kind, body in with_sequence(event, 1).bodies:
            sent.setdefault(kind, []).append(json.loads(body))
    since = START - timedelta(hours=1)
    failing = replace(new_circuit("w", "acct", None, START), state=CircuitState.OPEN, failing_since=since)
    numbered = (with_sequence(each, 1) for each in recurring(world, request, context))
    for event in (failing_event(failing, context), *numbered):
        sent.setdefault(event.kind, []).append(json.loads(event.body))
    return sent


def pay_by_a_token_that_keeps_a_part(world: World, request: Request) -> None:
    """First a part of what is due, then more than the rest, and then what is not owed; a fork removes them."""
    world.chain.moved = lambda amount: amount * 99 // 100
    for _ in range(3):
        world.chain.pay(request)
        world.scan()
    world.chain.fork(11)
    world.scan()
    world.chain.moved = lambda amount: amount


def recurring(world: World, request: Request, context: EventContext) -> list[Event]:
    """The events of a new request of a series, of one of a recurring payout, and that this is paused."""
    payout = store_recurring(World(relayer_keys={"sepolia": "secret"}).services, world.owner)
    paused = replace(payout, failure_reason="Insufficient token balance")
    found = [recurring_event(each, context) for each in (request, payout.template)]
    return [*found, paused_event(paused, payout.template, context)]


def events_to_payers(world: World) -> list[dict[str, Any]]:
    """The events of a payer who is approved and whose bank account fails."""
    payer, _ = payers.put(world.services, world.actor, world.client_id, "ada", PERSON)
    account = bank_accounts.add(world.services, world.account_id, "ada", BANK)
    user = ProviderUser(payer.user_id, 2, "approved", "completed")
    reports.take_user(world.services, user)
    failed = ProviderAccount(account.details_id, payer.user_id, 2, "failed", "The account does not exist")
    reports.take_account(world.services, failed)
    before = len(world.receiver.posted)
    world.drain()
    return [json.loads(each.body) for each in world.receiver.posted[before:]]


def events_of_payouts(world: World, context: EventContext) -> tuple[Event, ...]:
    """A step of a request that is paid out to a bank account, and its failure."""
    request = store_order(world.services)
    order = replace(load_order(world.services, request), paid_at=START)
    report = OrderReport(1, "bounced")
    advance = after_report(order, report, START, timedelta(minutes=10))
    return follow_order(Payable((request,), order=order), advance, request, None, context).events


def converted(link: Link, request: Request, context: EventContext) -> list[Event]:
    """The events of an invoice in dollars with a customer: a partial payment, the rest, and that it was removed."""
    invoice = replace(
        request,
        invoice_currency="USD",
        amount=BaseUnits(2),
        client_id="cli",
        customer_info=CustomerInfo(first_name="Ada"),
        recurring_payment_id="01R",
    )
    rate = Rate("USD", request.currency, BaseUnits(1), BaseUnits(1), "chainlink", START)
    payment = Payment(
        request_id=request.request_id,
        network=request.network,
        block_hash="0x",
        log_index=0,
        block_number=1,
        tx_hash="0x1",
        amount=BaseUnits(1),
        fee_amount=BaseUnits(0),
        fee_address=PAYEE,
        status=PaymentStatus.CONFIRMED,
        detected_at=START,
        event_key="",
        value=BaseUnits(1),
        account_id="acct",
        payee=PAYEE,
        currency=request.currency,
        invoice_currency="USD",
        payment_reference=request.payment_reference,
        rate=rate,
    )
    partial, whole = (
        replace(invoice, status=status, paid=BaseUnits(paid))
        for status, paid in ((RequestStatus.PARTIALLY_PAID, 1), (RequestStatus.PAID, 3))
    )
    event_to_payer = [payment_event(Payable((each,), link), each, payment, context) for each in (partial, whole)]
    return [*event_to_payer, removed_event(partial, payment, context)]


@pytest.fixture
def sent(world: World) -> dict[str, list[dict[str, Any]]]:
    return events_sent(world)


def samples(kind: str) -> list[dict[str, Any]]:
    """What a test delivery of that kind has, with and without a client id."""
    context = EventContext(datetime.now(UTC), bytes, "http://explorer.test", "service-network")
    return [json.loads(sample_event(kind, "account", client_id, context).body) for client_id in ("cli_shop", None)]


def test_the_fields_of_events_are_those_that_are_sent(sent: dict[str, list[dict[str, Any]]]) -> None:
    changes = ("payment.confirmed", "payment.partial")
    variants = {f"{kind}.{variant}" for kind in changes for variant in ("client_id", "checkout")}
    of_payers = {"compliance.updated", "payment_detail.updated"}
    others = {"payment.failed", "payment.refunded", "payment.unexpected", "payment.processing", "request.recurring"}
    assert set(sent) == {*changes, *others, *variants, *of_payers, "webhook.failing"}
    for kind, payloads in sent.items():
        for payload in payloads:
            check_fields(kind, payload)
        known = {"createdWith"} & documented_fields(kind).keys()  # some of these requests tell nothing of their creation
        assert {name for payload in payloads for name in payload} | known == documented_fields(kind).keys(), kind


def test_samples_of_events_have_the_fields_of_those_that_are_sent(sent: dict[str, list[dict[str, Any]]]) -> None:
    for kind, payloads in sent.items():
        shapes = [payload.keys() - {"excessAmount", "statedAmount", "rejectionMessage"} for payload in payloads]
        shapes += [shape | {"createdWith"} for shape in shapes if not kind.startswith(("compliance", "payment_detail"))]
        assert all(sample.keys() in shapes for sample in samples(kind)), kind


@pytest.mark.parametrize("kind", KINDS)
def test_the_fields_of_samples_are_in_the_table(kind: str) -> None:
    for sample in samples(kind):
        check_fields(kind, sample)


def test_the_variants_of_an_event_are_made_in_the_documented_order(world: World) -> None:
    world.register_webhook()
    world.chain.pay(world.create_link().requests[0])
    world.scan()
    world.drain()
    (order,) = [line for line in WEBHOOKS.text.splitlines() if line.startswith("1. ")]
    position = WEBHOOKS.text.index(order)
    listed = re.findall(r"^\d\. `(.*?)`", WEBHOOKS.text[position:], re.MULTILINE)
    assert world.receiver.events == [name.replace("<kind>", "payment.confirmed") for name in listed]


def test_the_choices_of_events_that_it_names_exist() -> None:
    chosen = {name for name in WEBHOOKS.code() if re.fullmatch(r"\*|[a-z_.]+\.\*", name)}
    assert {"*", "payment.*"} < chosen <= set(CHOICES)


def test_every_error_is_in_the_table_with_its_status() -> None:
    for path in (ROOT / "chalicelib").rglob("*.py"):
        importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    documented = [(int(status), name) for status, names, *_ in API.rows("Status", "Class") for name in named(names)]
    ours = {each for each in errors() if each.__module__.startswith("chalicelib.")}
    assert sorted(documented) == sorted((each.status, each.__name__) for each in ours)


@reads_code
def test_every_error_code_is_in_the_table_and_nothing_else_is() -> None:
    documented = [code for codes, _ in API.rows("Code", "Meaning") for code in named(codes)]
    assert sorted(documented) == sorted(code_texts())


def test_the_numbers_in_the_text_are_those_of_the_code() -> None:
    assert SMALL_PART == 1000, "the documents say a thousandth"
    tiers = ", ".join(str(rate) for rate in REQUESTS_PER_SECOND.values()).replace(", 20", " or 20")
    delays = ", ".join(str(delay) for delay in RETRY_DELAYS).replace(", 15", " and 15")
    for document, words in (
        (API, f"{tiers} per second for the tiers `{'`, `'.join(REQUESTS_PER_SECOND)}`"),
        (API, f"{REQUESTS_PER_SECOND[Tier.DEFAULT]} per second | as above"),
        (API, f"{SIGN_INS_PER_MINUTE} per minute | 429"),
        (API, f"{FAILURES} in a quarter of an hour"),
        (API, f"{FAILURES_PER_DAY:,} per day (UTC)"),
        (API, f"{UNKNOWN_TOKENS_PER_MINUTE} per minute | a ban"),
        (API, f"1 to {MAX_KEY_LENGTH} printable ASCII characters"),
        (API, f"repeats the request within {RETENTION // timedelta(hours=1)} hours"),
        (API, f"larger than {MAX_BODY_BYTES // 1024} kB"),
        (WEBHOOKS, f"may have {MAX_ENDPOINTS} webhooks"),
        (WEBHOOKS, f"{delays} seconds"),
        (WEBHOOKS, f"After {MAX_SMALL_PAYMENTS} payments of a request, one of less than a thousandth of its amount"),
        (WEBHOOKS, f"after {MAX_PAYMENTS:,} none is but the one that completes it"),
        (DOCS["limits"], f"After {MAX_SMALL_PAYMENTS} payments of a request, those of less than a thousandth of its amount"),
        (DOCS["limits"], f"After {MAX_PAYMENTS:,} payments this holds for every payment but the one that completes"),
        (DOCS["credentials"], f"Entries are kept for {AUDIT_RETENTION.days} days"),
    ):
        assert words in " ".join(document.text.split()), words


def test_every_network_is_in_the_table_with_its_chain_id_and_confirmations() -> None:
    rows = LINKS.rows("Network", "Chain id")
    documented = [(named(name)[0], int(chain_id), int(confirmations)) for name, chain_id, confirmations in rows]
    wanted = [(each.name, each.chain_id, each.confirmations) for each in ALL_NETWORKS]
    assert documented == wanted, "the table of docs/links.md, Networks, differs from networks.json"


def test_every_reason_of_a_multicall_is_in_the_table_with_its_recovery_action() -> None:
    documented = {named(reason)[0]: named(action)[0] for reason, _, action in LINKS.rows("Reason", "Meaning")}
    assert documented == {reason.value: recovery_action(reason) for reason in Reason}


def test_every_class_of_a_transfer_is_in_the_table() -> None:
    rows = LINKS.rows("Class", "Counts")
    assert [named(name)[0] for name, *_ in rows] == [
        *("exact", "late", "partial", "over", "duplicate", "wrong_token", "wrong_payee", "wrong_network", "reversed")
    ]
    assert {named(name)[0] for name, *_ in rows} == set(Classification)
    actions = {action for *_, actions in rows for action in named(actions)} - set(Classification)
    assert actions | {"find_payer"} == set(RecoveryAction)
