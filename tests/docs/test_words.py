"""One word for one thing: words that were given up for the field's own name nothing in code, tests and page scripts."""

import json
import re
from functools import cache
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
    "held": "capturable, returned, valid, claimed or paused",
    "told": "notified, announced or shown",
    "seen": "observed, known or shown",
    "unseen": "missing",
    "worth": "price or value",
    "summed": "dust or sums",
    "edge": "the request pipeline",
    "stopping": "emergency_stop",
}
"""What is said instead of each."""
ALLOWED = {
    "heldAmount",  # of the API
    "HeldAnswer",
    "lastSeenAt",
    "last_seen_at",  # of a session, as everywhere
    "untoldCount",
    "token_permits",  # of EIP-2612
    "__bases__",  # of Python
}
"""Names of the API and of other things."""
ALLOWED_IN = {"schemas.py": {"held"}, "scenes_crosschain.py": {"held"}, "bridge_transfer.js": {"held"}}
"""The field `held` of a payment from another chain, where the API's form is written or read."""
MAY_BE_LOCAL = {"seen", "edge", "permits"}
"""Words of tests for other things: what a loop has met, CloudFront's edge, the permits of token contracts."""
INTENTS = re.compile(
    r"payment_?intents?|intent_?id|record_intent|withdraw_intent|crosschainIntents|"
    r"(Record|Crosschain|Multicall|Payment)Intent\w*|Intent(Recorded|Withdrawn)|signed_?PaymentIntent",
    re.IGNORECASE,
)
"""An intent is the API's: a payment intent, or a name of the wire for an announced transaction."""
PAGE = ROOT / "chalicelib/pages/payment"
FOLDERS = [ROOT / name for name in ("chalicelib", "infra", "tests")]
PYTHON = sorted([ROOT / "app.py", *(path for folder in FOLDERS for path in folder.rglob("*.py"))])
FILES = [path for path in PYTHON if "node_modules" not in path.parts] + sorted(PAGE.glob("*.js"))
TESTS = {path for path in FILES if ROOT / "tests" in path.parents}
NO_NAMES_IN_SCRIPTS = re.compile(r"^ *(//|/\*\*).*|(?<=[;,{}]) // .*|\"[^\"\n]*\"", re.MULTILINE)
"""Comments and texts."""
NO_NAMES_IN_PYTHON = re.compile(
    r"""#[^\n]*|(\b[bfr]{1,2})?('{3}(\\.|.)*?'{3}|"{3}(\\.|.)*?"{3}|'(\\.|[^'\\\n])*'|"(\\.|[^"\\\n])*")""",
    re.DOTALL | re.IGNORECASE,
)
"""Likewise."""


@cache
def names(path: Path) -> set[str]:
    """The identifiers of a file, and its own name."""
    text = path.read_text()
    if path.suffix == ".js":
        found = set(re.findall(r"[A-Za-z_$][\w$]*", NO_NAMES_IN_SCRIPTS.sub("", text)))
    else:
        found = set(re.findall(r"(?<!\w)[^\W\d]\w*", NO_NAMES_IN_PYTHON.sub("", text)))
    if path in TESTS:  # a test's name is a sentence
        found = {name for name in found if not name.startswith("test_")}
    return {path.stem, *found} - ALLOWED - ALLOWED_IN.get(path.name, set())


@cache
def words(name: str) -> str:
    """A name in small letters with an underscore between its words, and at both ends."""
    return f"_{re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', name).lower().strip('_')}_"


@pytest.mark.parametrize("word", GIVEN_UP)
def test_no_name_has_a_word_that_was_given_up(word: str) -> None:
    files = [path for path in FILES if word not in MAY_BE_LOCAL or path not in TESTS]
    found = {(path.name, name) for path in files for name in names(path) if f"_{word}_" in words(name)}
    assert not found, f"say {GIVEN_UP[word]} for {word}"


def test_messages_of_the_page_have_keys_without_a_word_that_was_given_up() -> None:
    keys = {key for path in PAGE.glob("locales/en*.json") for key in json.loads(path.read_text())}
    assert not {key for key in keys for word in GIVEN_UP if f"_{word}_" in words(re.sub(r"\W", "_", key))}


def test_an_intent_is_a_payment_intent() -> None:
    folder = "payment_intents"
    found = {
        (path.name, name)
        for path in PYTHON
        if folder not in path.parts and ROOT / "tests" not in path.parents
        for name in names(path)
        if "_intent" in words(name) and not INTENTS.search(name)
    }
    assert not found, "say announced for a transaction that a payer has announced"
