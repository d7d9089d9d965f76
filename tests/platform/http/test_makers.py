"""Every operation that a public or partner credential may call, on things that were made with each credential.

What a secret of the account has made, neither a client id alone nor an orchestrator changes, and an orchestrator sees
only what was made for the client id for which it is admitted.
"""

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.records import PAYMENTS
from chalicelib.crosschain.service.payment_intents.records import PaymentIntent
from chalicelib.gasless.records import GaslessPayment
from chalicelib.payments.requests.records import CustomerInfo, Request
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import OPERATIONS, Operation
from chalicelib.webhooks.endpoints.records import Endpoint
from infra.documents.data import record_classes
from tests.fakes.world import clear_tables
from tests.platform.http.test_matrix import named
from tests.support.client import Api, Reply
from tests.support.examples import EXAMPLES, example, headers_for, prepared
from tests.support.made import MADE, made_with, names_of
from tests.support.running import running
from tests.support.tenants import WAYS, Tenant, Way

CLIENT, PAIR = WAYS[2], WAYS[3]
KINDS = tuple(kind for kind in record_classes() if kind.KEY.table == PAYMENTS)
OF_PAYERS = (PaymentIntent, GaslessPayment)
"""What a payer signs, and sends with a client id alone."""
CUSTOMER = CustomerInfo("Zzelda", "Ffitz", "zzelda@marked.example")
MARKS = ("Zzelda", "Ffitz", "zzelda@marked.example", "marked-payer-1")

CHANGES = {
    "update_request", "cancel_request", "accept_request", "update_secure_payment", "cancel_secure_payment",
    "activate_recurring", "change_recurring", "batch_payouts", "create_multicall_payout",
    "authorize_commerce_payment", "charge_commerce_payment", "capture_commerce_payment", "void_commerce_payment",
    "refund_commerce_payment",
}  # fmt: skip
"""The operations that change something that is there already, and that one of the two credentials may call."""
BY_REASON = {"batch_payouts", "create_multicall_payout"}
"""Those whose refusal is a list of payouts, each with the reason `not_owned`."""


def reaches(known: Operation, way: Way) -> bool:
    mode = Mode.CLIENT_ID if way is CLIENT else Mode.ORCHESTRATOR
    return mode in known.modes and EXAMPLES.get((known.method, known.path), example()).others != ()


OF_CLIENT = [known for known in OPERATIONS if reaches(known, CLIENT)]
OF_PAIR = [known for known in OPERATIONS if reaches(known, PAIR)]


@pytest.fixture(autouse=True)
def new_tables(api: Api) -> None:
    clear_tables()


def sent(
    api: Api, known: Operation, way: Way, maker: Mode | None, *, has_client: bool = True
) -> tuple[Reply, list[Any], list[Any]]:
    """The reply about things that were made with a credential, for the client id or without one; and what is stored
    of such things before and after it."""
    tenant = Tenant()
    headers = headers_for(known, tenant, way)
    own = prepared(known, tenant, way, is_own=False)
    made_with(maker, tenant.client_id if has_client else None, CUSTOMER, MARKS[-1])
    before = things()
    reply = own.send(api, headers)
    return reply, before, things()


def things() -> list[Any]:
    found = (record for record, _ in running().store.scan(KINDS))
    return sorted(found, key=lambda record: str(record.key))


def is_refused(known: Operation, reply: Reply) -> bool:
    if known.name in BY_REASON:
        return reply.status == 400 and {each["reason"] for each in reply.json["failures"]} == {"not_owned"}
    return reply.status == 403


@pytest.mark.parametrize("maker", [Mode.API_KEY, Mode.SESSION, Mode.ORCHESTRATOR, None])
@pytest.mark.parametrize("known", [each for each in OF_CLIENT if each.name in CHANGES], ids=named)
def test_a_client_id_alone_changes_nothing_that_a_secret_has_made_for_it(
    api: Api, known: Operation, maker: Mode | None
) -> None:
    reply, before, after = sent(api, known, CLIENT, maker)
    assert is_refused(known, reply), reply.body
    assert before == after


@pytest.mark.parametrize("maker", [Mode.API_KEY, Mode.SESSION, None])
@pytest.mark.parametrize("known", [each for each in OF_PAIR if each.name in CHANGES], ids=named)
def test_an_orchestrator_changes_nothing_that_a_secret_of_the_account_has_made(
    api: Api, known: Operation, maker: Mode | None
) -> None:
    reply, before, after = sent(api, known, PAIR, maker)
    assert is_refused(known, reply), reply.body
    assert before == after


@pytest.mark.parametrize("known", [each for each in OF_CLIENT if each.name in CHANGES], ids=named)
def test_a_client_id_alone_changes_what_it_alone_has_made(api: Api, known: Operation) -> None:
    reply, _, _ = sent(api, known, CLIENT, Mode.CLIENT_ID)
    asks_for_more = reply.status == 403 and "Send feeBps" in str(reply.message)  # whatever it has made
    assert reply.status == known.status or asks_for_more, reply.body


