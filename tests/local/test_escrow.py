"""The escrow of local chains: our double, or the code that ESCROW_RUNTIME names."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from infra.local.bytecode import returning
from infra.local.chain import Chain
from infra.local.compiling import compile_contract
from infra.local.escrow import LOCAL_ESCROWS, escrow_artefacts, local_escrow, token_store_of
from infra.local.process import StackProblem

CONTRACTS = (
    "AuthCaptureEscrow",
    "TokenStore",
    "PreApprovalPaymentCollector",
    "ERC3009PaymentCollector",
    "Permit2PaymentCollector",
    "OperatorRefundCollector",
)


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """named(text): ESCROW_RUNTIME names a file with this text."""

    def write(text: str) -> Path:
        path = tmp_path / "runtime"
        path.write_text(text)
        monkeypatch.setenv("ESCROW_RUNTIME", str(path))
        return path

    return write


def test_base_and_sepolia_have_the_contracts_and_no_other_network() -> None:
    for network in ("base", "sepolia"):
        artefacts, contracts = escrow_artefacts(network), local_escrow(network)
        assert contracts is not None
        assert [each.name for each in artefacts] == list(CONTRACTS)
        at = {each.name: each.addresses for each in artefacts}
        assert {name: (address,) for name, address in contracts.names.items()}.items() <= at.items()
        assert at["TokenStore"] == (token_store_of(contracts.escrow),)
    assert escrow_artefacts("mainnet") == escrow_artefacts("tron") == ()
    assert LOCAL_ESCROWS.keys() == {"sepolia"}, "base needs no setting"


def test_the_store_of_tokens_is_where_the_escrow_would_create_its_first_contract() -> None:
    """eth_utils has no such function; the known answer is that of Ethereum's first example of a contract address."""
    assert token_store_of("0x6ac7ea33f8831ea9dcc53393aaa88b25a785dbf0") == "0x343c43A37D37dfF08AE8C4A11544c718AbB4fCF8"


def test_the_code_of_the_escrow_alone_takes_the_place_of_its_double(named: Callable[[str], Path]) -> None:
    named("0x600160005260206000f3\n")
    code = {each.name: each.creation for each in escrow_artefacts("base")}
    assert code["AuthCaptureEscrow"] == returning("0x600160005260206000f3")
    assert code["TokenStore"].startswith(compile_contract("TokenStore"))


def test_code_is_taken_by_the_names_of_contracts_and_put_on_the_chain(named: Callable[[str], Path]) -> None:
    named(json.dumps({"AuthCaptureEscrow": "6001", "PreApprovalPaymentCollector": "0x6002"}))
    contracts = local_escrow("base")
    assert contracts is not None
    with Chain.start("base") as chain:
        assert chain.rpc("eth_getCode", contracts.escrow, "latest") == "0x6001"
        assert chain.rpc("eth_getCode", contracts.pre_approval, "latest") == "0x6002"
        assert len(chain.rpc("eth_getCode", contracts.permit2, "latest")) > 1000


@pytest.mark.parametrize("text", ["", "0xzz", '{"AuthCaptureEscrow": 5}', '{"AuthCaptureEscrow"', '{"AuthCaptureEscrow": "0x"}'])
def test_a_file_without_code_is_refused(named: Callable[[str], Path], text: str) -> None:
    path = named(text)
    with pytest.raises(StackProblem, match=f"ESCROW_RUNTIME: {path} has no runtime code"):
        escrow_artefacts("base")


def test_a_file_that_is_missing_is_refused(named: Callable[[str], Path]) -> None:
    named("").unlink()
    with pytest.raises(StackProblem, match="ESCROW_RUNTIME"):
        escrow_artefacts("base")
