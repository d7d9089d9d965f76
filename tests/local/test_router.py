"""The local router, asked by the unmodified @lifi/sdk: quotes, statuses, errors, limits, and what commands change."""

import time
from datetime import UTC, datetime
from typing import Any

import pytest
import requests

from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.contracts import ACROSS_SPOKE_POOL, address_of
from chalicelib.crosschain.service.router.rules import DESTINATION_GAS, Wanted
from chalicelib.crosschain.service.router.verification import Limits, verify
from chalicelib.platform.outbound.lifi import Lifi, QuoteCall
from infra.local.across import Bridge
from infra.local.across_relayer import Relayer
from infra.local.router import KEY, LIMIT, Router
from tests.local.bridge_payer import AMOUNT, FEE, HERE, THERE, BridgePayer
from tests.support.patience import patience

pytestmark = pytest.mark.xdist_group("bridge")


def command(router: Router, name: str, body: Any) -> Any:
    answer = requests.post(f"{router.url}/control/{name}", json=body, timeout=patience())
    assert answer.status_code == 200, answer.text
    return answer.json()


def quoted(router: Router, payer: BridgePayer, timeout: float = 60, **headers: str) -> requests.Response:
    """The answer to a request for a quote, with its headers."""
    url = f"{router.url}/v1/quote/contractCalls"
    return requests.post(url, json=payer.wanted(), headers=headers, timeout=timeout)


class TestQuotes:
    def test_a_quote_costs_more_than_it_brings_and_names_what_to_approve_and_to_send(self, payer: BridgePayer) -> None:
        step = payer.quote(integrator="shop")
        action, estimate, transaction = step["action"], step["estimate"], step["transactionRequest"]
        pool = address_of(ACROSS_SPOKE_POOL, "base")
        assert (step["type"], step["tool"], step["integrator"]) == ("lifi", "across", "shop")
        assert estimate["approvalAddress"] == transaction["to"] == pool
        assert int(estimate["toAmountMin"]) == int(estimate["toAmount"]) == AMOUNT + FEE
        [fee] = estimate["feeCosts"]
        assert int(estimate["fromAmount"]) == AMOUNT + FEE + int(fee["amount"]) == int(action["fromAmount"])
        assert (action["fromChainId"], action["toChainId"]) == (8453, 42161) == (transaction["chainId"], 42161)
        assert (transaction["from"], transaction["value"]) == (payer.address, "0x0")
        assert [each["type"] for each in step["includedSteps"]] == ["cross"]

    def test_two_quotes_have_two_ids(self, payer: BridgePayer) -> None:
        assert payer.quote()["id"] != payer.quote()["id"]

    def test_a_quote_for_the_payments_call_has_it_byte_for_byte(self, payer: BridgePayer) -> None:
        call = payer.wanted()["contractCalls"][0]["toContractCallData"]
        assert call[2:] in payer.quote()["transactionRequest"]["data"]

    @pytest.mark.parametrize(
        ("wrong", "status", "code"),
        [
            ({"toToken": "0x" + "55" * 20}, 404, 1003),
            ({"fromChain": 137}, 404, 1003),
            ({"toAmount": "1000"}, 404, 1002),
            ({"toChain": 8453, "toToken": HERE.address}, 404, 1002),
            ({"fromAddress": "0x1"}, 400, 1011),
            ({"toAmount": "a lot"}, 400, 1011),
            ({"contractCalls": []}, 400, 1011),
        ],
    )
    def test_a_quote_that_cannot_be_is_an_error_with_a_code(
        self, payer: BridgePayer, wrong: dict[str, Any], status: int, code: int
    ) -> None:
        error = payer.quote(**wrong)["error"]
        assert (error["status"], error["body"]["code"]) == (status, code)
        assert error["body"]["message"]

    def test_no_route_says_why_in_words_of_the_tool(self, payer: BridgePayer) -> None:
        [why] = payer.quote(toAmount="1000")["error"]["body"]["errors"]
        assert (why["errorType"], why["code"], why["tool"]) == ("NO_QUOTE", "AMOUNT_TOO_LOW", "across")

    def test_tokens_are_those_that_can_be_paid_with(self, payer: BridgePayer) -> None:
        found = payer.ask("tokens", {"chains": "8453,42161"})["tokens"]
        assert {each["symbol"] for each in found["8453"]} == {"USDC", "USDT"}
        assert THERE.address in {each["address"] for each in found["42161"]}
        assert list(payer.ask("tokens", {"chains": "42161"})["tokens"]) == ["42161"]


