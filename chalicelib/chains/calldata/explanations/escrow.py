"""Explains the calls of commerce payments: what the escrow may take, what it holds, and who gets it."""

from chalicelib.base.addresses import ZERO_ADDRESS
from chalicelib.chains.calldata.explanations.parts import DecodedCall, Explanation, explanation_of
from chalicelib.chains.calldata.explanations.wording import time_text
from chalicelib.chains.catalogue import escrows

_AMOUNTS = ("paymentInfo.maxAmount", "amount")
_TIMES = ("paymentInfo.preApprovalExpiry", "paymentInfo.authorizationExpiry", "paymentInfo.refundExpiry")
_PAYMENT_COLLECTORS = (escrows.PRE_APPROVAL_COLLECTOR, escrows.ERC3009_COLLECTOR, escrows.PERMIT2_COLLECTOR)
_FEES = ("paymentInfo.minFeeBps", "paymentInfo.maxFeeBps", "feeBps")


def pre_approval(call: DecodedCall) -> Explanation:
    """What the payer allows. All of these raise ValueError for what this package would not write."""
    most = call.values["paymentInfo.maxFeeBps"]
    fee = f", less a fee of at most {_percent(most)}" if most else ""
    summary = (
        f"Let {call.address('paymentInfo.operator')} put up to {_amount(call, 'paymentInfo.maxAmount')} of "
        f"{call.address('paymentInfo.payer')} into escrow until {_time(call, 'preApprovalExpiry')}, and pay it out to "
        f"{call.address('paymentInfo.receiver')}{fee}; what was not paid out until "
        f"{_time(call, 'authorizationExpiry')} can be taken back"
    )
    return _explain_call(call, summary)


def authorization(call: DecodedCall) -> Explanation:
    summary = (
        f"Put {_amount(call)} of {call.address('paymentInfo.payer')} into escrow for "
        f"{call.address('paymentInfo.receiver')}, until {_time(call, 'authorizationExpiry')}"
    )
    return _explain_call(call, summary)


def charge(call: DecodedCall) -> Explanation:
    return _explain_call(
        call, f"Take {_amount(call)} of {call.address('paymentInfo.payer')} and pay it {_describe_payee(call)}"
    )


def capture(call: DecodedCall) -> Explanation:
    return _explain_call(call, f"Pay {_amount(call)} that is in escrow {_describe_payee(call)}")


def void(call: DecodedCall) -> Explanation:
    return _explain_call(call, f"Give all that is in escrow back to {call.address('paymentInfo.payer')}")


def reclaim(call: DecodedCall) -> Explanation:
    """All that is in escrow goes back to the payer, as by a void, but the payer sends this call."""
    return _explain_call(call, f"Take all that is in escrow back to {call.address('paymentInfo.payer')}")


def refund(call: DecodedCall) -> Explanation:
    payer, operator = call.address("paymentInfo.payer"), call.address("paymentInfo.operator")
    return _explain_call(call, f"Refund {_amount(call)} of {operator} to {payer}", (escrows.REFUND_COLLECTOR,))


def _describe_payee(call: DecodedCall) -> str:
    """To whom, and with which fee."""
    bps, receiver = call.values["feeBps"], call.address("feeReceiver")
    fee = f"with {_percent(bps)} of it as a fee to {receiver}" if bps else "without a fee"
    return f"to {call.address('paymentInfo.receiver')} {fee}"


def _amount(call: DecodedCall, name: str = "amount") -> str:
    return call.words.token_amount(call.values[name], call.address("paymentInfo.token"))


def _time(call: DecodedCall, name: str) -> str:
    return time_text(call.values[f"paymentInfo.{name}"])


def _percent(bps: int) -> str:
    """Basis points as a percentage: 250 is `2.5 %`."""
    return f"{bps // 100}.{bps % 100:02d}".rstrip("0").rstrip(".") + " %"


def _explain_call(call: DecodedCall, summary: str, collectors: tuple[str, ...] = _PAYMENT_COLLECTORS) -> Explanation:
    """Raises ValueError if the tokens are taken by anything but these collectors."""
    token = call.words.token_at(call.address("paymentInfo.token"))
    human = {
        "paymentInfo.token": token.symbol if token else None,
        **{name: call.words.human(call.values[name], token) for name in _AMOUNTS if name in call.values},
        **{name: time_text(call.values[name]) for name in _TIMES},
        **{name: _percent(call.values[name]) for name in _FEES if name in call.values},
    }
    if call.address("paymentInfo.feeReceiver") == ZERO_ADDRESS:
        human["paymentInfo.feeReceiver"] = "whom the operator names"
    if "tokenCollector" in call.values:
        human["tokenCollector"] = call.words.contract_at(call.address("tokenCollector"))
        if call.words.network is not None and human["tokenCollector"] not in collectors:
            raise ValueError("the tokens are taken by another contract than a collector")
    return explanation_of(call, summary, human)
