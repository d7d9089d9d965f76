"""Real contracts that may send on tokens, and real ones that do not, by the code that a node returns."""

from collections.abc import Callable

from chalicelib.chains.calldata.contract_code import may_send_tokens
from chalicelib.chains.catalogue.contracts import contracts_on
from chalicelib.chains.catalogue.tokens import require_token
from infra.local.chain import Chain
from infra.local.safe import Safe

SEND = {
    "ERC20FeeProxy", "BatchConversionPayments", "ERC20RecurringPaymentProxy", "Permit2", "Simple7702Account",
    "PreApprovalPaymentCollector", "OperatorRefundCollector", "a Safe", "a key", "a key with a delegate",
}  # fmt: skip
DO_NOT = {"EthereumFeeProxy", "Multicall3", "MultiSendCallOnly", "a token"}


def test_wallets_and_contracts_that_send_tokens_are_told_from_the_others(
    chain_of: Callable[[str], Chain], safe_on: Callable[[str], Safe]
) -> None:
    chain, safe = chain_of("base"), safe_on("base")
    known = contracts_on("base") | {
        "a Safe": safe.address,
        "a key": "0x" + "12" * 20,
        "a token": require_token("USDT-base").address,
    }
    codes = {name: bytes.fromhex(chain.rpc("eth_getCode", at, "latest")[2:]) for name, at in known.items()}
    codes["a key with a delegate"] = bytes.fromhex("ef0100" + known["Simple7702Account"][2:])
    found = {name: may_send_tokens(code) for name, code in codes.items() if name in SEND | DO_NOT}
    assert {name for name, may in found.items() if may} == SEND
    assert {name for name, may in found.items() if not may} == DO_NOT
