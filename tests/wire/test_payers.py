"""Payers as existing clients register and read them: every documented body, in the published shapes and words."""

from typing import Any
from urllib.parse import quote

import pytest

from infra.local.provider import Provider
from tests.wire.conftest import Client
from tests.wire.published import assert_fits, bodies

CREATE, READ = "POST /v2/payer", "GET /v2/payer/{clientUserId}"
ADD, LIST = (f"{method} /v2/payer/{{clientUserId}}/payment-details" for method in ("POST", "GET"))
PEOPLE, BANKS = bodies(CREATE), bodies(ADD)
ADA = {**PEOPLE["individualBeneficiary"], "clientUserId": "ada@example.com"}
PATH = f"/v2/payer/{quote('ada@example.com', safe='')}"


def provider(client: Client) -> Provider:
    return client.world.compliance.provider


def refusal(message: str, status: int = 400) -> dict[str, Any]:
    return {"statusCode": status, "message": message, "error": {400: "Bad Request", 404: "Not Found"}[status]}


@pytest.mark.parametrize("name", PEOPLE)
def test_documented_people_are_registered(client: Client, name: str) -> None:
    answer = client.post("/v2/payer", PEOPLE[name], status=200)
    assert_fits(CREATE, answer)
    assert answer["status"] == {"agreementStatus": "not_started", "kycStatus": "not_started"}
    found = client.get(f"/v2/payer/{PEOPLE[name]['clientUserId']}")
    assert_fits(READ, found)
    assert found == {
        "kycStatus": "not_started",
        "agreementStatus": "not_started",
        "isCompliant": False,
        "userId": answer["userId"],
    }


@pytest.mark.parametrize("name", BANKS)
def test_documented_bank_accounts_are_added(client: Client, name: str) -> None:
    user_id = client.post("/v2/payer", ADA, status=200)["userId"]
    made = client.post(f"{PATH}/payment-details", BANKS[name])
    assert_fits(ADD, made)
    detail, sent = made["payment_detail"], BANKS[name]
    assert detail == {
        "id": detail["id"],
        "clientUserId": "ada@example.com",
        **{each: sent[each] for each in ("bankName", "accountName", "currency", "beneficiaryType")},
        "status": "pending",
    }
    for path in (f"{PATH}/payment-details", f"{PATH}/payment-details?paymentDetailsId={detail['id']}"):
        found = client.get(path)
        assert_fits(LIST, found)
        ((account),) = found["paymentDetails"]
        assert (account["id"], account["userId"], account["status"]) == (detail["id"], user_id, "pending")
        assert account.get("accountNumber") == sent.get("accountNumber")


def test_a_person_who_is_approved_and_has_agreed_is_compliant(client: Client) -> None:
    user_id = client.post("/v2/payer", ADA, status=200)["userId"]
    assert client.call("PATCH", PATH, {"agreementCompleted": True}) == {"success": True}
    assert client.get(PATH)["isCompliant"] is False
    provider(client).move("users", user_id, {"kycStatus": "completed"})
    client.call("PATCH", PATH, {"agreementCompleted": True})
    assert client.get(PATH) == {
        "kycStatus": "approved",
        "agreementStatus": "completed",
        "isCompliant": True,
        "userId": user_id,
    }
    again = client.post("/v2/payer", ADA, status=200)
    assert_fits(CREATE, again)
    assert again["status"] == {"agreementStatus": "completed", "kycStatus": "completed"}


def test_who_is_not_registered_is_unknown_in_the_published_words(client: Client) -> None:
    unknown = refusal("Payer with client user ID user-123 not found", 404)
    assert client.get("/v2/payer/user-123", 404) == unknown
    assert client.call("PATCH", "/v2/payer/user-123", {"agreementCompleted": True}, 404) == unknown
    assert client.get("/v2/payer/user-123/payment-details", 404) == unknown
    assert client.call("DELETE", "/v2/payer/user-123", None, 404) == unknown
    assert client.post("/v2/payer/user-123/payment-details", BANKS["ukAccount"], 404) == refusal(
        "User with ID user-123 not found", 404
    )


@pytest.mark.parametrize("body", [{}, {"agreementCompleted": None}, {"agreementStatus": "completed"}])
def test_an_agreement_has_to_be_named(client: Client, body: Any) -> None:
    client.post("/v2/payer", ADA, status=200)
    answer = client.call("PATCH", PATH, body, 400)
    assert answer["message"] == "agreementCompleted must be provided"


def test_bank_details_that_the_provider_refuses_are_invalid_in_the_published_words(client: Client) -> None:
    client.post("/v2/payer", ADA, status=200)
    answer = client.post(f"{PATH}/payment-details", {**BANKS["ukAccount"], "sortCode": "refused"}, 400)
    assert answer["message"] == "Invalid bank account details"
    assert answer["errors"] == [{"field": "sortCode", "message": "Invalid bank account details"}]


