"""The descriptors against the functions they are of, and what a wallet shows by them against the explanations."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from eth_account._utils.encode_typed_data.encoding_and_hashing import hash_type
from eth_utils import keccak

from chalicelib.base.money import MAX_UINT256, format_amount
from chalicelib.chains.calldata.clear_signing.descriptors import descriptors
from chalicelib.chains.calldata.clear_signing.fields import UNLIMITED
from chalicelib.chains.calldata.clear_signing.functions import DISPLAYS
from chalicelib.chains.calldata.escrow.signatures import erc3009_typed_data, permit2_typed_data
from chalicelib.chains.calldata.explanations.calls import explain
from chalicelib.chains.calldata.explanations.functions import BATCH_TRON, FUNCTIONS
from chalicelib.chains.calldata.explanations.parts import Argument, Explanation
from chalicelib.chains.calldata.explanations.wording import time_text
from chalicelib.chains.calldata.recurring import typed_data as schedule
from chalicelib.chains.calldata.tokens.erc20 import approve
from chalicelib.chains.calldata.tokens.erc2612 import TokenPermit
from chalicelib.chains.calldata.tokens.erc2612 import typed_data as token_permit
from chalicelib.chains.calldata.tokens.erc3009 import Authorization
from chalicelib.chains.calldata.tokens.erc3009 import typed_data as authorization_typed_data
from chalicelib.chains.calldata.tokens.permit2 import typed_data as payment_intent
from chalicelib.chains.calldata.tokens.token_domains import TokenDomain
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.contracts import LIFI_DIAMOND, PERMIT2, address_of, contracts_on
from chalicelib.chains.catalogue.networks import ALL_NETWORKS, require_network
from chalicelib.chains.catalogue.tokens import find_tokens, token_of_log
from tests.chains.calldata.calls import (
    CONVERTED,
    ESCROW,
    EVERY_KIND,
    INFO,
    PERMIT,
    PROXY,
    USDC,
    WALLET,
    unquoted,
)
from tests.chains.calldata.clear_signing.wallet import (
    Container,
    Shown,
    decoded,
    parameters,
    paths,
    selector,
    sentence,
    show,
    typed_parameters,
)
from tests.chains.calldata.explanations.test_bridges import DEPOSIT as BRIDGED
from tests.chains.calldata.explanations.test_bridges import transaction as bridging
from tests.chains.calldata.tokens.test_permit2 import PERMIT as INTENT
from tests.chains.calldata.vector_files import find, folder
from tests.crosschain.service.router.diamond import Call
from tests.crosschain.service.router.diamond import data as diamond_data

READABLE = ("tokenAmount", "amount", "date", "unit", "chainId")
"""The formats whose text is the readable form of an explanation."""
FORMATS = [
    pytest.param(name, descriptor, key, id=f"{name} {key.partition('(')[0]}")
    for name, descriptor in descriptors().items()
    for key in descriptor["display"]["formats"]
]
DIAMOND = Transaction(address_of(LIFI_DIAMOND, "base"), diamond_data(Call(BRIDGED)), 0)
WITH_FEES = Transaction(DIAMOND.to, diamond_data(Call(BRIDGED, fees=((WALLET, 30_000),))), 0)
CALLS = {
    **{name: call for name, call in EVERY_KIND.items() if call[0] != "tron"},
    "deposit": ("base", bridging(BRIDGED)),
    "deposit by the diamond": ("base", DIAMOND),
    "deposit by the diamond, with fees": ("base", WITH_FEES),
}


def vectors() -> list[Any]:
    """The calls of the vectors that name their network and contract."""
    calls = (each for each in find(folder()).covered if each.kind == "calldata")
    named = ((each, each.entry.get("inputs", {}).get("network"), each.entry.get("to")) for each in calls)
    return [
        pytest.param(network, Transaction(to, each.entry["data"], int(each.entry.get("value", 0))), id=each.name)
        for each, network, to in named
        if network and to and require_network(network).family == "evm"
    ]


def shown_of(network: str, transaction: Transaction) -> tuple[str, list[Shown]]:
    """The sentence and the fields that a wallet shows of a call."""
    chain_id, data = require_network(network).chain_id, bytes.fromhex(transaction.data[2:])
    ((descriptor, key),) = (
        (descriptor, key)
        for descriptor in descriptors().values()
        for key in descriptor["display"]["formats"]
        if "contract" in descriptor["context"]
        and {"chainId": chain_id, "address": transaction.to} in descriptor["context"]["contract"]["deployments"]
        and selector(key) == data[:4]
    )
    container = Container(chain_id, transaction.to, transaction.value)
    fields = show(descriptor, key, decoded(key, data), container)
    return sentence(descriptor, key, fields), fields


# --- the files ---


def test_every_function_that_is_explained_is_shown_but_for_that_of_tron() -> None:
    assert set(DISPLAYS) == set(FUNCTIONS) - {BATCH_TRON}
    calls = [each for name, each in descriptors().items() if name.startswith("calldata-")]
    named = {selector(key) for each in calls for key in each["display"]["formats"]}
    assert named == set(DISPLAYS)


@pytest.mark.parametrize(("name", "descriptor", "key"), FORMATS)
def test_every_path_names_a_parameter_and_every_parameter_is_shown_or_hidden(
    name: str, descriptor: Any, key: str
) -> None:
    _, listed = parameters(key) if name.startswith("calldata-") else typed_parameters(key)
    known, fields = list(paths(listed)), descriptor["display"]["formats"][key]["fields"]
    named = [field["path"] for field in fields]
    tokens = [field["params"]["tokenPath"] for field in fields if "tokenPath" in field.get("params", {})]
    for path in (*named, *tokens):
        assert path in ("@.to", "@.value") or is_known(path, known), path
    assert len(named) == len(set(named)), "a value is shown once"
    for path in known:
        is_named = any(is_known(each, [path]) for each in named)
        assert is_named, f"{path} is neither shown nor hidden"


def is_known(path: str, known: list[str]) -> bool:
    """Whether a path names one of the parameters: all elements of a list, one of them, or a struct in a list."""
    every = re.sub(r"\[-?\d+\]", "[]", path)
    return any(every in (each, f"{each}.[]") or each.startswith(f"{every}.") for each in known)


@pytest.mark.parametrize(("name", "descriptor", "key"), FORMATS)
def test_an_intent_names_only_what_is_always_shown(name: str, descriptor: Any, key: str) -> None:
    display = descriptor["display"]["formats"][key]
    always = {field["path"] for field in display["fields"] if field["visible"] == "always"}
    assert set(re.findall(r"\{([^}]+)\}", display["interpolatedIntent"])) <= always
    assert all(field["visible"] in ("always", "never", {"ifNotIn": [0]}) for field in display["fields"])
    assert all(len(field["label"]) <= 25 for field in display["fields"])
    assert len(display["intent"]) <= 20 and len(descriptor["metadata"]["owner"]) <= 22
    assert name.startswith(("calldata-", "eip712-")), "the linter and the registry read no other files"


def test_every_address_of_the_catalogue_is_named_and_no_other() -> None:
    for descriptor in descriptors().values():
        context = descriptor["context"]
        listed = context.get("contract", context.get("eip712"))["deployments"]
        name = descriptor["metadata"]["contractName"]
        for network in (each for each in ALL_NETWORKS if each.family == "evm"):
            here = [each["address"] for each in listed if each["chainId"] == network.chain_id]
            tokens = [token.address for token in find_tokens(network.name) if not token.is_native]
            there = contracts_on(network.name)
            assert here == (tokens if name == "ERC-20 token" else [there[name]] if name in there else [])
        assert len(listed) == len({(each["chainId"], each["address"]) for each in listed}) > 0


def test_the_linters_bound_for_enumerations_is_kept_and_fiat_has_its_decimals() -> None:
    listed = descriptors()["calldata-Erc20ConversionProxy.json"]["metadata"]["enums"]["currencies"]
    assert len(listed) <= 32
    assert listed["0x17b4158805772ced11225e77339f90beb5aae968"] == "10^-8 EUR"


def test_the_files_are_json_and_the_same_each_time() -> None:
    texts = [json.dumps(each, sort_keys=True) for each in descriptors().values()]
    descriptors.cache_clear()
    assert texts == [json.dumps(each, sort_keys=True) for each in descriptors().values()]


# --- what a wallet shows ---


@pytest.mark.parametrize(("network", "transaction"), CALLS.values(), ids=list(CALLS))
def test_a_wallet_shows_of_a_call_what_the_explanation_says(network: str, transaction: Transaction) -> None:
    compare(network, transaction)


@pytest.mark.parametrize(("network", "transaction"), vectors())
def test_a_wallet_shows_of_every_vector_what_the_explanation_says(network: str, transaction: Transaction) -> None:
    compare(network, transaction)


def compare(network: str, transaction: Transaction) -> None:
    """Every argument that is shown has the text of the explanation, and every payment of a batch is shown."""
    (explanation,) = explain(network, [transaction])
    assert explanation.function is not None
    said, fields = shown_of(network, transaction)
    assert "{" not in said
    by_path = {each.path: each for each in fields}
    for argument in explanation.arguments:
        if argument.name in by_path:
            (text,) = by_path[argument.name].values
            assert is_same(text, by_path[argument.name].format, argument), argument.name
    if "@.value" in by_path:
        assert by_path["@.value"].values == (explanation.value_human,)
    if explanation.function in ("batchERC20Payments", "batchPayments"):
        compare_payments(network, explanation, by_path)


def is_same(text: str, format: str, argument: Argument) -> bool:
    """An amount whose token the wallet does not know, fiat too, is shown in whole units; what the explanation gives the
    length of alone is shown whole."""
    if format in READABLE and argument.human is not None:
        unlimited = text == "Unlimited" and int(argument.value) >= int(UNLIMITED, 16)
        return unlimited or text == argument.human.replace(" %", "%") or text.startswith(f"{argument.value} of 0x")
    if format == "date":
        return text == time_text(int(argument.value))
    if format == "tokenAmount":
        return text.startswith(f"{argument.value} of 0x")
    return text == argument.value or f"{len(text) // 2 - 1} bytes" == argument.value


def compare_payments(network: str, explanation: Explanation, by_path: dict[str, Shown]) -> None:
    at = "requestDetails.[]" if explanation.function == "batchERC20Payments" else "metaDetails.[].requestDetails.[]"
    events = [each.expected_event for each in explanation.calls if each.expected_event is not None]
    assert len(events) == len(explanation.calls) > 0
    assert by_path[f"{at}.recipient"].values == tuple(each.payee for each in events)
    assert by_path[f"{at}.paymentReference"].values == tuple(each.payment_reference for each in events)
    most = [each.conversion.max_to_spend for each in events if each.conversion is not None]
    assert len(by_path[f"{at}.maxToSpend"].values if most else ()) == len(most)
    assert most or f"{at}.maxToSpend" not in by_path, "what is not converted has no limit to show"
    amounts, fees = (by_path[f"{at}.{name}"].values for name in ("requestAmount", "feeAmount"))
    for event, amount, fee in zip(events, amounts, fees, strict=True):
        token = token_of_log(network, event.token)
        for units, text in ((event.amount, amount), (event.fee_amount, fee)):
            if event.conversion is not None or token is None:
                assert text.startswith(f"{units} of 0x")
            else:
                assert text == f"{format_amount(units, token.decimals)} {token.symbol}"


def test_an_unlimited_approval_is_marked_and_a_limited_one_is_not() -> None:
    for units, text in ((MAX_UINT256, "Unlimited"), (int(UNLIMITED, 16), "Unlimited"), (5_000_000, "5 USDC")):
        said, fields = shown_of("base", approve(USDC, PROXY, units))
        assert [each.values for each in fields if each.path == "amount"] == [(text,)]
        assert said == f"Let {PROXY} take {text}"


def test_a_conversion_shows_the_most_it_spends_and_the_currency_of_the_invoice() -> None:
    network, transaction = EVERY_KIND["pay converted"]
    said, fields = shown_of(network, transaction)
    shown = {each.label: each.values for each in fields}
    assert said == f"Pay at most 14 USDC to {CONVERTED.payee}"
    assert shown["At most"] == ("14 USDC",) and shown["Invoice currency"] == ("10^-8 EUR",)
    assert shown["Invoice amount"][0].startswith("1250000000 of ")


# --- typed data ---

DOMAIN = TokenDomain(USDC, "USD Coin", "2", 8453)
TOKEN_PERMIT = TokenPermit(USDC, "USD Coin", "2", 8453, WALLET, address_of(PERMIT2, "base"), 3, 1_900_000_000)
MESSAGES = {
    "eip712-permit.json": token_permit(TOKEN_PERMIT),
    "eip712-receive-with-authorization.json": erc3009_typed_data(INFO, ESCROW, DOMAIN),
    "eip712-Permit2-escrow.json": permit2_typed_data(INFO, ESCROW),
    "eip712-Permit2-payment-intent.json": payment_intent(
        replace(INTENT, network="base", source=replace(INTENT.source, chain_id=8453, token=USDC))
    ),
    "eip712-ERC20RecurringPaymentProxy.json": schedule(PERMIT, "base"),
}
SAID = {
    "eip712-permit.json": f"Let {TOKEN_PERMIT.spender} take Unlimited",
    "eip712-receive-with-authorization.json": f"Let {ESCROW.erc3009} take 1 USDC",
    "eip712-Permit2-escrow.json": f"Let {ESCROW.permit2} hold 1 USDC",
    "eip712-Permit2-payment-intent.json": f"Let {INTENT.spender} take {format_amount(INTENT.net, 6)} USDC",
    "eip712-ERC20RecurringPaymentProxy.json": f"Pay 12.5 USDC to {PERMIT.recipient} 12 times",
}


def test_every_type_that_is_given_to_sign_has_a_descriptor_that_the_message_is_bound_to() -> None:
    assert set(MESSAGES) == {name for name in descriptors() if name.startswith("eip712-")}
    for name, typed in MESSAGES.items():
        (key,), context = descriptors()[name]["display"]["formats"], descriptors()[name]["context"]["eip712"]
        primary, _ = typed_parameters(key)
        assert hash_type(primary, typed["types"]) == keccak(text=key)
        assert context.get("domain", {}).items() <= typed["domain"].items()
        bound = {"chainId": typed["domain"]["chainId"], "address": typed["domain"]["verifyingContract"]}
        assert bound in context["deployments"]


@pytest.mark.parametrize("name", list(MESSAGES))
def test_a_wallet_shows_of_typed_data_who_gets_how_much_and_until_when(name: str) -> None:
    typed, descriptor = MESSAGES[name], descriptors()[name]
    (key,) = descriptor["display"]["formats"]
    values, domain = with_numbers(typed["values"]), typed["domain"]
    fields = show(descriptor, key, values, Container(domain["chainId"], domain["verifyingContract"]))
    said, shown = sentence(descriptor, key, fields), {each.label: each.values for each in fields}
    assert said == SAID[name] and "{" not in said
    assert shown["Expiry"][0].endswith("UTC") if "Expiry" in shown else shown["Until"][0].endswith("UTC")


def test_what_is_shown_of_a_signed_transfer_is_true_of_a_payment_without_gas_as_of_one_into_an_escrow() -> None:
    descriptor = descriptors()["eip712-receive-with-authorization.json"]
    (key,) = descriptor["display"]["formats"]
    signed = Authorization(USDC, "USD Coin", "2", 8453, WALLET, PROXY, 12_745_000, 1_900_000_000, "0x" + "ab" * 32)
    typed = authorization_typed_data(signed)
    assert typed["types"] == MESSAGES["eip712-receive-with-authorization.json"]["types"]
    fields = show(descriptor, key, with_numbers(typed["values"]), Container(8453, USDC))
    assert sentence(descriptor, key, fields) == f"Let {PROXY} take 12.745 USDC"
    assert [each.label for each in fields] == ["At most", "Taken by", "From", "Expiry", "Payment"]
    assert descriptor["display"]["formats"][key]["intent"] == "Allow a payment"


def with_numbers(value: Any) -> Any:
    """The values with numbers as numbers, in lists, too."""
    if isinstance(value, list):
        return [with_numbers(each) for each in value]
    return {name: with_numbers(each) for name, each in value.items()} if isinstance(value, dict) else unquoted(value)

