"""Models of transactions, their explanations and their simulations."""

from typing import Any, Literal

from pydantic import Field

from chalicelib.chains.calldata.explanations.parts import ExpectedEvent, Explanation
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.platform.http.schemas import Output
from chalicelib.platform.settings import ValueForm


class TransactionAnswer(Output):
    """A transaction to sign. `value`, in base units of the coin, is 0, hex text or, by setting, an ethers BigNumber.

    `feeLimit`, on Tron only, is the most TRX that the transaction may burn, in sun.
    """

    data: str
    to: str
    value: int | str | dict[str, str]
    feeLimit: int | None = Field(default=None, description="On Tron: the most that it may cost, in sun")
    sender: str | None = Field(
        default=None, serialization_alias="from", description="From another chain: the wallet that sends it"
    )
    gasLimit: str | None = Field(default=None, description="From another chain: the gas that it takes at most, as hex")
    chainType: Literal["evm"] | None = Field(default=None, description="From another chain: the kind of its network")


class SafeTransactionAnswer(Output):
    """All transactions as one for a Safe to execute: `operation` 1 is a delegate call to MultiSendCallOnly."""

    to: str = Field(description="The contract that the Safe calls")
    value: str = Field(description="In the smallest unit of the native coin")
    data: str = Field(description="The bytes of the call")
    operation: int = Field(description="0 for a call, 1 for a delegate call")


class ArgumentAnswer(Output):
    name: str
    type: str
    value: str
    human: str | None


class ExpectedConversionAnswer(Output):
    """How a contract converts: by price feeds between the currencies of `path`, from the invoice's to what is paid."""

    path: list[str] = Field(description="The hashes of the currencies")
    maxToSpend: str = Field(description="The most that amount and fee may cost, in base units of what is paid")
    maxRateAge: int = Field(description="How old the oldest rate may be, in seconds")


class ExpectedEventAnswer(Output):
    """The event emitted if the call succeeds; amounts in base units, `token` null for the native coin.

    With a conversion the amounts are in the currency of the invoice, fiat with 8 decimals, and `token` is what is paid.
    """

    name: str
    contract: str
    address: str | None
    token: str | None
    payee: str
    amount: str
    feeAmount: str
    feeAddress: str
    paymentReference: str
    conversion: ExpectedConversionAnswer | None = Field(None, description="Absent if the amount is in what is paid")


class ExplanationAnswer(Output):
    """One call, decoded from the bytes to be signed. `function` is null if the bytes are unknown.

    `value` is in base units of the native coin; `calls` are the calls that this call makes.
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
    """`success` is null if it depends on earlier transactions that were not simulated."""

    index: int = Field(description="Its place in `transactions`")
    success: bool | None = Field(description="Whether it would succeed")
    revertReason: str | None = Field(description="Why not")
    gas: int | None = Field(description="What it would use")


class SimulationAnswer(Output):
    method: str = Field(description="How the node ran them")
    success: bool | None = Field(description="Whether all would succeed")
    steps: list[SimulatedStepAnswer] = Field(description="One by one")


def explanation_answer(explanation: Explanation) -> ExplanationAnswer:
    """A decoded call, with the calls inside it."""
    event = explanation.expected_event
    return ExplanationAnswer.from_record(
        explanation,
        arguments=[ArgumentAnswer.from_record(each) for each in explanation.arguments],
        value=str(explanation.value),
        expectedEvent=None if event is None else _event(event),
        calls=[explanation_answer(each) for each in explanation.calls],
    )


def _event(event: ExpectedEvent) -> ExpectedEventAnswer:
    return ExpectedEventAnswer.from_record(
        event, amount=str(event.amount), feeAmount=str(event.fee_amount), **_conversion(event)
    )


def _conversion(event: ExpectedEvent) -> dict[str, Any]:
    if event.conversion is None:
        return {}
    path, most, age = event.conversion.path, event.conversion.max_to_spend, event.conversion.max_rate_age
    shown = [*path[:-1], event.token or path[-1]]  # the token that ends it in EIP-55
    return {"conversion": ExpectedConversionAnswer(path=shown, maxToSpend=str(most), maxRateAge=age)}


def transaction_answer(transaction: Transaction, value_form: ValueForm) -> TransactionAnswer:
    """A transaction to sign, with its value in the form that the deployment is set to."""
    return TransactionAnswer(data=transaction.data, to=transaction.to, value=_value(transaction.value, value_form))


def _value(units: int, form: ValueForm) -> int | str | dict[str, str]:
    if form == "hex":
        return hex(units)
    if form == "bignumber" or (form == "mixed" and units):
        digits = f"{units:x}"
        return {"type": "BigNumber", "hex": f"0x{digits.zfill(len(digits) + len(digits) % 2)}"}
    return hex(units) if units else 0
