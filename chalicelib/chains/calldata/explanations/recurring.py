"""Explains the payments of a schedule, which the service's own account makes for the payer who signed it."""

from chalicelib.base.signatures import SIGNATURE_BYTES
from chalicelib.chains.calldata.explanations.parts import DecodedCall, ExpectedEvent, Explanation, explanation_of
from chalicelib.chains.calldata.explanations.payments import PAYMENT_EVENT
from chalicelib.chains.calldata.fee_proxy import REFERENCE_LENGTH
from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY


def recurring_payment(call: DecodedCall) -> Explanation:
    """One payment of a schedule. Raises ValueError with the reason if this package would not write the arguments."""
    words, values, event = call.words, call.values, _event(call)
    if len(values["signature"]) != SIGNATURE_BYTES:
        raise ValueError("its signature has another length")

    def amount_text(units: int) -> str:
        return words.token_amount(units, event.token)

    fee = f"with {amount_text(event.fee_amount)} fee to {event.fee_address}" if event.fee_amount else "without a fee"
    sender = values["p.relayerFee"]
    summary = (
        f"Pay {amount_text(event.amount)} of {call.address('p.subscriber')} to {event.payee} {fee}"
        f"{f', and {amount_text(sender)} to the sender' if sender else ''}, as payment {values['index']} of the "
        f"{values['p.totalPayments']} of a signed schedule, reference {event.payment_reference}"
    )
    token = words.token_at(event.token)
    amounts = ("p.amount", "p.feeAmount", "p.relayerFee")
    human = {"p.token": token.symbol if token else None, **{name: words.human(values[name], token) for name in amounts}}
    return explanation_of(call, summary, human, event)


def _event(call: DecodedCall) -> ExpectedEvent:
    """The event of the fee proxy, which the contract pays through."""
    values = call.values
    reference = values["paymentReference"]
    if len(reference) != REFERENCE_LENGTH:
        raise ValueError("its payment reference has another length")
    return ExpectedEvent(
        name=PAYMENT_EVENT,
        contract=ERC20_FEE_PROXY,
        address=call.words.address_of_contract(ERC20_FEE_PROXY),
        token=call.address("p.token"),
        payee=call.address("p.recipient"),
        amount=values["p.amount"],
        fee_amount=values["p.feeAmount"],
        fee_address=call.address("p.feeAddress"),
        payment_reference="0x" + reference.hex(),
    )
