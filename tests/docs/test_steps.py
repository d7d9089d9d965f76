"""Every list of steps in the documents is followed by a test, which is named here."""

import re
from collections.abc import Iterator

import pytest

from tests.docs.documents import ALL, DOCS, ROOT, RUNBOOK, Document

FOLLOWED = {
    ("docs/credentials.md", "`POST /v1/auth/wallet/challenge` with"): "local/test_stack.py::test_lets_its_wallets_in",
    (
        "docs/credentials.md",
        "A page gets typed data",
    ): "docs/test_use.py::test_a_destination_is_bound_by_the_three_steps",
    ("docs/recurring.md", "`POST /v2/payouts` with"): "local/test_stack.py::test_a_fresh_demo_that_is_to_run_once",
    (
        "docs/operations.md",
        "Say in `.chalice/config.json`",
    ): "deploy/test_lifecycle.py::test_a_stage_lives_by_the_commands",
    ("docs/operations.md", 'Set `"hosts": "none"`'): "deploy/test_lifecycle.py::test_a_stage_lives_by_the_commands",
    (
        "docs/operations.md",
        "Set `API_URL`",
    ): "deploy/test_hosts.py::test_a_stage_at_hosts_of_its_own_is_paid_in_a_browser",
    ("docs/recipes.md", "Add its entry to"): "docs/test_recipes.py::test_a_network_is_written_where_its_recipe_says",
    ("docs/recipes.md", "Add it below its network"): "docs/test_recipes.py::test_a_token_is_written_where_its_recipe_says",
    ("docs/recipes.md", "Add a `Kind` to"): "docs/test_recipes.py::test_a_kind_of_event_is_written_where_its_recipe_says",
    ("docs/recipes.md", "Add an `Operation` to"): "docs/test_recipes.py::test_an_operation_is_written_where_its_recipe",
    ("docs/recipes.md", "Add what the model needs"): "docs/test_recipes.py::test_one_formula_computes_a_fee",
    ("docs/recipes.md", "Write the client beside"): "docs/test_recipes.py::test_only_its_client_knows_a_provider",
    (
        "docs/requests.md",
        "`GET /v2/request/{request_id}/pay` with `gasless",
    ): "onchain/test_gasless.py::test_a_payer_without_coins_pays_a_request_exactly",
    (
        "docs/links.md",
        "`GET /v2/secure-payments/{token}/pay` with `gasless",
    ): "onchain/test_gasless.py::test_whoever_has_a_link_pays_it_exactly",
    ("docs/operations.md", "**Expand**"): "platform/storage/test_evolution.py::test_code_of_a_newer_shape_reads_items",
    ("infra/runbook.md", "Once per stage: say in"): "deploy/test_lifecycle.py::test_a_stage_lives_by_the_commands",
    ("infra/runbook.md", "Set `RELAYER_KEYS`"): "local/test_stack.py::test_a_fresh_demo_that_is_to_run_once",
    ("infra/runbook.md", "Read some, and find"): "docs/test_runbook_commands.py::test_",
    ("infra/runbook.md", "Read the time before"): "deploy/test_lifecycle.py::test_a_stage_lives_by_the_commands",
    ("infra/runbook.md", "In a checkout of the version"): "deploy/test_stack.py::test_what_a_stack_leaves",
}
"""The test, or the beginning of its name, by document and beginning of the first step."""
EXPLAINED = {
    ("docs/commerce.md", "`transactions`: an approval"),
    ("docs/links.md", "what the conversion contract says"),
    ("docs/webhooks.md", "`<kind>`"),
}
"""Lists that say in which order the service decides, or which choices there are: nothing to follow. That of
docs/architecture.md is a walk through the code."""


def first_steps(document: Document) -> Iterator[str]:
    prose = re.sub(r"```.*?```", "", document.text, flags=re.DOTALL)
    yield from re.findall(r"^1\. (.*)$", prose, re.MULTILINE)


@pytest.mark.parametrize(
    "document", [each for each in ALL if each is not DOCS["architecture"]], ids=lambda each: each.name
)
def test_every_list_of_steps_is_followed_by_a_test(document: Document) -> None:
    known = [words for name, words in {*FOLLOWED, *EXPLAINED} if name == document.name]
    unknown = [step for step in first_steps(document) if not any(step.startswith(words) for words in known)]
    assert unknown == [], f"name in tests/docs/test_steps.py the test that follows these steps of {document.name}"


def test_each_named_list_and_test_exists() -> None:
    documents = {each.name: list(first_steps(each)) for each in ALL}
    for (name, words), test in FOLLOWED.items():
        assert any(step.startswith(words) for step in documents[name]), words
        file, _, test_name = test.partition("::")
        assert f"def {test_name}" in (ROOT / "tests" / file).read_text(), test
    for name, words in EXPLAINED:
        assert any(step.startswith(words) for step in documents[name]), words
    assert RUNBOOK.name in {name for name, _ in FOLLOWED}
