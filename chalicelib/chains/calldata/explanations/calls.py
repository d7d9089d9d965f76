"""Explains transactions from the bytes that are signed: contract, function, arguments, amounts and expected event.

Only calls that this package builds are explained: the bytes must be exactly those it would write, and the address that
of the contract. Every other call is reported as unknown as a whole.
"""

from collections.abc import Callable, Sequence
from functools import partial

from chalicelib.chains.calldata.bridges.across import DEPOSIT
from chalicelib.chains.calldata.bridges.lifi import START, SWAP_AND_START
from chalicelib.chains.calldata.escrow.calls import AUTHORIZE, CAPTURE, CHARGE, PRE_APPROVE, RECLAIM, REFUND, VOID
from chalicelib.chains.calldata.explanations import escrow, functions
from chalicelib.chains.calldata.explanations.bridges import deposit, diamond_deposit
from chalicelib.chains.calldata.explanations.decode import SELECTOR, read
from chalicelib.chains.calldata.explanations.parts import DecodedCall, Explanation, contract_name, explanation_of
from chalicelib.chains.calldata.explanations.payments import batch_groups, batch_one_token, batch_tron, single_payment
from chalicelib.chains.calldata.explanations.recurring import recurring_payment
from chalicelib.chains.calldata.explanations.wording import Wording
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.calldata.wallets.safe import unpack_transactions
from chalicelib.chains.catalogue.escrows import EscrowContracts
from chalicelib.chains.catalogue.networks import find_network as network_named


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


def explain(
    network: str, transactions: Sequence[Transaction], escrow: EscrowContracts | None = None
) -> tuple[Explanation, ...]:
    """Returns one explanation for each transaction, whatever its bytes are.

    `escrow` are the contracts of commerce payments, if they may not be those of the catalogue. Raises LookupError for a
    network that is not in the catalogue.
    """
    words = wording_of(network, escrow)
    return tuple(_explain_call(words, each.to, each.data, each.value) for each in transactions)


def explain_data(data: str, network: str | None = None, to: str | None = None, value: int = 0) -> Explanation:
    """Explains one call. If network or contract is None, the summary says that the address was not checked.

    Raises LookupError for a network that is not in the catalogue.
    """
    explanation = _explain_call(wording_of(network), to, data, value)
    if explanation.function is None or (network is not None and to is not None):
        return explanation
    return explanation._replace(summary=f"{explanation.summary}; the address of the contract was not checked")


def wording_of(network: str | None, escrow: EscrowContracts | None = None) -> Wording:
    """The texts of a network; with None those that hold on every one. Raises LookupError for an unknown network."""
    chain = None if network is None else network_named(network)
    if network is not None and chain is None:
        raise LookupError(f"{network} is not a network of the catalogue")
    return Wording(chain, escrow)


def _explain_call(words: Wording, to: str | None, data: str, value: int, bundled: bool = False) -> Explanation:
    try:
        return _explain_known_call(words, to, data, value, bundled)
    except ValueError as reason:
        return _unknown_call(words, to, data, value, str(reason))


def _explain_known_call(words: Wording, to: str | None, data: str, value: int, bundled: bool) -> Explanation:
    """Raises ValueError with the reason if this package does not build such a call."""
    raw = bytes_of(data)
    function = functions.FUNCTIONS.get(raw[:SELECTOR])
    if function is None or (bundled and raw[:SELECTOR] == functions.MULTI_SEND_CALLS):
        raise ValueError("no such function is used here")
    contract = None if to is None else words.canonical(to)
    if contract is not None and words.network is not None:
        _check_contract(words, function, contract)
    kinds = tuple(kind for _, kind in function.parameters)
    values = dict(zip(function.names, read(kinds, raw[SELECTOR:]), strict=True))
    if value and raw[:SELECTOR] not in (functions.PAY_NATIVE, functions.PAY_NATIVE_CONVERTED, functions.BATCH_GROUPS):
        raise ValueError("the function takes no native coin")
    return _EXPLAINERS[raw[:SELECTOR]](DecodedCall(words, contract, function, values, value))


def bytes_of(data: str) -> bytes:
    """Raises ValueError unless the data is 0x and whole bytes in hexadecimal, without spaces."""
    try:
        raw = bytes.fromhex(data[2:])  # twenty times faster than a pattern
    except ValueError:
        raw = b""
    if not data.startswith("0x") or 2 * len(raw) != len(data) - 2:
        raise ValueError("the data is not hexadecimal")
    return raw


def _check_contract(words: Wording, function: functions.Function, to: str) -> None:
    if function.contract is None:
        if words.contract_at(to) is not None or (words.coin is not None and words.is_coin(to)):
            raise ValueError("this is not a token")
    elif words.contract_at(to) != function.contract:
        raise ValueError(f"this is not the {function.contract} of the network")


def _unknown_call(words: Wording, to: str | None, data: str, value: int, reason: str) -> Explanation:
    try:
        selector = bytes_of(data)[:SELECTOR]
    except ValueError:
        selector = b""
    function = f"4 bytes 0x{selector.hex()}" if len(selector) == SELECTOR else "no function"
    try:
        contract = None if to is None else words.canonical(to)
    except ValueError:
        contract = None
    paying = f" with {words.coin_amount(value)}" if value else ""
    return Explanation(
        to=contract,
        contract=contract_name(words, contract),
        function=None,
        arguments=(),
        value=value,
        value_human=words.human(value, words.coin),
        summary=f"Unknown call: {function}{f' to {contract}' if contract else ''}{paying}; {reason}; "
        "do not sign unless you know it",
    )


def _multi_send(call: DecodedCall) -> Explanation:
    inner = unpack_transactions(call.values["transactions"])
    calls = tuple(_explain_call(call.words, each.to, each.data, each.value, bundled=True) for each in inner)
    unknown = sum(each.function is None for each in calls)
    summary = f"As a Safe, make {len(calls)} call{'s' if len(calls) > 1 else ''} in one transaction"
    if unknown:
        summary += f", {unknown} of them unknown; do not sign unless you know them"
    return explanation_of(call, summary, {}, calls=calls)


_EXPLAINERS: dict[bytes, Callable[[DecodedCall], Explanation]] = {
    functions.APPROVE: approve,
    functions.TRANSFER: transfer,
    functions.TRANSFER_FROM: transfer_from,
    functions.PAY_ERC20: single_payment,
    functions.PAY_NATIVE: single_payment,
    functions.PAY_ERC20_CONVERTED: single_payment,
    functions.PAY_NATIVE_CONVERTED: single_payment,
    functions.BATCH_ONE_TOKEN: batch_one_token,
    functions.BATCH_GROUPS: batch_groups,
    functions.BATCH_TRON: batch_tron,
    functions.TRIGGER_PAYMENT: recurring_payment,
    PRE_APPROVE: escrow.pre_approval,
    AUTHORIZE: escrow.authorization,
    CHARGE: escrow.charge,
    CAPTURE: escrow.capture,
    VOID: escrow.void,
    RECLAIM: escrow.reclaim,
    REFUND: escrow.refund,
    DEPOSIT: lambda call: deposit(call, partial(_explain_call, bundled=True)),
    START: lambda call: diamond_deposit(call, partial(_explain_call, bundled=True)),
    SWAP_AND_START: lambda call: diamond_deposit(call, partial(_explain_call, bundled=True)),
    functions.MULTI_SEND_CALLS: _multi_send,
}
