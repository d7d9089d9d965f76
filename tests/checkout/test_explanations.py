"""How the explanation of a transaction is shown: the event that it will emit, and how a contract converts."""

from chalicelib.chains.calldata.conversions.proxy import Conversion, ConvertedPayment, pay_erc20_converted
from chalicelib.chains.calldata.explanations.calls import explain
from chalicelib.chains.calldata.fee_proxy import pay_erc20
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.conversions import conversion_path
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.payments.transactions import explanation_answer

PAYEE, REFERENCE = "0xf17f52151EbEF6C7334FAD080c5704D77216b732", bytes.fromhex("11497d24d1a76c9b")
EUR, USDC = token_with_id("EUR"), token_with_id("USDC-mainnet")
assert EUR is not None and USDC is not None
PATH = conversion_path(EUR, USDC)
assert PATH is not None


def shown(transaction: Transaction) -> dict[str, object]:
    (explanation,) = explain("mainnet", [transaction])
    event = explanation_answer(explanation).model_dump(exclude_unset=True)["expectedEvent"]
    assert isinstance(event, dict)
    return event


def test_the_event_of_a_conversion_says_what_is_owed_in_which_currency_and_what_it_may_cost() -> None:
    conversion = Conversion(PATH, 13_600_000, 3600)
    event = shown(pay_erc20_converted("mainnet", ConvertedPayment(PAYEE, 1_250_000_000, REFERENCE, conversion)))
    assert (event["name"], event["contract"]) == ("TransferWithConversionAndReference", "Erc20ConversionProxy")
    assert (event["amount"], event["token"]) == ("1250000000", USDC.address)
    path = [*PATH[:-1], USDC.address]  # the token in EIP-55; hashes of currencies as they are
    assert event["conversion"] == {"path": path, "maxToSpend": "13600000", "maxRateAge": 3600}


def test_a_payment_without_a_conversion_says_nothing_of_one() -> None:
    event = shown(
        pay_erc20(
            "mainnet", token=USDC.address, payee=PAYEE, amount=5, reference=REFERENCE, fee_amount=0, fee_address=None
        )
    )
    assert "conversion" not in event
