"""Combining payout links over HTTP, and what the payer is shown of them."""

import json
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.timestamps import iso
from chalicelib.payments.links import reading as link_reading
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.scanning.records import Cursor
from chalicelib.platform.http.operation import OPERATIONS
from chalicelib.platform.storage.store import Delete, Store
from tests.fakes.destinations import FUSDC_SEPOLIA
from tests.fakes.payouts import store_payouts
from tests.fakes.wallets import evm_wallet
from tests.fakes.world import FEE_ADDRESS, PAYEE, WALLET
from tests.platform.http.test_openapi import check_answer, text_of
from tests.support.api import Configured
from tests.support.client import Api, Reply, Shop
from tests.support.operations import models
from tests.support.running import running
from tests.support.signed_in import Dashboard, by_wallet
from tests.support.stored_links import complete, expire

PATH = "/v2/secure-payments/multicall-payouts"
ANNOUNCED = {"safeTxHash": "0x" + "ab" * 32, "chain": "SEPOLIA", "token": "USDC"}
FEE = {"fee_percentage": "1", "fee_address": FEE_ADDRESS}


def payouts(account_id: str, count: int = 2, **changes: Any) -> list[str]:
    return [made.link.token for made in store_payouts(running(), account_id, count, **changes)]


def described(method: str, path: str, reply: Reply, port: int) -> Reply:
    """The reply, held to the OpenAPI document."""
    check_answer(json.loads(text_of(port)), method, path, reply)
    return reply


def combine(shop: Shop, children: list[str], **fields: Any) -> Reply:
    headers = {**shop.by_key, **shop.by_client}
    reply = shop.api.request("POST", PATH, {"childTokens": children, **fields}, headers)
    return described("POST", PATH, reply, shop.api.port)


def failures(reply: Reply) -> list[tuple[str, str, str]]:
    assert reply.status == 400, reply.json
    assert (reply.message, reply.json["code"]) == ("Multicall validation failed", "multicall_validation_failed")
    return [(each["securePaymentToken"], each["reason"], each["recoveryAction"]) for each in reply.json["failures"]]


def loaded(token: str) -> PayableLink:
    found = link_reading.load(running(), token)
    assert found is not None
    return found


@pytest.fixture
def dashboard(api: Api) -> tuple[Dashboard, str]:
    """Somebody with a session, and the account it is of."""
    wallet = by_wallet(api, evm_wallet("multicalls"))
    created = wallet.send("POST", "/v1/client-ids", {"label": "own", "allowedDomains": []})
    assert created.status == 201
    link = wallet.send("POST", "/v2/secure-payments", {"requests": [_item()]})
    return wallet, loaded(link.json["token"]).link.account_id


def _item() -> dict[str, str]:
    currency = "fUSDC-sepolia"
    return {"amount": "1", "payee": PAYEE, "invoiceCurrency": currency, "paymentCurrency": currency}


def read(who: Dashboard, token: str) -> Reply:
    return described("GET", PATH + "/{token}", who.get(f"{PATH}/{token}"), who.api.port)


def test_payouts_are_combined_in_the_order_they_are_given(shop: Shop) -> None:
    children = payouts(shop.account_id, 3)[::-1]
    reply = combine(shop, children)
    assert reply.status == 201, reply.json
    link = loaded(reply.json["token"]).link
    assert reply.json == {
        "type": "multicall",
        "token": link.token,
        "securePaymentUrl": f"http://pay.test/?token={link.token}",
        "status": "pending",
        "expiresAt": iso(link.expires_at),
        "createdAt": iso(link.created_at),
        "items": [
            {
                "securePaymentToken": token,
                "requestId": loaded(token).requests[0].request_id,
                "position": position,
                "eligibility": "eligible",
            }
            for position, token in enumerate(children)
        ],
    }
    assert link.client_id == shop.client_id


def test_an_idempotency_key_makes_one_multicall(shop: Shop) -> None:
    body = {"childTokens": payouts(shop.account_id)}
    headers = {**shop.by_key, **shop.by_client, "idempotency-key": "combine-1"}
    first, second = (shop.api.request("POST", PATH, body, headers) for _ in range(2))
    assert (first.status, second.status, first.body) == (201, 201, second.body)


