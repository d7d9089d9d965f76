"""The tree of errors is drawn at the head of base/errors.py as it is, and each shows what its room registered."""

import importlib
import re
from pathlib import Path

import pytest

from chalicelib.base import errors
from chalicelib.base.errors import NotConfirmed, Problem, ServiceError, TooManyRequests, Unauthorized, ValidationFailed
from chalicelib.chains.nodes.agreement import TooFewNodes
from chalicelib.chains.nodes.history.logs import InconsistentNode
from chalicelib.chains.nodes.nodes import NodesDisagree
from chalicelib.chains.nodes.rpc.jsonrpc import RpcError
from chalicelib.payments.scanning.checks.comparison import NotAgreed
from chalicelib.platform.access.presence import ProofRequired
from chalicelib.platform.emergency_stop.flows import PaymentsStopped
from chalicelib.platform.http.errors import details_of, error_body, phrase_of
from chalicelib.platform.outbound.compliance import ProviderUnavailable
from chalicelib.platform.outbound.destination_sender import AccountUnknown
from chalicelib.platform.storage.items import NewerShape
from chalicelib.relayer.keys.signer import NoRelayer

ROOT = Path(__file__).parents[2]


def classes() -> list[type[ServiceError]]:
    """Every error class of the product."""
    for path in (ROOT / "chalicelib").rglob("*.py"):
        importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    found, left = [], [ServiceError]
    while left:
        each = left.pop()
        left += each.__subclasses__()
        found += [each] if each.__module__.startswith("chalicelib.") else []
    return found


def test_the_drawing_has_every_error_with_its_parent_status_and_module() -> None:
    drawn, parents = {}, ["ServiceError"]
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"([│ ]*)[├└]── (\w+) +(\d{3})(.*)", line)
        if match:
            depth = len(match[1]) // 4
            parents[depth + 1 :] = [match[2]]
            place = re.search(r", in ([\w.]+)$", match[4])
            drawn[match[2]] = (parents[depth], int(match[3]), f"chalicelib.{place[1] if place else 'base.errors'}")
    assert drawn == {
        each.__name__: (each.__base__.__name__, each.status, each.__module__)
        for each in classes()
        if each is not ServiceError and each.__base__ is not None
    }


def test_an_error_that_holds_records_names_the_module_that_shows_them() -> None:
    """Except for those of which callers see only the message, or headers, and those that http shows itself."""
    silent = {
        Unauthorized, TooManyRequests, RpcError, InconsistentNode, NodesDisagree, ValidationFailed, ProviderUnavailable,
        NoRelayer, NewerShape, PaymentsStopped, ProofRequired, NotConfirmed, TooFewNodes, NotAgreed, AccountUnknown,
    }  # fmt: skip
    for each in classes():
        if each is not ServiceError and "__init__" in vars(each) and each not in silent:
            assert each.shown_by is not None, each
            importlib.import_module(each.shown_by)
            assert details_of.registry[each].__module__ == each.shown_by


def test_the_text_of_an_error_is_its_message_however_it_is_passed() -> None:
    assert str(ServiceError("what to change")) == str(ServiceError(message="what to change")) == "what to change"


def test_the_first_of_several_problems_is_the_message() -> None:
    problems = (Problem(("amount",), "use digits"), Problem(("payee",), "use an address"))
    failed = ValidationFailed(problems)
    assert (failed.message, str(failed)) == ("amount use digits", "amount use digits")
    assert failed.problems == problems
    assert (problems[0].code, problems[0].details) == ("custom", ())


@pytest.mark.parametrize(
    ("problem", "field", "sentence"),
    [
        (Problem(("requests", "0", "amount"), "is required"), "requests.0.amount", "requests.0.amount is required"),
        (Problem(("wallet",), "Invalid Ethereum address"), "wallet", "wallet: Invalid Ethereum address"),
        (Problem((), "chain and token must be given together"), "", "chain and token must be given together"),
        (Problem(("id",), "Invalid ID", verbatim=True), "id", "Invalid ID"),
    ],
)
def test_a_sentence_names_the_field_and_the_message_beside_it_does_not(
    problem: Problem, field: str, sentence: str
) -> None:
    assert (problem.field, problem.sentence) == (field, sentence)
    body = error_body(ValidationFailed((problem,)))
    assert (body["message"], body["errors"]) == (sentence, [{"field": field, "message": problem.message}])


def test_an_error_has_its_usual_message_and_status() -> None:
    assert (Unauthorized().message, str(Unauthorized()), ServiceError("x").status) == ("Unauthorized", "Unauthorized", 500)
    throttled = TooManyRequests(7, 60)
    assert (throttled.retry_after, throttled.limit) == (7, 60)
    assert throttled.message == str(throttled) == "ThrottlerException: Too Many Requests"


def test_the_words_of_a_status_do_not_change_with_the_python() -> None:
    """3.13 renamed these; clients got them from 3.11."""
    known = {400: "Bad Request", 413: "Request Entity Too Large", 414: "Request-URI Too Long", 422: "Unprocessable Entity"}
    assert {status: phrase_of(status) for status in known} == known
