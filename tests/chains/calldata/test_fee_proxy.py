"""The two fee proxies against an independent ABI encoder, and what is refused."""

import subprocess
import sys

import pytest
from eth_abi import encode
from eth_utils import keccak
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.addresses import DEAD_ADDRESS, ZERO_ADDRESS, tron_to_evm
from chalicelib.base.money import MAX_UINT256
from chalicelib.chains.calldata.fee_proxy import pay_erc20, pay_native
from chalicelib.chains.catalogue.contracts import address_of

PAYEE = "0xf17f52151EbEF6C7334FAD080c5704D77216b732"
FEE_ADDRESS = "0xC5fdf4076b8F3A5357c5E395ab970B5B54098Fef"
TOKEN = "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"
REFERENCE = bytes.fromhex("11497d24d1a76c9b")

addresses = st.binary(min_size=20, max_size=20).filter(any).map(lambda raw: "0x" + raw.hex())
amounts = st.integers(0, MAX_UINT256)
references = st.binary(min_size=8, max_size=8)


def selector(signature: str) -> str:
    return "0x" + keccak(text=signature)[:4].hex()


@given(
    token=addresses, payee=addresses, amount=amounts, reference=references, fee=amounts, collector=addresses
)
def test_an_erc20_payment_equals_the_encoding_of_an_abi_library(
    token: str, payee: str, amount: int, reference: bytes, fee: int, collector: str
) -> None:
    built = pay_erc20(
        "sepolia",
        token=token,
        payee=payee,
        amount=amount,
        reference=reference,
        fee_amount=fee,
        fee_address=collector,
    )
    arguments = encode(
        ["address", "address", "uint256", "bytes", "uint256", "address"],
        [token, payee, amount, reference, fee, collector if fee else ZERO_ADDRESS],
    )
    head = selector("transferFromWithReferenceAndFee(address,address,uint256,bytes,uint256,address)")
    assert built.data == head + arguments.hex()
    assert built.value == 0
    assert built.to == address_of("ERC20FeeProxy", "sepolia")


@given(payee=addresses, amount=amounts, reference=references, fee=amounts, collector=addresses)
def test_a_native_payment_equals_the_encoding_of_an_abi_library(
    payee: str, amount: int, reference: bytes, fee: int, collector: str
) -> None:
    built = pay_native(
        "base", payee=payee, amount=amount, reference=reference, fee_amount=fee, fee_address=collector
    )
    arguments = encode(
        ["address", "bytes", "uint256", "address"],
        [payee, reference, fee, collector if fee else ZERO_ADDRESS],
    )
    assert (
        built.data == selector("transferWithReferenceAndFee(address,bytes,uint256,address)") + arguments.hex()
    )
    assert built.value == amount + fee
    assert built.to == address_of("EthereumFeeProxy", "base")


def test_a_payment_without_fee_names_the_zero_address_even_when_one_is_given() -> None:
    bare = pay_native("sepolia", payee=PAYEE, amount=1, reference=REFERENCE)
    given_one = pay_native("sepolia", payee=PAYEE, amount=1, reference=REFERENCE, fee_address=DEAD_ADDRESS)
    assert bare == given_one


@pytest.mark.parametrize("collector", [None, ZERO_ADDRESS])
def test_a_fee_is_never_sent_to_the_zero_address(collector: str | None) -> None:
    with pytest.raises(ValueError, match="a fee needs the address"):
        pay_native("sepolia", payee=PAYEE, amount=1, reference=REFERENCE, fee_amount=1, fee_address=collector)
    with pytest.raises(ValueError, match="a fee needs the address"):
        pay_erc20(
            "sepolia",
            token=TOKEN,
            payee=PAYEE,
            amount=1,
            reference=REFERENCE,
            fee_amount=1,
            fee_address=collector,
        )


def test_tron_addresses_enter_as_their_20_bytes() -> None:
    token, payee = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "TLa2f6VPqDgRE67v1736s7bJ8Ray5wYjU7"
    built = pay_erc20("tron", token=token, payee=payee, amount=5, reference=REFERENCE)
    assert built.to == "TCUDPYnS9dH3WvFEaE7wN7vnDa51J4R4fd"
    assert tron_to_evm(token)[2:] in built.data
    assert tron_to_evm(payee)[2:] in built.data


def test_there_is_no_native_payment_on_tron() -> None:
    with pytest.raises(LookupError, match="EthereumFeeProxy is not deployed on tron"):
        pay_native("tron", payee=PAYEE, amount=1, reference=REFERENCE)


def test_a_reference_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="8 bytes"):
        pay_native("sepolia", payee=PAYEE, amount=1, reference=b"short")


@pytest.mark.parametrize("amount", [-1, MAX_UINT256 + 1])
def test_an_amount_outside_uint256_is_refused(amount: int) -> None:
    with pytest.raises(OverflowError):
        pay_erc20("sepolia", token=TOKEN, payee=PAYEE, amount=amount, reference=REFERENCE)


def test_building_a_payment_imports_no_abi_or_hashing_library() -> None:
    code = (
        "import sys; from chalicelib.chains.calldata.explanations import calls; "
        "from chalicelib.chains.calldata import batch, fee_proxy, multicall3; from chalicelib.chains.calldata.tokens import erc20; "
        "from chalicelib.chains.calldata.wallets import safe; "
        f"fee_proxy.pay_erc20('sepolia', token={TOKEN!r}, payee={PAYEE!r}, amount=1, reference=b'12345678'); "
        "print([m for m in sys.modules if m.split('.')[0] in ('eth_abi', 'eth_utils', 'web3', 'Crypto')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
