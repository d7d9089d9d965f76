"""Explains deposits into the bridge: what leaves, what it pays on the other chain, who gets the tokens if it fails."""

from collections.abc import Callable
from datetime import UTC, datetime

from chalicelib.base.addresses import ZERO_ADDRESS, same_address
from chalicelib.calldata.across import DEPOSIT, QUOTE_SECONDS, decode_message
from chalicelib.calldata.explanations.decode import SELECTOR
from chalicelib.calldata.explanations.parts import DecodedCall, Explanation, explanation_of
from chalicelib.calldata.explanations.wording import Wording
from chalicelib.catalogue.contracts import ACROSS_HANDLER, address_of
from chalicelib.catalogue.networks import Network, network_of_chain

Explain = Callable[[Wording, str, str, int], Explanation]


def deposit(call: DecodedCall, explain: Explain) -> Explanation:
    """A deposit whose tokens pay on another chain; `explain` explains the calls there.

    Raises ValueError with the reason if this package would not write the arguments.
    """
    values, there = call.values, _destination(call.values["destinationChainId"])
    if not same_address(call.address("recipient"), _handler(there)):
        raise ValueError("the tokens go to a contract that makes no payments")
    message = decode_message(values["message"])
    if message is None:
        raise ValueError("its message is not one for the contract that gets the tokens")
    if any(data[2 : 2 + 2 * SELECTOR] == DEPOSIT.hex() for _, data, _ in message.calls):
        raise ValueError("it is followed by another deposit")
    words = Wording(there)
    calls = tuple(explain(words, *each) for each in message.calls)
    taken = call.words.token_amount(values["inputAmount"], call.address("inputToken"))
    brought = words.token_amount(values["outputAmount"], call.address("outputToken"))
    summary = (
        f"Deposit {taken} into the bridge for {brought} on {there.name}, with {_number_of(calls)} there; what the "
        f"calls leave, all of it if one fails, goes to {message.fallback} on {there.name}; if nobody brings it by "
        f"{_time(values['fillDeadline'])}, {taken} go back to {call.address('depositor')}; accepted until "
        f"{_time(values['quoteTimestamp'] + QUOTE_SECONDS)}"
    )
    human = {
        "inputAmount": call.words.human(values["inputAmount"], call.words.token_at(call.address("inputToken"))),
        "outputAmount": words.human(values["outputAmount"], words.token_at(call.address("outputToken"))),
        "destinationChainId": there.name,
        "recipient": ACROSS_HANDLER,
        "exclusiveRelayer": "anybody" if call.address("exclusiveRelayer") == ZERO_ADDRESS else None,
        "quoteTimestamp": _time(values["quoteTimestamp"]),
        "fillDeadline": _time(values["fillDeadline"]),
    }
    return explanation_of(call, summary, human, calls=calls)


def _destination(chain_id: int) -> Network:
    found = network_of_chain(chain_id)
    if found is None:
        raise ValueError("the chain that it leads to is not known")
    return found


def _handler(network: Network) -> str:
    try:
        return address_of(ACROSS_HANDLER, network.name)
    except LookupError:
        raise ValueError("the chain that it leads to has no contract that makes payments") from None


def _number_of(calls: tuple[Explanation, ...]) -> str:
    unknown = sum(each.function is None for each in calls)
    number = f"{len(calls)} call{'' if len(calls) == 1 else 's'}"
    return f"{number} ({unknown} of them unknown: do not sign unless you know them)" if unknown else number


def _time(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