class TestStatuses:
    def test_a_transfer_is_waited_for_and_then_complete(self, payer: BridgePayer, relayer: Relayer) -> None:
        sent = payer.send(payer.quote())
        assert payer.status(sent) == ("PENDING", "WAIT_DESTINATION_TRANSACTION")
        relayer.step()
        assert payer.status(sent) == ("DONE", "COMPLETED")
        answer = payer.ask("status", {"txHash": sent["transactionHash"]})
        assert answer["receiving"]["txHash"] == payer.payments()[0]["transactionHash"]
        assert (answer["sending"]["chainId"], answer["receiving"]["chainId"]) == (8453, 42161)

    def test_a_transfer_whose_call_failed_is_partial(self, payer: BridgePayer, router: Router) -> None:
        command(router, "relayer", {"isPaused": True})
        sent = payer.send(payer.quote())
        command(router, "fill", {"txHash": sent["transactionHash"], "fails": True})
        assert payer.status(sent) == ("DONE", "PARTIAL")

    def test_a_transfer_that_nobody_fills_is_refunded(
        self, payer: BridgePayer, router: Router, relayer: Relayer
    ) -> None:
        command(router, "relayer", {"isPaused": True})
        sent = payer.send(payer.quote())
        relayer.step()
        payer.there.rpc("evm_increaseTime", 7210)
        payer.there.mine()
        assert payer.status(sent) == ("PENDING", "REFUND_IN_PROGRESS")
        command(router, "refund", {"txHash": sent["transactionHash"]})
        assert payer.status(sent) == ("DONE", "REFUNDED")
        assert payer.ask("status", {"txHash": sent["transactionHash"]})["receiving"]["chainId"] == 8453

    def test_other_transactions_are_not_transfers(self, payer: BridgePayer, bridge: Bridge) -> None:
        transfer = {"to": payer.address, "value": 1}
        assert payer.status(payer.here.send(transfer, payer.key)) == ("INVALID", None)
        assert payer.status({"transactionHash": "0x" + "00" * 32}) == ("NOT_FOUND", None)
        step = payer.quote()
        payer.here.rpc("evm_increaseTime", 3700)
        payer.here.mine()
        assert payer.status(payer.send(step)) == ("FAILED", "UNKNOWN_FAILED_ERROR")
        assert payer.ask("status", {"txHash": "0x12"})["error"]["body"]["code"] == 1011

    def test_a_transaction_in_no_block_waits_for_its_chain(self, payer: BridgePayer, bridge: Bridge) -> None:
        payer.here.rpc("evm_setAutomine", False)
        try:
            hash_ = payer.here.send_as(payer.address, {"to": payer.address, "value": 1}, gas=21_000)
            assert payer.status({"transactionHash": hash_}) == ("PENDING", "WAIT_SOURCE_CONFIRMATIONS")
        finally:
            payer.here.rpc("evm_setAutomine", True)
            payer.here.mine()

    def test_what_is_said_need_not_be_true(self, payer: BridgePayer, router: Router) -> None:
        sent = payer.send(payer.quote())
        said = {"status": "DONE", "substatus": "COMPLETED"}
        command(router, "says", {sent["transactionHash"]: said})
        assert payer.status(sent) == ("DONE", "COMPLETED")
        assert payer.payments() == []
        command(router, "says", {sent["transactionHash"]: None})
        assert payer.status(sent) == ("PENDING", "WAIT_DESTINATION_TRANSACTION")


