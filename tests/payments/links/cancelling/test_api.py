"""POST .../cancel over HTTP: who may, what is answered, and how what is cancelled is shown, listed and refused."""

from chalicelib.payments.links import reading as link_reading
from tests.support.client import Reply, Shop, item
from tests.support.running import running
from tests.support.stored_links import complete


def link_of(shop: Shop) -> tuple[str, str]:
    """The token and the request id of a new link."""
    made = shop.api.request("POST", "/v2/secure-payments", {"requests": [item()]}, shop.by_key).json
    return made["token"], made["requestIds"][0]


def request_of(shop: Shop) -> str:
    request_id: str = shop.api.request("POST", "/v2/request", item(), shop.by_key).json["requestId"]
    return request_id


def cancel(shop: Shop, path: str) -> Reply:
    return shop.api.request("POST", f"/v2/{path}/cancel", None, shop.by_key)


def test_a_link_is_cancelled_and_the_second_call_answers_the_same(shop: Shop) -> None:
    token, request_id = link_of(shop)
    first = cancel(shop, f"secure-payments/{token}")
    assert (first.status, first.json["status"], first.json["requestIds"]) == (200, "cancelled", [request_id])
    assert cancel(shop, f"secure-payments/{token}").json == first.json
    for path in (f"/v2/secure-payments/{token}", f"/v2/secure-payments/{token}/pay?wallet={'0x' + '11' * 20}"):
        reply = shop.api.request("GET", path, None, shop.by_key)
        assert (reply.status, reply.json["status"]) == (403, "cancelled"), path
    listed = shop.api.request("GET", "/v2/secure-payments?status=cancelled", None, shop.by_key).json["securePayments"]
    assert (listed[0]["token"], {each["status"] for each in listed}) == (token, {"cancelled"})
    pending = shop.api.request("GET", "/v2/secure-payments?status=pending", None, shop.by_key).json["securePayments"]
    assert token not in [each["token"] for each in pending]
    found = shop.api.request("GET", f"/v2/secure-payments?requestId={request_id}", None, shop.by_key)
    assert found.json["status"] == "cancelled"


def test_a_request_is_cancelled_and_the_second_call_answers_the_same(shop: Shop) -> None:
    request_id, other = request_of(shop), request_of(shop)
    first = cancel(shop, f"request/{request_id}")
    assert (first.status, first.json["requestId"], first.json["status"]) == (200, request_id, "cancelled")
    assert cancel(shop, f"request/{request_id.upper()}").json == first.json
    read = shop.api.request("GET", f"/v2/request/{request_id}", None, shop.by_key).json
    assert (read["status"], read["hasBeenPaid"], read["isListening"]) == ("cancelled", False, False)
    wallet = "0x" + "11" * 20
    for reply in (
        shop.api.request("GET", f"/v2/request/{request_id}/pay?wallet={wallet}", None, shop.by_key),
        shop.api.request("POST", "/v2/payouts/batch", {"requestIds": [other, request_id], "payer": wallet}, shop.by_key),
    ):
        assert (reply.status, reply.json.get("status")) == (409, "cancelled")
        assert reply.message == f"Request {request_id} was cancelled by its payee: do not pay it"
    listed = shop.api.request("GET", "/v2/request?status=cancelled", None, shop.by_key).json
    assert listed["requests"][0]["requestId"] == request_id
    assert {each["status"] for each in listed["requests"]} == {"cancelled"}
    assert listed["pagination"]["total"] == len(listed["requests"])


def test_what_is_public_cancels_nothing(shop: Shop) -> None:
    """A client id is everybody's, and so are a link's token and a page's origin."""
    token, _ = link_of(shop)
    for path in (f"/v2/secure-payments/{token}/cancel", f"/v2/request/{request_of(shop)}/cancel"):
        for headers in (shop.by_client, {}):
            assert shop.api.request("POST", path, None, headers).status in (401, 403), path
    payment = link_reading.load(running(), token)
    assert payment is not None and payment.link.cancelled_at is None


def test_what_another_account_has_is_not_found(shop: Shop, new_shop: Shop) -> None:
    token, _ = link_of(shop)
    for path in (f"secure-payments/{token}", f"request/{request_of(shop)}", "request/unknown", "secure-payments/unknown"):
        reply = shop.api.request("POST", f"/v2/{path}/cancel", None, new_shop.by_key)
        assert reply.status == 404, path


def test_what_is_paid_is_refused(shop: Shop) -> None:
    token, request_id = link_of(shop)
    complete(token)
    reply = cancel(shop, f"secure-payments/{token}")
    assert (reply.status, reply.message) == (409, "This is paid already: what was received can be refunded")
    assert cancel(shop, f"request/{request_id}").status == 400, "it is part of a link"
