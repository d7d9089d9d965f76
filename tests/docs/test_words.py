"""One word for one thing: words that were given up for the field's own name no code again."""

import io
import re
import tokenize
from pathlib import Path

import pytest

from tests.docs.documents import ROOT

GIVEN_UP = {
    "bill": "payable",
    "bills": "payables",
    "crossing": "bridge_transfer",
    "crossings": "bridge_transfers",
    "worth_least": "lowest_rate",
    "bases": "valuation_rates",
    "unlisted": "dust",
    "telling": "notification",
    "untold": "unnotified",
    "permits": "payment_intents",
    "held_rate": "locked_rate",
    "held_rates": "locked_rates",
}
"""What is said instead of each."""
OTHERS = {"untoldCount", "token_permits", "__bases__"}
"""Names of the wire, of another thing (a token has permits, by EIP-2612) and of Python."""
INTENTS = re.compile(
    r"payment_?intents?|intent_?id|record_intent|withdraw_intent|crosschainIntents|"
    r"(Record|Crosschain|Multicall|Payment)Intent\w*|Intent(Recorded|Withdrawn)|signed_?PaymentIntent",
    re.IGNORECASE,
)
"""An intent is the API's: a payment intent, or a name of the wire for an announced transaction."""
FILES = sorted([ROOT / "app.py", *(ROOT / "chalicelib").rglob("*.py"), *(ROOT / "infra").glob("*.py")])


def names(path: Path) -> set[str]:
    """The identifiers of a file."""
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
    return {token.string for token in tokens if token.type == tokenize.NAME}


def words(name: str) -> str:
    """A name in small letters with an underscore between its words, and at both ends."""
    return f"_{re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', name).lower().strip('_')}_"


@pytest.mark.parametrize("word", GIVEN_UP)
def test_no_name_has_a_word_that_was_given_up(word: str) -> None:
    found = {(path.name, name) for path in FILES for name in names(path) - OTHERS if f"_{word}_" in words(name)}
    assert not found, f"say {GIVEN_UP[word]} for {word}"


def test_an_intent_is_a_payment_intent() -> None:
    folder = "payment_intents"
    found = {
        (path.name, name)
        for path in FILES
        if folder not in path.parts
        for name in names(path)
        if "_intent" in words(name) and not INTENTS.search(name)
    }
    assert not found, "say announced for a transaction that a payer has announced"