@pytest.mark.parametrize("maker", [Mode.ORCHESTRATOR, Mode.CLIENT_ID])
@pytest.mark.parametrize("known", [each for each in OF_PAIR if each.name in CHANGES], ids=named)
def test_an_orchestrator_changes_what_was_made_for_its_client_id(api: Api, known: Operation, maker: Mode) -> None:
    reply, _, _ = sent(api, known, PAIR, maker)
    assert reply.status == known.status, reply.body


@pytest.mark.parametrize("maker", [Mode.API_KEY, Mode.SESSION, Mode.ORCHESTRATOR, Mode.CLIENT_ID])
@pytest.mark.parametrize("known", [each for each in OF_CLIENT if each.name not in CHANGES], ids=named)
def test_a_client_id_alone_reads_and_pays_all_of_it_and_is_shown_no_person(
    api: Api, known: Operation, maker: Mode
) -> None:
    reply, before, after = sent(api, known, CLIENT, maker)
    is_barred = bool(EXAMPLES[known.method, known.path].secret_only)
    assert reply.status == (403 if is_barred else known.status), reply.body
    assert not shown(reply)
    if maker is not Mode.CLIENT_ID:
        there = {each.key for each in before if isinstance(each, MADE) and not isinstance(each, OF_PAYERS)}
        kept = ([essence(each) for each in found if each.key in there] for found in (before, after))
        assert next(kept) == next(kept)


@pytest.mark.parametrize("maker", [Mode.API_KEY, Mode.SESSION, Mode.ORCHESTRATOR, Mode.CLIENT_ID])
@pytest.mark.parametrize("known", [each for each in OPERATIONS if Mode.ORCHESTRATOR in each.modes], ids=named)
def test_an_orchestrator_is_shown_only_persons_whom_it_has_named_itself(
    api: Api, known: Operation, maker: Mode
) -> None:
    reply, _, _ = sent(api, known, PAIR, maker)
    assert not shown(reply) or (maker is Mode.ORCHESTRATOR and reply.status == known.status)


@pytest.mark.parametrize("name", ["read_request", "find_payments"])
def test_it_is_shown_those_so_that_the_data_is_there_to_be_found(api: Api, name: str) -> None:
    (known,) = [each for each in OPERATIONS if each.name == name]
    assert shown(sent(api, known, PAIR, Mode.ORCHESTRATOR)[0])


@pytest.mark.parametrize("known", OF_PAIR, ids=named)
def test_an_orchestrator_sees_nothing_that_was_made_without_its_client_id(api: Api, known: Operation) -> None:
    reply, before, after = sent(api, known, PAIR, Mode.API_KEY, has_client=False)
    assert reply.status == 404 or is_refused(known, reply), reply.body
    assert before == after and not shown(reply)


def test_every_kind_of_record_with_a_maker_is_made_with_each_credential() -> None:
    of_makers = {kind for kind in record_classes() if "created_with" in names_of(kind)}
    assert of_makers - {*MADE} == {Endpoint}, "which webhooks/test_public.py is about"
    assert {each.__name__ for each in MADE} == {
        "Request", "Link", "RecurringPayment", "CommercePayment", "PaymentIntent", "GaslessPayment", "Payment",
        "SentRefund", "Payer",
    }  # fmt: skip


def test_every_operation_that_changes_something_of_an_account_is_named_here() -> None:
    """Those that remain create something of their own, are steps of payers, or are about what a client id alone has."""
    creating = {
        "create_request", "create_secure_payment", "create_payout", "create_payouts", "pay_out", "pay_out_by_former_path", "pay_batch",
        "create_commerce_payment", "preview_fees", "create_webhook",
    }  # fmt: skip
    paying = {
        "record_intent", "claim_signing", "end_signing", "broadcast_transaction", "delegate_energy", "refresh_step_transaction",
        "send_payment_intent", "send_gasless_payment", "send_gasless_payment_of_link", "reclaim_commerce_calldata", "pay_test_link",
    }  # fmt: skip
    calldata = {f"{each}_commerce_calldata" for each in ("authorize", "charge", "capture", "void", "refund")}
    of_their_own = {
        "toggle_webhook", "delete_webhook", "test_webhook", "redeliver", "redeliver_failed",  # webhooks/test_public.py
        "create_payee_destination", "remove_payee_destination",  # signed by the wallet that is paid
    }  # fmt: skip
    public = {Mode.CLIENT_ID, Mode.ORCHESTRATOR}
    found = {each.name for each in OPERATIONS if each.method != "GET" and public & set(each.modes)}
    assert found == CHANGES | creating | paying | calldata | of_their_own


def shown(reply: Reply) -> set[str]:
    text = reply.body.decode() + str(reply.headers)
    return {each for each in MARKS if each in text}


def essence(record: Any) -> Any:
    """A record without what the payment of it changes, which payers may begin."""
    if isinstance(record, Request):
        return replace(record, version=0, execution=None)
    return replace(record, version=0)


