"""Transactions, what they do and what they would do, as responses."""

from typing import Literal

from chalicelib.calldata.explanation import ExpectedEvent, Explanation
from chalicelib.calldata.transaction import Transaction
from chalicelib.http.schemas import Output

ValueForm = Literal["plain", "bignumber"]


class TransactionAnswer(Output):
    """What to sign. `value` is 0 or a hex string in base units of the native coin; by setting, an ethers BigNumber.

    `feeLimit`, on tron, is the most TRX the transaction may burn, in sun.
    """

    data: str
    to: str
    value: int | str | dict[str, str]
    feeLimit: int | None = None


class SafeTransactionAnswer(Output):
    """All transactions as the one that a Safe executes: `operation` 1 runs MultiSendCallOnly as the Safe."""

    to: str
    value: str
    data: str
    operation: int


class ArgumentAnswer(Output):
    name: str
    type: str
    value: str
    human: str | None


class ExpectedEventAnswer(Output):
    """What the contract emits when the call succeeds; amounts in base units, `token` null for the native coin."""

    name: str
    contract: str
    address: str | None
    token: str | None
    payee: str
    amount: str
    feeAmount: str
    feeAddress: str
    paymentReference: str


class ExplanationAnswer(Output):
    """One call, decoded from the bytes that are to be signed. `function` null: the bytes are unknown.

    `value` is in base units of the native coin; `calls` are those that it makes in turn.
    """

    to: str | None
    contract: str
    function: str | None
    arguments: list[ArgumentAnswer]
    value: str
    valueHuman: str | None
    expectedEvent: ExpectedEventAnswer | None
    calls: list["ExplanationAnswer"]
    summary: str


class SimulatedStepAnswer(Output):
    """`success` null: it cannot be said before the transactions ahead of it are made."""

    index: int
    success: bool | None
    revertReason: str | None
    gas: int | None


class SimulationAnswer(Output):
    method: str
    success: bool | None
    steps: list[SimulatedStepAnswer]


def explanation_answer(explanation: Explanation) -> ExplanationAnswer:
    """A decoded call, with the calls inside it."""
    event = explanation.expected_event
    return ExplanationAnswer(
        to=explanation.to,
        contract=explanation.contract,
        function=explanation.function,
        arguments=[
            ArgumentAnswer(name=each.name, type=each.type, value=each.value, human=each.human)
            for each in explanation.arguments
        ],
        value=str(explanation.value),
        valueHuman=explanation.value_human,
        expectedEvent=None if event is None else _event(event),
        calls=[explanation_answer(each) for each in explanation.calls],
        summary=explanation.summary,
    )


def _event(event: ExpectedEvent) -> ExpectedEventAnswer:
    return ExpectedEventAnswer(
        name=event.name,
        contract=event.contract,
        address=event.address,
        token=event.token,
        payee=event.payee,
        amount=str(event.amount),
        feeAmount=str(event.fee_amount),
        feeAddress=event.fee_address,
        paymentReference=event.payment_reference,
    )


def transaction_answer(transaction: Transaction, value_form: ValueForm) -> TransactionAnswer:
    """A transaction to sign; its value in the form that the deployment chose."""
    if value_form == "bignumber":
        digits = f"{transaction.value:x}"
        padded = digits.rjust(len(digits) + len(digits) % 2, "0")
        value: int | str | dict[str, str] = {"type": "BigNumber", "hex": f"0x{padded}"}
    else:
        value = hex(transaction.value) if transaction.value else 0
    return TransactionAnswer(data=transaction.data, to=transaction.to, value=value)