PERSON_REFUSALS = [
    ({"email": "ada"}, "email must be an e-mail address"),
    ({"email": "ada@example"}, "email must be an e-mail address"),
    ({"email": ""}, "email must be an e-mail address"),
    ({"phone": "0123"}, "phone must be 2 to 15 digits with the country code, such as +12125551234"),
    ({"phone": "+1 212 555 1234"}, "phone must be 2 to 15 digits with the country code, such as +12125551234"),
    ({"phone": "+1234567890123456"}, "phone must be 2 to 15 digits with the country code, such as +12125551234"),
    ({"phone": "+\u0661\u0662\u0663"}, "phone must be 2 to 15 digits with the country code, such as +12125551234"),
    ({"phone": "+12125551234\n"}, "phone must be 2 to 15 digits with the country code, such as +12125551234"),
    ({"ssn": "12-345-6789"}, "ssn must be a social security number of nine digits, such as 123-45-6789"),
    ({"ssn": "000-45-6789"}, "ssn must be a social security number of nine digits, such as 123-45-6789"),
    ({"ssn": "123-00-6789"}, "ssn must be a social security number of nine digits, such as 123-45-6789"),
    ({"ssn": "123-45-0000"}, "ssn must be a social security number of nine digits, such as 123-45-6789"),
    ({"ssn": "12345678"}, "ssn must be a social security number of nine digits, such as 123-45-6789"),
    ({"ssn": "<ssn>", "country": "DE"}, "ssn must be 1 to 64 letters, digits, spaces, dots, slashes or hyphens"),
    ({"ssn": "", "country": "DE"}, "ssn must be 1 to 64 letters, digits, spaces, dots, slashes or hyphens"),
    ({"ssn": None}, "ssn must be a string"),
    ({"dateOfBirth": "12.12.1985"}, "dateOfBirth must be a day as YYYY-MM-DD, such as 1985-12-12"),
    ({"dateOfBirth": "1985-02-30"}, "dateOfBirth must be a day as YYYY-MM-DD, such as 1985-12-12"),
    ({"dateOfBirth": "1985-12-12T00:00:00Z"}, "dateOfBirth must be a day as YYYY-MM-DD, such as 1985-12-12"),
    ({"dateOfBirth": "2026-03-15"}, "dateOfBirth must be in the past, and not before 1900-01-01"),
    ({"dateOfBirth": "1899-12-31"}, "dateOfBirth must be in the past, and not before 1900-01-01"),
    ({"country": "USA"}, "country must be two letters, such as US"),
    ({"country": "\u0423\u0410"}, "country must be two letters, such as US"),
    ({"nationality": "1"}, "nationality must be two letters, such as US"),
    ({"beneficiaryType": "robot"}, "beneficiaryType must be one of 'individual' or 'business'"),
    ({"clientUserId": ""}, "clientUserId must have at least 1 character"),
    ({"clientUserId": "x" * 256}, "clientUserId must have at most 255 characters"),
    ({"firstName": ""}, "firstName must have at least 1 character"),
]


@pytest.mark.parametrize(("changes", "message"), PERSON_REFUSALS)
def test_what_is_wrong_with_a_person_is_said_and_nothing_is_sent(client: Client, changes: Any, message: str) -> None:
    answer = client.post("/v2/payer", {**ADA, **changes}, 400)
    assert_fits("validation error", answer)
    assert answer["message"] == message
    assert client.world.compliance.calls == []


BANK_REFUSALS = [
    ({"iban": "DE89370400440532013001"}, "iban must be an IBAN with its check digits, such as DE89370400440532013000"),
    ({"iban": "DE"}, "iban must be an IBAN with its check digits, such as DE89370400440532013000"),
    ({"swiftBic": "DEUT"}, "swiftBic must be a BIC of 8 or 11 characters, such as DEUTDEFF"),
    ({"currency": "euro"}, "currency must be three letters, such as usd"),
    ({"currency": "12$"}, "currency must be three letters, such as usd"),
    ({"country": "U"}, "country must be two letters, such as US"),
    ({"dateOfBirth": "yesterday"}, "dateOfBirth must be a day as YYYY-MM-DD, such as 1985-12-12"),
    ({"dateOfBirth": "2100-01-01"}, "dateOfBirth must be in the past, and not before 1900-01-01"),
    ({"rails": "pigeon"}, "rails must be one of 'local', 'swift' or 'wire'"),
    ({"accountType": "secret"}, "accountType must be one of 'checking' or 'savings'"),
    ({"bankName": ""}, "bankName must have at least 1 character"),
    ({"accountNumber": "1" * 65}, "accountNumber must have at most 64 characters"),
]


@pytest.mark.parametrize(("changes", "message"), BANK_REFUSALS)
def test_what_is_wrong_with_bank_details_is_said_and_nothing_is_sent(
    client: Client, changes: Any, message: str
) -> None:
    client.post("/v2/payer", ADA, status=200)
    answer = client.post(f"{PATH}/payment-details", {**BANKS["swiftInternational"], **changes}, 400)
    assert answer["message"] == message
    assert len(client.world.compliance.calls) == 1


@pytest.mark.parametrize("name", [name for name in ADA if name not in ("clientUserId",)])
def test_every_documented_field_is_required(client: Client, name: str) -> None:
    body = {field: value for field, value in ADA.items() if field != name}
    assert client.post("/v2/payer", body, 400)["message"] == f"{name} is required"


@pytest.mark.parametrize("ssn", ["123-45-6789", "123456789", "987-65-4321"])
def test_a_social_security_number_is_taken_with_and_without_hyphens(client: Client, ssn: str) -> None:
    assert client.post("/v2/payer", {**ADA, "ssn": ssn}, status=200)


def test_elsewhere_a_tax_number_takes_its_place(client: Client) -> None:
    assert client.post("/v2/payer", {**ADA, "country": "de", "ssn": "12/345/67890"}, status=200)
    ((details),) = provider(client).details.values()
    assert details["country"] == "DE"
