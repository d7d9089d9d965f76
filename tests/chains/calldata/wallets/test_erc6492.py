"""The call that checks a contract wallet's signature: its bytes are those that an ABI library writes."""

import pytest
from eth_abi import encode

from chalicelib.base.addresses import ZERO_ADDRESS, evm_address
from chalicelib.chains.calldata.wallets.erc6492 import GAS, MAGIC_SUFFIX, validation, wrap
from chalicelib.chains.catalogue.data import load

WALLET, FACTORY = evm_address("0x" + "12" * 20), evm_address("0x" + "34" * 20)
DIGEST = bytes(range(32))


@pytest.mark.parametrize("call", [b"", b"\1\2\3\4", bytes(32), bytes(33)])
@pytest.mark.parametrize("signature", [b"", bytes(65), bytes(64), b"\7" * 97])
def test_a_wrapped_signature_names_the_factory_its_call_and_the_signature(call: bytes, signature: bytes) -> None:
    wrapped = wrap(FACTORY, call, signature)
    assert wrapped == encode(["address", "bytes", "bytes"], [FACTORY, call, signature]) + bytes.fromhex("6492" * 16)


def test_a_plain_signature_is_wrapped_and_a_wrapped_one_is_sent_as_it_is() -> None:
    validator = load("erc6492")["validator"]
    wrapped = wrap(FACTORY, b"\1\2\3\4", bytes(65))
    for signature, inner in ((bytes(65), wrap(ZERO_ADDRESS, b"", bytes(65))), (wrapped, wrapped)):
        arguments = encode(["address", "bytes32", "bytes"], [WALLET, DIGEST, inner])
        assert validation(WALLET, DIGEST, signature) == validator + arguments.hex()
    assert len(MAGIC_SUFFIX) == 32


def test_a_check_may_use_ten_million_gas() -> None:
    assert GAS == 10_000_000
