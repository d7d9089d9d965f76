"""Function selectors, error selectors and event topics spelled anywhere in chalicelib, against contracts' ABIs.

The ABIs are those of @requestnetwork/smart-contracts, @safe-global/safe-contracts and viem; ethers hashes them. What is
searched is the source text, so that a selector in a new module, or in the page's JavaScript, is looked at by itself.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from eth_keys.constants import SECPK1_N

import chalicelib
from chalicelib.base.keccak import keccak256
from chalicelib.chains.calldata.explanations.functions import FUNCTIONS
from chalicelib.chains.calldata.reverts import _CONTRACT_ERRORS, revert_reason
from chalicelib.chains.calldata.wallets.safe import _SAFE_TX
from tests.chains.calldata.calls import with_structs
from tests.chains.catalogue.changes import changes

ROOT = Path(chalicelib.__file__).parent
SOURCES = {
    path: path.read_text(encoding="utf-8")
    for kind in ("*.py", "*.js")
    for path in sorted(ROOT.rglob(kind))
    if not path.name.endswith("vendor.js")  # libraries have numbers of their own
}
HEX = re.compile(r"(?<![0-9A-Za-z])(?:0x)?([0-9a-fA-F]{64}|[0-9a-fA-F]{8})(?![0-9A-Za-z])")

# What each constant stands for, by its name without a leading underscore: contract, signature.
NAMED = {
    "APPROVE": ("ERC20", "approve(address,uint256)"),
    "TRANSFER": ("ERC20", "transfer(address,uint256)"),
    "TRANSFER_FROM": ("ERC20", "transferFrom(address,address,uint256)"),
    "BALANCE_OF": ("ERC20", "balanceOf(address)"),
    "ALLOWANCE": ("ERC20", "allowance(address,address)"),
    "TRANSFER_TOPIC": ("ERC20", "Transfer(address,address,uint256)"),
    "PAY_ERC20": ("ERC20FeeProxy", "transferFromWithReferenceAndFee"),
    "ERC20_TRANSFER_TOPIC": ("ERC20FeeProxy", "TransferWithReferenceAndFee"),
    "PAY_NATIVE": ("EthereumFeeProxy", "transferWithReferenceAndFee"),
    "NATIVE_TRANSFER_TOPIC": ("EthereumFeeProxy", "TransferWithReferenceAndFee"),
    "PAY_ERC20_CONVERTED": ("Erc20ConversionProxy", "transferFromWithReferenceAndFee"),
    "PAY_NATIVE_CONVERTED": ("EthConversionProxy", "transferWithReferenceAndFee"),
    "BATCH_ONE_TOKEN": ("BatchConversionPayments", "batchERC20Payments"),
    "PAY_ONE_TOKEN": ("BatchConversionPayments", "batchERC20Payments"),
    "BATCH_GROUPS": ("BatchConversionPayments", "batchPayments"),
    "PAY_GROUPS": ("BatchConversionPayments", "batchPayments"),
    "BATCH_FEE": ("BatchConversionPayments", "batchFee()"),
    "BATCH_TRON": ("ERC20BatchPayments", "batchERC20PaymentsWithReference"),
    "PAY_TRON": ("ERC20BatchPayments", "batchERC20PaymentsWithReference"),
    "MULTI_SEND": ("MultiSendCallOnly", "multiSend(bytes)"),
    "MULTI_SEND_CALLS": ("MultiSendCallOnly", "multiSend(bytes)"),
    "RATES_CONTRACT": ("Erc20ConversionProxy", "chainlinkConversionPath()"),
    "GET_RATE": ("ChainlinkConversionPath", "getRate(address[])"),
    "ALL_AGGREGATORS": ("ChainlinkConversionPath", "allAggregators(address,address)"),
    "DECIMALS": ("Aggregator", "decimals()"),
    "LATEST_ROUND": ("Aggregator", "latestRoundData()"),
    "ROUND": ("Aggregator", "getRoundData(uint80)"),
    "CONVERSION_TOPIC": ("Erc20ConversionProxy", "TransferWithConversionAndReference"),
    "TRIGGER_PAYMENT": ("ERC20RecurringPaymentProxy", "triggerRecurringPayment"),
    "DEPOSIT": ("AcrossSpokePool", "depositV3"),
    "FILL_STATUSES": ("AcrossSpokePool", "fillStatuses(bytes32)"),
    "DEPOSITED_TOPIC": ("AcrossSpokePool", "FundsDeposited"),
    "FILLED_TOPIC": ("AcrossSpokePool", "FilledRelay"),
    "START": ("LiFiDiamond", "startBridgeTokensViaAcrossV4"),
    "SWAP_AND_START": ("LiFiDiamond", "swapAndStartBridgeTokensViaAcrossV4"),
    "FORWARD_FEES": ("LiFiFeeForwarder", "forwardERC20Fees"),
    "AUTHORIZE": ("AuthCaptureEscrow", "authorize"),
    "CHARGE": ("AuthCaptureEscrow", "charge"),
    "CAPTURE": ("AuthCaptureEscrow", "capture"),
    "VOID": ("AuthCaptureEscrow", "void"),
    "RECLAIM": ("AuthCaptureEscrow", "reclaim"),
    "REFUND": ("AuthCaptureEscrow", "refund"),
    "PAYMENT_STATE": ("AuthCaptureEscrow", "paymentState(bytes32)"),
    "AUTHORIZED_TOPIC": ("AuthCaptureEscrow", "PaymentAuthorized"),
    "CHARGED_TOPIC": ("AuthCaptureEscrow", "PaymentCharged"),
    "CAPTURED_TOPIC": ("AuthCaptureEscrow", "PaymentCaptured"),
    "VOIDED_TOPIC": ("AuthCaptureEscrow", "PaymentVoided"),
    "RECLAIMED_TOPIC": ("AuthCaptureEscrow", "PaymentReclaimed"),
    "REFUNDED_TOPIC": ("AuthCaptureEscrow", "PaymentRefunded"),
    "PRE_APPROVE": ("PreApprovalPaymentCollector", "preApprove"),
    "IS_PRE_APPROVED": ("PreApprovalPaymentCollector", "isPreApproved(bytes32)"),
    "PRE_APPROVED_TOPIC": ("PreApprovalPaymentCollector", "PaymentPreApproved"),
    "AUTHORIZATION_STATE": ("ERC3009", "authorizationState(address,bytes32)"),
    "DOMAIN_SEPARATOR": ("ERC2612", "DOMAIN_SEPARATOR()"),
    "NONCES": ("ERC2612", "nonces(address)"),
    "PERMIT": ("ERC2612", "permit"),
    "TAKE": ("Permit2", "permitWitnessTransferFrom"),
    "AGGREGATE3": ("Multicall3", "aggregate3"),
    "TRIGGER": ("ERC20SingleRequestProxy", "triggerERC20Payment()"),
    "RESCUE_ERC20": ("ERC20SingleRequestProxy", "rescueERC20Funds(address)"),
    "RESCUE_NATIVE": ("ERC20SingleRequestProxy", "rescueNativeFunds()"),
    "GET_ETH_BALANCE": ("Multicall3", "getEthBalance(address)"),
    "NONCE": ("Safe", "nonce()"),
    "SUCCESS_TOPIC": ("Safe", "ExecutionSuccess(bytes32,uint256)"),
    "FAILURE_TOPIC": ("Safe", "ExecutionFailure(bytes32,uint256)"),
    "RESOLVE": ("UniversalResolver", "resolve(bytes,bytes)"),
    "REVERSE": ("UniversalResolver", "reverse(bytes,uint256)"),
    "ADDR": ("AddrResolver", "addr(bytes32)"),
    "ADDR_OF_COIN": ("AddressResolver", "addr(bytes32,uint256)"),
    "OFFCHAIN_LOOKUP": ("Gateways", "OffchainLookup"),
    "QUERY": ("Gateways", "query"),
    "RECEIVE": ("ERC3009", "receiveWithAuthorization"),
    "AUTHORIZATION_USED": ("ERC3009", "AuthorizationUsed(address,bytes32)"),
    "EXECUTE_BATCH": ("Simple7702Account", "executeBatch"),
    "ERROR": ("Solidity", "Error(string)"),
    "PANIC": ("Solidity", "Panic(uint256)"),
}

# Words of 8 or 64 hexadecimal digits that no ABI has, and what they are.
OTHERS = {
    "11155111": "the chain id of Sepolia, in the page's tables",
    "31536000": "seconds of a year: how long the page's files may be kept",
    "63072000": "seconds of two years: how long browsers ask for https",
    "7e577e57": "the ids of test deliveries",
    "80000000": "the bit of the coin types of EVM networks (ENSIP-11)",
    "cc7b633aef4b2543cb8f37522adf1a401f910f0f6b2430c1eecc11f401ccfcf3": "the hash of the code of Simple7702Account",
    "1234567890abcdef" * 4: "the transaction hash of test deliveries",
    "7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0": "half the order of secp256k1",
    "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141": "the order of secp256k1",
}


def spelled() -> Iterator[tuple[str, str]]:
    """Every word of 8 or 64 hexadecimal digits, with where it stands."""
    for path, text in SOURCES.items():
        for found in HEX.finditer(text):
            yield found[1], f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, found.start()) + 1}"


def constants() -> Iterator[tuple[str, str, str]]:
    """Every constant of a module that holds such a word: its name without underscore, the word, the module."""
    for path, text in SOURCES.items():
        if path.suffix != ".py":
            continue
        for node in ast.parse(text).body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                for word in _words(node.value):
                    yield ast.unparse(target).lstrip("_"), word, str(path.relative_to(ROOT))


def _words(value: ast.expr) -> Iterator[str]:
    """The word of `"0x..."` or `bytes.fromhex("...")`; not those inside of tables."""
    inner = value.args[0] if isinstance(value, ast.Call) and len(value.args) == 1 else value
    if isinstance(inner, ast.Constant) and isinstance(inner.value, str) and (found := HEX.fullmatch(inner.value)):
        yield found[1]


def signatures(sources: Mapping[str, Any]) -> dict[str, set[str]]:
    """The signatures of all ABIs by the hexadecimal digits that stand for them."""
    known: dict[str, set[str]] = {}
    for abi in sources["abis"].values():
        for digits, signature in abi["signatures"].items():
            known.setdefault(digits, set()).add(signature)
    return known


def meant(sources: Mapping[str, Any], name: str) -> str:
    """The digits that a constant of that name should hold."""
    contract, signature = NAMED[name]
    known = sources["abis"][contract]["signatures"]
    found = [digits for digits, each in known.items() if signature in (each, each.partition("(")[0])]
    assert len(found) == 1, f"{signature} of {contract}: {found}"
    return str(found[0])


def test_every_selector_and_topic_that_is_spelled_is_in_an_abi(sources: dict[str, Any]) -> None:
    known = signatures(sources)
    unknown = [f"{place}: {word}" for word, place in spelled() if word not in known and word not in OTHERS]
    assert unknown == [], "say what they are in NAMED or OTHERS"
    assert OTHERS.keys() <= {word for word, _ in spelled()}


def test_every_constant_is_the_selector_or_topic_that_its_name_says(sources: dict[str, Any]) -> None:
    found = [(name, word, module) for name, word, module in constants() if word not in OTHERS]
    assert {name for name, _, _ in found} == NAMED.keys()
    assert [each for each in found if each[1] != meant(sources, each[0])] == []


def test_one_digit_changed_in_any_of_them_is_in_no_abi(sources: dict[str, Any]) -> None:
    known = signatures(sources)
    words = {word for word, _ in spelled() if word in known}
    assert len(words) >= 20
    for word in words:
        for wrong in changes(word):
            assert wrong not in known, f"{word} and {wrong}: {known[word]}"
            assert wrong not in OTHERS


@pytest.mark.parametrize("selector", FUNCTIONS, ids=lambda selector: FUNCTIONS[selector].name)
def test_functions_are_explained_with_the_names_and_types_of_their_abi(
    sources: dict[str, Any], selector: bytes
) -> None:
    function = FUNCTIONS[selector]
    abi = sources["abis"][function.contract or "ERC20"]
    parameters = with_structs(function.parameters)
    types = [written(kind) for _, kind in parameters]
    assert abi["signatures"][selector.hex()] == f"{function.name}({','.join(types)})"
    assert keccak256(f"{function.name}({','.join(types)})".encode())[:4] == selector
    if function.contract is not None:  # the ERC-20 standard fixes no names
        assert [list(each) for each in abi["parameters"][selector.hex()]] == [
            [name, kind] for (name, _), kind in zip(parameters, types, strict=True)
        ]


def written(kind: Any) -> str:
    """A kind of chains/calldata/explanations/decode.py as ABIs write the type."""
    if isinstance(kind, str):
        return kind
    if isinstance(kind, tuple):
        return f"({','.join(map(written, kind))})"
    return f"{written(kind.of)}[]"


def test_the_page_names_functions_as_their_abis_do(sources: dict[str, Any]) -> None:
    """calldata.js: `c219a14d: "ERC20FeeProxy.transferFromWithReferenceAndFee"`."""
    text = next(text for path, text in SOURCES.items() if path.name == "calldata.js")
    named = re.findall(r'^ +"?([0-9a-f]{8})"?: "(?:(\w+)\.)?(\w+)",$', text, re.MULTILINE)
    assert len(named) == 9
    for selector, contract, name in named:
        assert sources["abis"][contract or "ERC20"]["signatures"][selector].startswith(f"{name}(")


def test_the_hash_of_safe_transactions_is_of_the_type_that_safe_hashes(sources: dict[str, Any]) -> None:
    members = ",".join(f"{each['type']} {each['name']}" for each in _SAFE_TX)
    assert "0x" + keccak256(f"SafeTx({members})".encode()).hex() == sources["safeTxTypehash"]


def test_the_compilers_panics_are_said_as_viem_says_them(sources: dict[str, Any]) -> None:
    """By a word of each, for every code that ours names; the codes that viem knows beside these are said in general."""
    words = {
        0x01: ("assert", "assert"),
        0x11: ("overflow", "overflow"),
        0x12: ("zero", "zero"),
        0x21: ("enum", "invalid type"),
        0x32: ("bounds", "bounds"),
        0x41: ("memory", "memory"),
    }
    for code in range(0x100):
        said = revert_reason(bytes.fromhex("4e487b71") + code.to_bytes(32))
        ours, theirs = words.get(code, ("a check of the compiler failed", ""))
        assert ours in said
        assert theirs in sources["panics"].get(str(code), "")


def test_errors_of_contracts_are_said_by_their_names(sources: dict[str, Any]) -> None:
    """By a word of each; the table holds no others."""
    words = {
        "ERC20RecurringPaymentProxy__BadSignature()": "signature",
        "ERC20RecurringPaymentProxy__SignatureExpired()": "expired",
        "ERC20RecurringPaymentProxy__PaymentOutOfOrder()": "earlier",
        "ERC20RecurringPaymentProxy__IndexOutOfBounds()": "no such payment",
        "ERC20RecurringPaymentProxy__NotDueYet()": "not due yet",
        "ERC20RecurringPaymentProxy__AlreadyPaid()": "already made",
        "ERC20InsufficientAllowance(address,uint256,uint256)": "allowance",
        "ERC20InsufficientBalance(address,uint256,uint256)": "balance",
        "SignatureExpired(uint256)": "expired",
        "InvalidNonce()": "nonce",
        "InvalidSigner()": "signature",
        "InvalidSignature()": "signature",
        "InvalidContractSignature()": "signature",
        "InvalidSignatureLength()": "signature",
        "InvalidSender(address,address)": "operator",
        "ZeroAmount()": "zero",
        "AmountOverflow(uint256,uint256)": "larger",
        "ExceedsMaxAmount(uint256,uint256)": "maximum",
        "AfterPreApprovalExpiry(uint48,uint48)": "pre-approval of the payment has expired",
        "InvalidExpiries(uint48,uint48,uint48)": "expiries",
        "FeeBpsOverflow(uint16)": "largest fee",
        "InvalidFeeBpsRange(uint16,uint16)": "smallest fee",
        "FeeBpsOutOfRange(uint16,uint16,uint16)": "bounds",
        "ZeroFeeReceiver()": "no receiver",
        "InvalidFeeReceiver(address,address)": "receiver of the fee is not",
        "InvalidCollectorForOperation()": "collector",
        "TokenCollectionFailed()": "another amount",
        "PaymentAlreadyCollected(bytes32)": "before",
        "AfterAuthorizationExpiry(uint48,uint48)": "authorization of the payment has expired",
        "InsufficientAuthorization(bytes32,uint256,uint256)": "holds less",
        "ZeroAuthorization(bytes32)": "holds nothing",
        "BeforeAuthorizationExpiry(uint48,uint48)": "not expired yet",
        "AfterRefundExpiry(uint48,uint48)": "refund the payment is over",
        "RefundExceedsCapture(uint256,uint256)": "refund is above",
        "PaymentNotPreApproved(bytes32)": "has not pre-approved",
        "PaymentAlreadyPreApproved(bytes32)": "pre-approved the payment before",
    }
    known = signatures(sources)
    assert {signature for digits in _CONTRACT_ERRORS for signature in known[digits]} == words.keys()
    for digits, said in _CONTRACT_ERRORS.items():
        (signature,) = known[digits]
        assert words[signature] in said


def test_signatures_are_accepted_up_to_half_the_order_of_the_curve() -> None:
    half = next(word for word in OTHERS if OTHERS[word] == "half the order of secp256k1")
    assert int(half, 16) == SECPK1_N // 2
    assert int(next(word for word in OTHERS if OTHERS[word] == "the order of secp256k1"), 16) == SECPK1_N
