"""Explains calls of tokens: approvals and transfers."""

from chalicelib.chains.calldata.explanations.parts import DecodedCall, Explanation, explanation_of


def approve(call: DecodedCall) -> Explanation:
    words, amount, spender = call.words, call.values["amount"], call.address("spender")
    if amount == 0:
        summary = f"Withdraw what {words.spender(spender)} may still take of {words.symbol(call.to)}"
    else:
        summary = f"Allow {words.spender(spender)} to take {words.allowance(amount, call.to)}"
    return explanation_of(call, summary, {"spender": words.contract_at(spender), "amount": _amount(call)})


def transfer(call: DecodedCall) -> Explanation:
    summary = f"Send {call.words.token_amount(call.values['amount'], call.to)} to {call.address('to')}"
    return explanation_of(call, summary + ", without a payment reference", {"amount": _amount(call)})


def transfer_from(call: DecodedCall) -> Explanation:
    amount = call.words.token_amount(call.values["amount"], call.to)
    summary = f"Move {amount} from {call.address('from')} to {call.address('to')}, without a payment reference"
    return explanation_of(call, summary, {"amount": _amount(call)})


def _amount(call: DecodedCall) -> str | None:
    return call.words.human(call.values["amount"], call.words.token_at(call.to))
