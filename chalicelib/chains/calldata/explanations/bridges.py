"""Explains deposits into the bridge: what leaves, what it pays on the other chain, who gets the tokens if it fails."""

from collections.abc import Callable
from typing import Any

from chalicelib.base.addresses import ZERO_ADDRESS, same_address
from chalicelib.chains.calldata.bridges import across
from chalicelib.chains.calldata.bridges.lifi import START, SWAP_AND_START, decode_receiver_message, deposit_of
from chalicelib.chains.calldata.explanations.decode import SELECTOR
from chalicelib.chains.calldata.explanations.parts import DecodedCall, Explanation, explanation_of
from chalicelib.chains.calldata.explanations.wording import Wording, time_text
from chalicelib.chains.calldata.tokens.erc20 import approve
from chalicelib.chains.catalogue.contracts import ACROSS_HANDLER, LIFI_RECEIVER, contracts_on
from chalicelib.chains.catalogue.networks import Network, network_of_chain

Explain = Callable[[Wording, str, str, int], Explanation]
Calls = tuple[tuple[str, str, int], ...]
_DEPOSITS = {each.hex() for each in (across.DEPOSIT, START, SWAP_AND_START)}


def deposit(call: DecodedCall, explain: Explain) -> Explanation:
    """A deposit whose tokens pay on another chain; `explain` explains the calls there.

    Raises ValueError with the reason if this package would not read the arguments.
    """
    arguments: list[Any] = [
        call.address(name) if kind == "address" else call.values[name] for name, kind in across.DEPOSIT_PARAMETERS
    ]
    made = across.Deposit(*arguments)
    there = _destination(made.destination_chain_id)
    words = Wording(there)
    human = {
        "inputAmount": call.words.human(made.input_amount, call.words.token_at(made.input_token)),
        "outputAmount": words.human(made.output_amount, words.token_at(made.output_token)),
        "destinationChainId": there.name,
        "exclusiveRelayer": "anybody" if made.exclusive_relayer == ZERO_ADDRESS else None,
        "quoteTimestamp": time_text(made.quote_timestamp),
        "fillDeadline": time_text(made.fill_deadline),
    }
    return _explain_deposit(call, made, made.input_amount, human, explain)


def diamond_deposit(call: DecodedCall, explain: Explain) -> Explanation:
    """A deposit that LI.FI's diamond makes, with its fees. Raises ValueError as `deposit` does."""
    signed = deposit_of(call.values["_bridgeData"], call.values.get("_swapData"), call.values["_acrossData"])
    return _explain_deposit(call, signed.deposit, signed.taken, {}, explain)


def _explain_deposit(
    call: DecodedCall, made: across.Deposit, taken: int, human: dict[str, str | None], explain: Explain
) -> Explanation:
    there = _destination(made.destination_chain_id)
    words = Wording(there)
    inner, fallback = _calls(made, there)
    if any(data[2 : 2 + 2 * SELECTOR] in _DEPOSITS for _, data, _ in inner):
        raise ValueError("it is followed by another deposit")
    calls = tuple(explain(words, *each) for each in inner)

    def amount(units: int) -> str:
        return call.words.token_amount(units, made.input_token)

    fees = f" and {amount(taken - made.input_amount)} of fees" if taken != made.input_amount else ""
    summary = (
        f"Deposit {amount(made.input_amount)} into the bridge{fees} for "
        f"{words.token_amount(made.output_amount, made.output_token)} on {there.name}, with {_number_of(calls)} there; "
        f"what the calls leave, all of it if one fails, goes to {fallback} on {there.name}; if nobody brings it by "
        f"{time_text(made.fill_deadline)}, {amount(made.input_amount)} go back to {made.depositor}; accepted until "
        f"{time_text(made.quote_timestamp + across.QUOTE_SECONDS)}"
    )
    return explanation_of(call, summary, human, calls=calls)


def _calls(made: across.Deposit, there: Network) -> tuple[Calls, str]:
    """The calls that the tokens make on the other chain, and who gets what is left."""
    if same_address(made.recipient, contracts_on(there.name).get(ACROSS_HANDLER, "")):
        message = across.decode_message(made.message)
        if message is not None:
            return message.calls, message.fallback
    elif same_address(made.recipient, contracts_on(there.name).get(LIFI_RECEIVER, "")):
        only = decode_receiver_message(made.message)
        if only is not None:
            approval = approve(only.token, only.target, only.amount)
            return ((approval.to, approval.data, 0), (only.target, only.data, 0)), only.receiver
    else:
        raise ValueError("the tokens go to a contract that makes no payments")
    raise ValueError("its message is not one for the contract that gets the tokens")


def _destination(chain_id: int) -> Network:
    found = network_of_chain(chain_id)
    if found is None:
        raise ValueError("the chain that it leads to is not known")
    return found


def _number_of(calls: tuple[Explanation, ...]) -> str:
    unknown = sum(each.function is None for each in calls)
    number = f"{len(calls)} call{'' if len(calls) == 1 else 's'}"
    return f"{number} ({unknown} of them unknown: do not sign unless you know them)" if unknown else number