class TestLimitsAndTrouble:
    def test_quotes_are_counted_and_the_limit_is_an_error_with_the_time_to_wait(
        self, payer: BridgePayer, relayer: Relayer
    ) -> None:
        with Router(relayer, limit=2) as router:
            headers = [quoted(router, payer).headers for _ in range(2)]
            assert [each["ratelimit-remaining"] for each in headers] == ["1", "0"]
            refused = quoted(router, payer)
            assert (refused.status_code, refused.json()["code"]) == (429, 1005)
            assert 0 < int(refused.headers["retry-after"]) <= 7201
            assert quoted(router, payer, **{"x-lifi-api-key": KEY}).status_code == 200
            assert quoted(router, payer, **{"x-lifi-api-key": "another"}).json()["code"] == 1010
            payer.url = router.url
            assert payer.quote()["error"]["body"]["code"] == 1005
            assert "error" not in payer.ask("status", {"txHash": "0x" + "00" * 32})
        assert LIMIT == 75

    @pytest.mark.parametrize(
        ("case", "status", "code"),
        [("429", 429, 1005), ("500", 500, 1006), ("503", 503, 1006), ("no_route", 404, 1002)],
    )
    def test_an_error_is_given_when_it_is_asked_for(
        self, payer: BridgePayer, router: Router, case: str, status: int, code: int
    ) -> None:
        command(router, "cases", {"quote": {"case": case}})
        answer = quoted(router, payer)
        assert (answer.status_code, answer.json()["code"]) == (status, code)
        command(router, "cases", {"quote": None})
        assert quoted(router, payer).status_code == 200

    def test_a_case_can_end_by_itself(self, payer: BridgePayer, router: Router) -> None:
        command(router, "cases", {"quote": {"case": "500", "times": 2}})
        assert [quoted(router, payer).status_code for _ in range(3)] == [500, 500, 200]

    def test_html_comes_with_200(self, payer: BridgePayer, router: Router) -> None:
        command(router, "cases", {"quote": {"case": "html"}, "status": {"case": "empty"}})
        answer = quoted(router, payer)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html")
        assert answer.text.startswith("<!doctype html>")
        assert requests.get(f"{router.url}/v1/status?txHash=0x{'00' * 32}", timeout=patience()).json() == {}

    def test_a_slow_answer_is_the_usual_one_and_one_that_never_comes_ends_with_the_router(
        self, payer: BridgePayer, relayer: Relayer
    ) -> None:
        with Router(relayer) as router:
            command(router, "cases", {"quote": {"case": "slow", "seconds": 0.3}})
            started = time.monotonic()
            assert quoted(router, payer).status_code == 200
            assert time.monotonic() - started >= 0.3
            command(router, "cases", {"quote": {"case": "never"}})
            with pytest.raises(requests.ReadTimeout):
                quoted(router, payer, timeout=0.3)

    def test_a_quote_can_be_changed_on_its_way(self, payer: BridgePayer, router: Router) -> None:
        router.change = lambda step: {**step, "estimate": {**step["estimate"], "approvalAddress": payer.address}}
        assert payer.quote()["estimate"]["approvalAddress"] == payer.address

    def test_requests_are_remembered_and_commands_are_not(self, payer: BridgePayer, router: Router) -> None:
        payer.quote()
        payer.status({"transactionHash": "0x" + "00" * 32})
        command(router, "state", {})
        assert [each.path for each in router.asked] == ["/v1/quote/contractCalls", "/v1/status"]

    def test_an_unknown_command_or_deposit_is_refused(self, router: Router) -> None:
        for name, body in (("nothing", {}), ("fill", {"txHash": "0x" + "00" * 32})):
            assert requests.post(f"{router.url}/control/{name}", json=body, timeout=patience()).status_code == 404
        assert requests.get(f"{router.url}/v1/elsewhere", timeout=patience()).json()["code"] == 1003


class TestTheService:
    """The service's own client of the router, and what it lets a payer see."""

    def test_a_quote_is_one_that_a_payer_may_see(self, payer: BridgePayer, router: Router) -> None:
        wanted = payer.wanted()
        (call,) = wanted["contractCalls"]
        target, calldata = call["toContractAddress"], call["toContractCallData"]
        ends = (8453, HERE.address, payer.address, 42161, THERE.address, AMOUNT + FEE)
        asked = QuoteCall(*ends, target, calldata, DESTINATION_GAS, payer.address)
        step = Lifi(router.url, "tests", lambda: KEY).quote_call(asked)
        payment = Transaction(target, calldata, 0)
        known = Wanted(HERE, THERE, payer.address, payer.address, payment, BaseUnits(AMOUNT + FEE))
        route = verify(step, known, datetime.now(UTC), Limits(200, 5))
        assert route.source_amount == int(payer.quote()["estimate"]["fromAmount"])

    def test_a_status_is_read(self, payer: BridgePayer, router: Router, relayer: Relayer) -> None:
        sent = payer.send(payer.quote())
        relayer.step()
        status = Lifi(router.url, "tests").status(sent["transactionHash"], 8453, 42161, "across")
        assert (status.status, status.substatus) == ("DONE", "COMPLETED")
        assert (status.receiving_hash, status.receiving_chain_id) == (payer.payments()[0]["transactionHash"], 42161)
