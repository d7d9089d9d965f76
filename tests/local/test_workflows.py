"""Each workflow of docs/workflows.arazzo.yaml, executed by an unmodified runner against a stack."""

import time
from typing import Any

import pytest
from arazzo_runner import ArazzoRunner, WorkflowExecutionStatus

from chalicelib.platform.http.documents import FOLDER, WORKFLOWS
from infra.local.outsiders.payer import Payer
from infra.local.outsiders.receiver import Receiver
from tests.local.running import SHARED, SharedStack
from tests.support.patience import patience

pytestmark = pytest.mark.xdist_group(SHARED)
CURRENCY = "fUSDC-sepolia"


class Integration:
    """Runs workflows with the API key of a stack, and signs what they return."""

    def __init__(self, stack: dict[str, Any]) -> None:
        self.stack = stack
        self.payer = Payer(stack["rpc"]["sepolia"], stack["payer"]["private_key"])
        self.runner = ArazzoRunner.from_arazzo_path(str(FOLDER / WORKFLOWS))
        for description in self.runner.source_descriptions.values():
            description["servers"] = [{"url": stack["base_url"]}]

    def run(self, workflow: str, **inputs: str) -> dict[str, Any]:
        """The outputs of a workflow."""
        result = self.runner.execute_workflow(workflow, {"apiKey": self.stack["api_key"], **inputs})
        assert result.status is WorkflowExecutionStatus.WORKFLOW_COMPLETE, result
        return dict(result.outputs)

    def wait(self, workflow: str, **inputs: str) -> dict[str, Any]:
        """The outputs of a workflow of one step that is repeated: the runner makes each step once and reports it."""
        deadline = time.monotonic() + patience(5)
        (repeated,) = next(each for each in self.runner.arazzo_doc["workflows"] if each["workflowId"] == workflow)["steps"]
        while True:
            result = self.runner.execute_workflow(workflow, {"apiKey": self.stack["api_key"], **inputs})
            if result.status is WorkflowExecutionStatus.WORKFLOW_COMPLETE:
                return dict(result.outputs)
            assert time.monotonic() < deadline, result
            time.sleep(repeated["onFailure"][0]["retryAfter"])

    def terms(self, **more: str) -> dict[str, str]:
        return {"payer": self.payer.address, "amount": "12.50", "currency": CURRENCY, **more}

    def pay_all(self, transactions: list[dict[str, Any]]) -> None:
        for transaction in transactions:
            self.payer.pay(transaction)


@pytest.fixture
def integration(shared_stack: SharedStack) -> Integration:
    return Integration(shared_stack.description())


def test_a_request_is_paid_awaited_and_refunded_in_part(integration: Integration) -> None:
    payee = integration.stack["payee"]
    made = integration.run("requestPayment", **integration.terms(payee=payee, reference="workflow"))
    integration.pay_all(made["transactions"])
    paid = integration.wait("awaitPayment", requestId=made["requestId"])
    assert (paid["status"], paid["paidAmount"]) == ("paid", "12.5") and paid["txHash"]
    refund = integration.run("refundPayment", requestId=made["requestId"], amount="2.50")
    assert refund["payer"] == integration.payer.address and refund["transactions"]


def test_a_link_is_made_shown_and_paid(integration: Integration) -> None:
    made = integration.run("sellByLink", **integration.terms(payee=integration.stack["payee"]))
    assert made["securePaymentUrl"].startswith("http")
    integration.pay_all(made["transactions"])
    assert integration.wait("awaitPayment", requestId=made["requestId"])["status"] == "paid"


def test_two_payees_are_paid_in_one_transaction(integration: Integration) -> None:
    payees = {"firstPayee": integration.stack["payee"], "secondPayee": "0x" + "ab" * 20}
    made = integration.run("payOut", **integration.terms(**payees))
    integration.pay_all([*made["approvals"], made["transaction"]])


def test_a_webhook_is_registered_and_its_sample_arrives_signed(integration: Integration) -> None:
    receiver = Receiver("/workflow")
    made = integration.run("receiveEvents", url=receiver.url)
    assert integration.wait("awaitDelivery", webhookId=made["webhookId"]) == {"event": "payment.confirmed"}
    received = receiver.next(time.monotonic() + patience())
    assert received is not None and received.signature_is_right(made["secret"])