def test_what_was_refused_though_a_part_was_written_is_combined_under_the_same_key_once_it_can_be(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another request combines the last of 120 payouts after the first 98 were claimed, and then lets it go."""
    children, store, written = payouts(shop.account_id, 120), running().store, list[int]()
    body, headers = {"childTokens": children}, {**shop.by_key, "idempotency-key": "combine-2"}
    apply = Store._apply

    def raced(self: Store, *writes: Any) -> None:
        if len(writes) > 10 and not written:
            written.append(len(writes))
            apply(self, *writes)
            assert combine(shop, children[-2:]).status == 201
        else:
            apply(self, *writes)

    monkeypatch.setattr(Store, "_apply", raced)
    refused = shop.api.request("POST", PATH, body, headers)
    assert {each[1] for each in failures(refused)} == {"invalid_child_linkage"}, "the other one has them"
    (other,) = {loaded(each).link.parent_token for each in children[-2:]}
    assert other is not None
    store.write(Delete(loaded(other).link))
    again = shop.api.request("POST", PATH, body, headers)
    assert (again.status, "idempotent-replayed" in again.headers) == (201, False), again.body


def test_many_payouts_that_never_hold_still_are_a_conflict_and_combined_under_the_same_key_later(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    children, store = payouts(shop.account_id, 120), running().store
    body, headers = {"childTokens": children}, {**shop.by_key, "idempotency-key": "combine-3"}
    apply = Store._apply

    def raced(self: Store, *writes: Any) -> None:
        apply(self, *writes)
        if len(writes) > 90:
            apply(store, replace(loaded(children[-1]).link))

    with monkeypatch.context() as patched:
        patched.setattr(Store, "_apply", raced)
        reply = described("POST", PATH, shop.api.request("POST", PATH, body, headers), shop.api.port)
    assert (reply.status, reply.message) == (409, "Payouts were changed at the same moment, and none were combined: try again")
    assert shop.api.request("POST", PATH, body, headers).status == 201


def test_every_failing_child_is_named_with_what_to_do(shop: Shop, new_shop: Shop) -> None:
    good, done, late = payouts(shop.account_id, 3)
    complete(done)
    expire(late)
    (foreign,) = payouts(new_shop.account_id, 1)
    reply = combine(shop, [good, foreign, done, late, good, "unknown"])
    assert failures(reply) == [
        (foreign, "not_owned", "remove_child"),
        (done, "already_paid", "remove_child"),
        (late, "secure_payment_expired", "support_required"),
        (good, "duplicate_child", "remove_child"),
        ("unknown", "not_found", "remove_child"),
    ]
    assert "cap" not in reply.json
    assert reply.json["failures"][1]["context"]["hasBeenPaid"] is True
    assert loaded(good).link.parent_token is None


def test_a_child_is_in_one_multicall(shop: Shop) -> None:
    first, second, third = payouts(shop.account_id, 3)
    assert combine(shop, [first, second]).status == 201
    assert failures(combine(shop, [second, third])) == [(second, "invalid_child_linkage", "support_required")]


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ({}, "childTokens is required"),
        ({"childTokens": []}, "childTokens must have at least 2 items"),
        ({"childTokens": ["a"]}, "childTokens must have at least 2 items"),
        ({"childTokens": "a,b"}, "childTokens must be an array"),
        ({"childTokens": ["a", 5]}, "childTokens.1 must be a string"),
        ({"childTokens": ["a", ""]}, "childTokens.1 must have at least 1 character"),
        ({"childTokens": ["a", "x" * 65]}, "childTokens.1 must have at most 64 characters"),
        ({"childTokens": ["a", "b"], "requestedExecutionKind": "x"}, "requestedExecutionKind must be one of 'evm_same_chain'"),
        ({"childTokens": ["a", "b"], "reference": "x"}, "reference is not a field of this body"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_a_body_of_another_form_is_refused(shop: Shop, body: dict[str, Any], hint: str) -> None:
    reply = shop.send("POST", PATH, body)
    assert (reply.status, hint in reply.message) == (400, True), reply.message


@pytest.mark.usefixtures("nothing_written")
def test_more_children_than_the_deployment_allows_are_told_by_how_many(
    shop: Shop, configured: Configured
) -> None:
    reply = combine(shop, [f"t{n}" for n in range(151)])
    assert failures(reply) == [("*", "too_many_children", "recreate_reduced")]
    assert reply.json["cap"] == {"type": "child_count", "maximum": 150, "actual": 151, "reduceBy": 1}
    with configured(MULTICALL_MAX_CHILDREN="3"):
        assert combine(shop, ["a", "b", "c", "d"]).json["cap"]["maximum"] == 3
    with configured(MULTICALL_MAX_CHILDREN="1000"):
        assert len(failures(combine(shop, [f"t{n}" for n in range(1000)]))) == 1000
        beyond = combine(shop, [f"t{n}" for n in range(1001)]).json["cap"]
        assert beyond == {"type": "child_count", "maximum": 1000, "actual": 1001, "reduceBy": 1}


@pytest.mark.parametrize(
    ("kind", "refusal", "hint"),
    [
        ("evm_cross_chain", ("*", "unsupported_combination", "remove_child"), "not supported in crosschain payment"),
        ("tron_batch", ("*", "execution_kind_mismatch", "switch_route"), "their kind is evm_same_chain"),
    ],
)
def test_a_kind_that_the_children_cannot_be_paid_in_is_refused(
    shop: Shop, kind: str, refusal: tuple[str, str, str], hint: str
) -> None:
    children = payouts(shop.account_id)
    reply = combine(shop, children, requestedExecutionKind=kind)
    assert failures(reply) == [refusal]
    assert hint in reply.json["failures"][0]["message"]
    assert combine(shop, children, requestedExecutionKind="evm_same_chain").status == 201


def test_a_session_reads_what_became_of_each_child(dashboard: tuple[Dashboard, str]) -> None:
    who, account = dashboard
    children = payouts(account, 2, **FEE)
    made = who.send("POST", PATH, {"childTokens": children})
    assert made.status == 201, made.json
    token, first, second = made.json["token"], loaded(children[0]), loaded(children[1])
    fresh = read(who, token).json
    shown = fresh["children"]
    assert {name: fresh[name] for name in fresh if name not in ("children", "totals")} == {
        "paymentType": "multicall",
        "status": "pending",
        "redirectUrl": None,
        "redirectLabel": None,
        "orchestratorId": None,
        "branding": None,
        "chain": fresh["chain"],
        "analytics": {"creationTimestamp": made.json["createdAt"], "numberOfPaymentsExcludingFees": 2},
        "requestIds": [first.requests[0].request_id, second.requests[0].request_id],
        "token": token,
        "canExecute": True,
        "expiresAt": made.json["expiresAt"],
        "createdAt": made.json["createdAt"],
    }
    assert shown[0].pop("feePlan")["payerTotalAmountUsd"] == "12.625"
    assert shown[0] == {
        "securePaymentToken": children[0],
        "requestId": first.requests[0].request_id,
        "position": 0,
        "executable": True,
        "blockReason": None,
        "messageKey": None,
        "context": {
            "requestId": first.requests[0].request_id,
            "securePaymentToken": children[0],
            "position": 0,
            "hasBeenPaid": False,
            "securePaymentStatus": "pending",
            "requestStatus": "created",
            "expiresAt": iso(first.link.expires_at),
            "network": "sepolia",
            "currency": "fUSDC-sepolia",
        },
        "recoveryAction": None,
        "amount": "12.5",
        "payee": PAYEE,
        "payeeName": None,
        "reference": "PAY-1",
        "remainingAmount": "12.5",
        "network": "sepolia",
        "paymentCurrency": "fUSDC-sepolia",
        "isNativeCurrency": False,
        "tokenAddress": FUSDC_SEPOLIA,
        "decimals": 6,
        "paymentReference": first.requests[0].payment_reference,
        "feePercentage": "1",
        "feeAddress": first.link.fee_address,
    }
    assert fresh["totals"] == {
        "childCount": 2,
        "blockedChildCount": 0,
        "byDestinationCurrency": [{"network": "sepolia", "currency": "fUSDC-sepolia", "totalAmount": "25"}],
        "amountSummary": {
            "grossAmount": "25",
            "netRecipientAmount": "25",
            "totalFees": "0.25",
            "payeeBorneFees": "0",
            "payerBorneFees": "0.25",
            "payerTotal": "25.25",
        },
    }
    complete(children[1])
    later = read(who, token).json
    assert (later["status"], later["canExecute"], later["totals"]["blockedChildCount"]) == ("partially_settled", False, 1)
    blocked = later["children"][1]
    assert [blocked[name] for name in ("executable", "blockReason", "messageKey", "recoveryAction")] == [
        False,
        "already_paid",
        "multicall.already_paid",
        "remove_child",
    ]
    complete(children[0])
    assert read(who, token).json["status"] == "completed"


def test_children_of_several_currencies_have_no_common_sum(dashboard: tuple[Dashboard, str]) -> None:
    who, account = dashboard
    children = [*payouts(account, 1, currency="USDT-base"), *payouts(account, 1, currency="USDC-base")]
    token = who.send("POST", PATH, {"childTokens": children}).json["token"]
    details = read(who, token).json
    assert details["canExecute"] is True
    assert details["totals"]["amountSummary"] is None
    assert [each["currency"] for each in details["totals"]["byDestinationCurrency"]] == ["USDT-base", "USDC-base"]


def test_a_settled_multicall_is_read_as_a_settled_link(shop: Shop) -> None:
    children = payouts(shop.account_id)
    token = combine(shop, children).json["token"]
    complete(children[0])
    part = shop.get(f"/v2/secure-payments/{token}")
    assert (part.status, part.json["status"]) == (200, "partially_settled")
    complete(children[1])
    for query in ("", f"?wallet={WALLET}"):
        reply = shop.get(f"/v2/secure-payments/{token}{query}")
        assert (reply.status, reply.message) == (409, "Secure payment has already been completed")
        assert reply.json["status"] == "completed"
        assert [each["hasBeenPaid"] for each in reply.json["requestStatuses"]] == [True, True]


@pytest.mark.parametrize("state", ["payable", "completed", "expired"])
def test_every_operation_of_a_link_has_an_answer_for_a_multicall(shop: Shop, state: str) -> None:
    children = payouts(shop.account_id)
    token = combine(shop, children).json["token"]
    for link in {"payable": [], "completed": children, "expired": [*children, token]}[state]:
        (complete if state == "completed" else expire)(link)
    if running().store.get(Cursor, Cursor.KEY.of(network="sepolia")) is None:
        running().store.write(Cursor("sepolia", 100, (), 2000))  # so that announced transactions are taken there
    of_a_link = [known for known in OPERATIONS if known.path.startswith("/v2/secure-payments/{token}")]
    assert len(of_a_link) >= 3
    for known in of_a_link:
        body = ANNOUNCED if models(known).body else None
        for query in ("", f"?wallet={WALLET}") if models(known).query else ("",):
            reply = shop.send(known.method, known.path.format(token=token, payment_id="01") + query, body)
            assert reply.status < 500, (known.path, query, reply.body)
    assert shop.get(f"/v2/secure-payments/{token}/pay?wallet={WALLET}&gasless=true").status == 400
    assert shop.send("POST", "/v2/secure-payments/batch-payouts", {"tokens": [token, children[0]]}).status == 400


def test_a_session_is_told_of_others_multicalls_and_of_what_is_none(
    dashboard: tuple[Dashboard, str], shop: Shop
) -> None:
    who, account = dashboard
    foreign = combine(shop, payouts(shop.account_id)).json["token"]
    reply = read(who, foreign)
    assert (reply.status, reply.message) == (403, "Not authorized for this multicall payout")
    for token in ("unknown", *payouts(account, 1)):
        reply = read(who, token)
        assert (reply.status, reply.message) == (404, "Multicall payout not found")
    assert shop.get(f"{PATH}/{foreign}").status == 403
