"""Test mode: a link in the sandbox of the account, paid in part, taken back by a reorganisation, and paid; no funds."""

from typing import Any

from demo import Demo, Failed

NETWORK, AMOUNT = "base", "12.50"
LINKS = "/v2/secure-payments"


def run(demo: Demo) -> None:
    """Raises Failed at the first step that fails."""
    key = {"x-api-key": demo.stack["test_api_key"]}
    currency = f"USDC-{NETWORK}"

    def post(path: str, body: dict[str, Any], status: int = 201) -> dict[str, Any]:
        response: dict[str, Any] = demo.shop.call("POST", path, status, key, body)
        return response

    def pay(token: str, amount: str) -> dict[str, Any]:
        with demo.steps.step(f"pay {amount} of it on the virtual chain") as result:
            paid = post("/v2/test/pay", {"token": token, "amount": amount})
            if paid["transfersFound"] != 1:
                raise Failed(f"{paid['transfersFound']} transfers were found")
            result.append(f"201, {paid['transactionHash'][:18]}... in block {paid['blockNumber']}")
        return paid

    item = {"payee": demo.stack["payee"], "amount": AMOUNT, "invoiceCurrency": currency, "paymentCurrency": currency}
    with demo.steps.step(f"create a test link for {AMOUNT} USDC") as result:
        link = post(LINKS, {"requests": [item]})
        result.append(f"201, {link['securePaymentUrl']}")
    pay(link["token"], "half")
    with demo.steps.step("remove that block") as result:
        moved = post("/v2/test/reorganise", {"network": NETWORK, "blocks": 30}, 200)
        result.append(f"200, the chain of {NETWORK} goes on at block {moved['head']}")
    pay(link["token"], "full")
    with demo.steps.step("read the link again") as result:
        message = demo.shop.call("GET", f"{LINKS}/{link['token']}", 409, key)["message"]
        result.append(f"409, {message}")
    with demo.steps.step("read its events") as result:
        (request_id,) = link["requestIds"]
        listed = demo.shop.call("GET", f"/v2/events?requestId={request_id}&limit=20", 200, key)["events"]
        kinds = [each["kind"] for each in listed]
        if kinds != ["payment.partial", "payment.failed", "payment.confirmed"]:
            raise Failed(f"it has {kinds}")
        result.append(f"200, {', '.join(kinds)}")
    with demo.steps.step("create one to pay on its page") as result:
        result.append(f"201, {post(LINKS, {'requests': [item]})['securePaymentUrl']}")
