"""The command line: what a call does, or one sentence."""

import runpy
import subprocess
import sys

import pytest

from chalicelib.chains.calldata.explanations.calls import explain_data
from chalicelib.chains.calldata.transaction import Transaction
from infra.explain import main
from tests.support.patience import patience

from .calls import (
    COLLECTOR,
    EVERY_KIND,
    PAYEE,
    PROXY,
    USDC,
    every_kind,
    one,
    payment,
    unbundled,
)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "infra.explain", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=patience(3))


def test_the_command_tells_what_a_call_does(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (payment().data, "--network", "base", "--to", PROXY)
    done = run(*arguments)
    main(arguments)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", capsys.readouterr().out)
    assert done.stdout.splitlines() == [
        f"Pay 12.5 USDC to {PAYEE} with 0.125 USDC fee to {COLLECTOR}, reference 0x11497d24d1a76c9b",
        f"  contract: ERC20FeeProxy {PROXY}",
        "  function: transferFromWithReferenceAndFee",
        f"  address _tokenAddress: {USDC} (USDC)",
        f"  address _to: {PAYEE}",
        "  uint256 _amount: 12500000 (12.5 USDC)",
        "  bytes _paymentReference: 0x11497d24d1a76c9b",
        "  uint256 _feeAmount: 125000 (0.125 USDC)",
        f"  address _feeAddress: {COLLECTOR}",
        f"  event: TransferWithReferenceAndFee of ERC20FeeProxy {PROXY}",
    ]


def test_the_module_runs_as_a_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    name = "infra.explain"
    monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "argv", [name, "0x12345678"])
    runpy.run_module(name, run_name="__main__")
    assert capsys.readouterr().out.startswith("Unknown call: 4 bytes 0x12345678; ")


def test_the_command_refuses_bad_input_in_one_sentence() -> None:
    done = run("0xno")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "The data must be 0x and an even number of hexadecimal digits.\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["0x1"],
        [],
        ["0x12", "--network", "gnosis"],
        ["0x12", "--to", "0x12", "--network", "base"],
        ["0x12", "--to", PAYEE, "--network", "tron"],
        ["0x12", "--value", "-1"],
        ["0x12", "--value", "much"],
        ["0x12", "--more"],
    ],
)
def test_every_bad_argument_is_one_sentence(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    said = capsys.readouterr()
    assert (stopped.value.code, said.out, said.err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["0xno"], "The data must be 0x and an even number of hexadecimal digits."),
        (["0x12", "--value", "-1"], "The value must not be negative."),
        (["0x12", "--network", "gnosis"], "Gnosis is not a network of the catalogue."),
        (["0x12", "--to", "0x12", "--network", "base"], "Its address is not one of the network."),
    ],
)
def test_the_sentence_says_what_is_wrong(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert capsys.readouterr().err == said + "\n"


def test_the_help_says_what_each_argument_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert stopped.value.code == 0
    assert said.startswith("usage: python -m infra.explain [-h] [--network NETWORK] [--to ADDRESS] [--value VALUE] data")
    for text in (
        "Says what calldata does.",
        "the calldata: 0x and hexadecimal digits",
        "where it is sent, such as base; tokens and contracts are those of it",
        "the contract it is sent to, checked where --network is given",
        "base units of the native coin sent with it",
    ):
        assert text in said


def test_the_command_numbers_the_calls_and_indents_what_they_hold(capsys: pytest.CaptureFixture[str]) -> None:
    network, transaction = EVERY_KIND["bundle"]
    main([transaction.data, "--network", network, "--to", transaction.to])
    lines = capsys.readouterr().out.splitlines()
    inner = [one(network, each) for each in unbundled(transaction.data)]
    at = [lines.index(f"  call {number}:") for number in (1, 2, 3)]
    assert [lines[position + 1] for position in at] == [f"    {each.summary}" for each in inner]
    assert lines[at[0] + 2] == f"      contract: USDC {USDC}"
    assert f"      value: {101 * 10**16} (1.01 ETH-base)" in lines
    assert sum(line.startswith("  call ") for line in lines) == 3
    main([transaction.data, "--to", transaction.to])
    assert f"      value: {101 * 10**16}" in capsys.readouterr().out.splitlines(), "the coin is not known"


@every_kind
def test_by_the_bytes_alone_the_contract_is_not_vouched_for(
    network: str, transaction: Transaction, capsys: pytest.CaptureFixture[str]
) -> None:
    main([transaction.data, "--value", str(transaction.value)])
    said = capsys.readouterr().out
    assert said.splitlines()[0].endswith("; the address of the contract was not checked")
    assert explain_data(transaction.data, network, None, transaction.value).function is not None
    explained = explain_data(transaction.data, network, transaction.to, transaction.value)
    assert explained == one(network, transaction)


def test_the_command_prints_payments_within_and_unknown_calls(capsys: pytest.CaptureFixture[str]) -> None:
    network, transaction = EVERY_KIND["batch of many"]
    main([transaction.data, "--network", network, "--to", transaction.to, "--value", str(transaction.value)])
    said = capsys.readouterr().out
    assert said.count("event: TransferWithReferenceAndFee") == 3
    assert f"  value: {transaction.value} (0.301 ETH-base)\n" in said
    main(["0x12345678"])
    assert capsys.readouterr().out.splitlines() == [
        "Unknown call: 4 bytes 0x12345678; no such function is used here; do not sign unless you know it",
        "  contract: unknown contract",
    ]
