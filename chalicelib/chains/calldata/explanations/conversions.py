"""Explains payments through the conversion proxies, single or in a batch.

Each function raises ValueError with the reason if this package would not write the arguments.
"""

from chalicelib.chains.calldata.conversions.proxy import Conversion
from chalicelib.chains.calldata.explanations import parts
from chalicelib.chains.calldata.explanations.wording import Wording
from chalicelib.chains.catalogue.contracts import ERC20_CONVERSION_PROXY
from chalicelib.chains.catalogue.conversions import conversion_path

CONVERSION_EVENT = "TransferWithConversionAndReference"


def explain_conversion(call: parts.DecodedCall) -> parts.Explanation:
    """A payment through either conversion proxy."""
    words, event = call.words, _event(call)
    assert event.conversion is not None
    currency = event.conversion.path[0]

    def format_invoice(units: int) -> str:
        return words.invoice_amount(units, currency)

    most = format_spent(words, event.token, event.conversion.max_to_spend)
    fee = f"with {format_invoice(event.fee_amount)} fee to {event.fee_address}" if event.fee_amount else "without a fee"
    age = event.conversion.max_rate_age
    summary = (
        f"Pay {format_invoice(event.amount)} to {event.payee} {fee}, converted to at most {most} at rates of the last "
        f"{age} second{'s' if age > 1 else ''}, reference {event.payment_reference}"
    )
    known = words.currency(currency)
    human: dict[str, str | None] = {
        "_requestAmount": format_invoice(event.amount) if known else None,
        "_feeAmount": format_invoice(event.fee_amount) if known else None,
        "_path": " > ".join(each.symbol if (each := words.currency(hash)) else hash for hash in event.conversion.path),
        "_maxToSpend": words.human(event.conversion.max_to_spend, words.token_at(event.token)),
    }
    return parts.explanation_of(call, summary, human, event)


def format_spent(words: Wording, token: str | None, units: int) -> str:
    """An amount of a token, or of the native coin, for a summary."""
    return words.coin_amount(units) if token is None else words.token_amount(units, token)


def _event(call: parts.DecodedCall) -> parts.ExpectedEvent:
    """The event that the conversion proxy will emit."""
    words, values, contract = call.words, call.values, call.function.contract or ""
    path = tuple(f"0x{currency.hex()}" for currency in values["_path"])
    most = values["_maxToSpend"] if contract == ERC20_CONVERSION_PROXY else call.value
    conversion = Conversion(path, most, values["_maxRateTimespan"])
    _check_path(words, path, contract)
    token = words.address(values["_path"][-1]) if contract == ERC20_CONVERSION_PROXY else None
    return parts.expect_event(call, CONVERSION_EVENT, token, values["_requestAmount"], conversion)


def _check_path(words: Wording, path: tuple[str, ...], contract: str) -> None:
    """Without a network no path is known, and any is accepted."""
    if words.network is None:
        return
    if words.is_coin(path[-1]) == (contract == ERC20_CONVERSION_PROXY):
        raise ValueError("the contract does not pay in the currency that ends its path")
    invoice, payment = words.currency(path[0]), words.currency(path[-1])
    known = conversion_path(invoice, payment) if invoice and payment else None
    if known != path:
        raise ValueError("it does not convert by a path of the catalogue")
