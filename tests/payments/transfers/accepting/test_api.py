"""POST /v2/request/{request_id}/accept over HTTP: who may, what is answered, and how it is shown and listed."""

from dataclasses import replace

from chalicelib.base.money import BaseUnits
from chalicelib.payments.links import reading as link_reading
from chalicelib.payments.requests.records import RequestStatus
from tests.support.client import Shop, item
from tests.support.running import running
from tests.support.stored_links import TX_HASH, counted


def partly_paid(shop: Shop) -> tuple[str, str]:
    """The token and the request id of a new link of which half is paid."""
    made = shop.api.request("POST", "/v2/secure-payments", {"requests": [item()]}, shop.by_key).json
    payment = link_reading.load(running(), made["token"])
    assert payment is not None
    request, half = payment.requests[0], BaseUnits(payment.requests[0].amount // 2)
    paid = replace(
        request, paid=half, received=half, dust_count=1, dust_amount=half, status=RequestStatus.PARTIALLY_PAID,
        tx_hash=TX_HASH,
    )
    running().store.write(*counted(request, paid))
    return made["token"], request.request_id


def test_a_part_is_accepted_and_the_second_call_answers_the_same(shop: Shop) -> None:
    token, request_id = partly_paid(shop)
    path = f"/v2/request/{request_id}/accept"
    first = shop.api.request("POST", path, None, shop.by_key)
    assert (first.status, first.json["requestId"], first.json["status"]) == (200, request_id, "paid")
    assert shop.api.request("POST", path, None, shop.by_key).json == first.json
    read = shop.api.request("GET", f"/v2/request/{request_id}", None, shop.by_key).json
    assert (read["status"], read["hasBeenPaid"], read["isListening"], read["excessAmount"]) == ("paid", True, False, None)
    shown = (read["requestAmount"], read["acceptedAmount"], read["acceptedAt"])
    assert shown == (first.json["requestAmount"], first.json["acceptedAmount"], first.json["acceptedAt"])
    assert read["conversionBreakdown"] is None or read["conversionBreakdown"]["remainingAmount"] == "0"
    listed = shop.api.request("GET", "/v2/request?status=paid", None, shop.by_key).json["requests"]
    assert (listed[0]["requestId"], listed[0]["securePaymentStatus"]) == (request_id, "completed")
    open_ones = shop.api.request("GET", "/v2/request?status=partially_paid", None, shop.by_key).json["requests"]
    assert request_id not in [each["requestId"] for each in open_ones]
    for path in (f"/v2/secure-payments/{token}", f"/v2/secure-payments/{token}/pay?wallet={'0x' + '11' * 20}"):
        reply = shop.api.request("GET", path, None, shop.by_key)
        assert (reply.status, reply.json["status"]) == (409, "completed"), path


def test_what_was_not_accepted_says_nothing_of_it(shop: Shop) -> None:
    _, request_id = partly_paid(shop)
    read = shop.api.request("GET", f"/v2/request/{request_id}", None, shop.by_key).json
    assert not {"acceptedAmount", "acceptedAt"} & read.keys()


def test_what_is_public_accepts_nothing_and_what_another_account_has_is_not_found(shop: Shop, new_shop: Shop) -> None:
    _, request_id = partly_paid(shop)
    path = f"/v2/request/{request_id}/accept"
    for headers in (shop.by_client, {}):
        assert shop.api.request("POST", path, None, headers).status in (401, 403)
    assert shop.api.request("POST", path, None, new_shop.by_key).status == 404
    assert shop.api.request("POST", "/v2/request/unknown/accept", None, shop.by_key).status == 404
    read = shop.api.request("GET", f"/v2/request/{request_id}", None, shop.by_key).json
    assert read["status"] == "partially_paid"


def test_what_was_not_paid_at_all_is_refused(shop: Shop) -> None:
    request_id = shop.api.request("POST", "/v2/request", item(), shop.by_key).json["requestId"]
    reply = shop.api.request("POST", f"/v2/request/{request_id}/accept", None, shop.by_key)
    assert (reply.status, reply.message.split(":")[0]) == (
        409, "No payment of this counts, so there is nothing to accept",
    )
