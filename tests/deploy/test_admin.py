"""The operator's commands: what they print, what they do, and the sentence when they cannot."""

import io
import subprocess
import sys
from collections.abc import Callable, Iterator

import boto3
import pytest

from chalicelib.accounts.members import invitations
from chalicelib.accounts.sign_in import flows as sign_in_flows
from chalicelib.accounts.sign_in import open_sessions
from chalicelib.base.errors import Unauthorized
from chalicelib.base.records import Counts
from chalicelib.base.timestamps import iso
from chalicelib.gasless.energy.flows import key_address
from chalicelib.platform.access.audit.records import Actor, AuditEntry
from chalicelib.platform.access.credentials.records import ApiKey, ClientId, CredentialStatus
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.modes import Tier
from chalicelib.platform.emergency_stop import flows as emergency_stop
from chalicelib.platform.services import Services
from chalicelib.platform.storage.clients import aws_client
from chalicelib.relayer.holdings.records import HoldingsTotal
from chalicelib.webhooks.signature_keys import flows as signature_keys
from infra import admin
from infra.local.process import ROOT
from tests.docs.documents import DOCS
from tests.fakes.offramps import store_order
from tests.fakes.payouts import store_payouts
from tests.fakes.requests import store_request
from tests.fakes.wallets import evm_wallet
from tests.fakes.world import PREFIX, PlainSigningKeys, World, dynamodb_of_moto, in_process_aws
from tests.support.patience import patience
from tests.support.running import restart, running

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def services() -> Iterator[Services]:
    restart()
    with dynamodb_of_moto():
        yield running()
    restart()


@pytest.fixture
def run(services: Services, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command: its exit code, what it printed, and what it said on stderr."""

    def run(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        code = admin.main(list(arguments))
        said = capsys.readouterr()
        return code, said.out.strip(), said.err.strip()

    return run


def made(run: Run) -> tuple[str, str, str]:
    """An account with an API key and a client id."""
    account = run("create-account", "Shop")[1]
    key = run("create-api-key", "--account", account, "--label", "server")[1]
    client = run("create-client-id", "--account", account, "--domain", "https://shop.example")[1]
    return account, key, client


def record(services: Services, text: str, kind: type) -> ApiKey | ClientId:
    found = services.store.get(kind, kind.KEY.of(credential_hash=credential_hash(text)))  # type: ignore[attr-defined]
    assert isinstance(found, ApiKey | ClientId)
    return found


def id_in(listing: str, shown: str) -> str:
    (line,) = [line for line in listing.splitlines() if shown in line]
    return next(word for word in line.split() if len(word) == 26)


def test_it_makes_and_lists_credentials_without_showing_a_key_again(run: Run) -> None:
    account, key, client = made(run)
    code, listing, _ = run("list", "--account", account)
    assert code == 0 and key not in listing
    assert [line.split("  ")[0].strip() for line in listing.splitlines()] == ["API key", "client id"]
    assert key[:8] in listing and client in listing and "server" in listing and "never used" in listing


def test_it_stops_payments_and_lets_them_go_on_and_the_audit_log_says_so(run: Run, services: Services) -> None:
    code, said, _ = run("stop", "--reason", "wrong calldata")
    assert code == 0 and said.startswith("Payments are stopped since ")
    assert emergency_stop.stopped_since(services) is not None
    code, said, _ = run("resume")
    assert code == 0 and said.endswith("wrong calldata.")
    assert run("resume") == (0, "Payments are not stopped.", "")
    entries = services.store.query(AuditEntry, AuditEntry.KEY.all(account_id=admin.SERVICE))
    assert [(each.actor, each.action, each.target) for each in entries] == [
        ("operator", "payments.stopped", "wrong calldata"),
        ("operator", "payments.resumed", ""),
    ]
    newest, oldest = run("audit")[1].splitlines()
    assert newest.endswith("operator  payments.resumed") and oldest.endswith("payments.stopped  wrong calldata")


def test_it_replaces_the_key_of_signatures_and_the_audit_log_says_so(run: Run, services: Services) -> None:
    kms = aws_client("kms")
    key = kms.create_key()["KeyMetadata"]["KeyId"]
    kms.create_alias(AliasName=f"alias/{services.settings.resource_prefix}-secrets", TargetKeyId=key)
    signature_keys.ensure_key(services)
    code, said, _ = run("rotate-signature-key")
    (first, second) = signature_keys.list_published(services)
    assert code == 0 and said == f"The key {second.key_id} is published, and signs from {iso(second.signs_from)} on."
    code, _, failed = run("rotate-signature-key")
    assert code == 1 and failed.startswith("There is a new key already, which signs from ")
    assert run("rotate-signature-key", "--at-once")[0] == 0
    (only,) = signature_keys.list_published(services)
    assert only.key_id not in (first.key_id, second.key_id)
    newest, oldest = run("audit")[1].splitlines()
    assert newest.endswith("operator  signature_key.rotated  at once") and oldest.endswith("signature_key.rotated")


def test_it_refuses_a_payout_once_and_nothing_else(run: Run, services: Services) -> None:
    (payout,) = store_payouts(services, "acct", 1)
    token = payout.link.token
    assert run("refuse-payout", token) == (0, f"{token} can no longer be paid.", "")
    (entry,) = services.store.query(AuditEntry, AuditEntry.KEY.all(account_id="acct"))
    assert (entry.actor, entry.action, entry.target) == ("operator", "payout.refused", token)
    again = run("refuse-payout", token)
    assert again == (1, "", "Only a pending payout can be refused: this is pay, compliance_failed")
    assert run("refuse-payout", "01")[0] == 1


def test_it_settles_an_off_ramp_order_and_says_why_it_cannot(run: Run, services: Services) -> None:
    request = store_order(services, paid_at=services.clock())
    code, said, _ = run("settle-offramp", request.request_id, "refunded")
    assert (code, said) == (0, f"offramp_{request.request_id} is settled as refunded, and the merchant is told.")
    (entry,) = services.store.query(AuditEntry, AuditEntry.KEY.all(account_id="acct"))
    assert (entry.actor, entry.action) == ("operator", "offramp.settled")
    again = run("settle-offramp", request.request_id, "refunded")
    assert again == (1, "", "The order is settled as refunded already.")
    assert run("settle-offramp", "01", "failed") == (1, "", "There is no off-ramp order of the request 01.")


def test_it_revokes_by_id_or_by_the_credential_on_standard_input(run: Run, services: Services) -> None:
    account, key, client = made(run)
    listing = run("list", "--account", account)[1]
    assert run("revoke", id_in(listing, client), "--account", account) == (0, "Revoked for good.", "")
    assert run("revoke", "-", stdin=f"{key}\n") == (0, "Revoked for good.", "")
    assert record(services, key, ApiKey).status is CredentialStatus.REVOKED
    assert record(services, client, ClientId).status is CredentialStatus.REVOKED
    assert run("revoke", "-", stdin=key)[0] == 0, "again is no mistake"
    assert run("list", "--account", account)[1].count("\n") == 0, "a revoked key is not listed"


def test_it_sets_tiers(run: Run, services: Services) -> None:
    account, key, client = made(run)
    listing = run("list", "--account", account)[1]
    code, said, _ = run("set-tier", id_in(listing, client), "premium", "--account", account)
    assert (code, said) == (0, "The tier is premium now.")
    assert run("set-tier", "-", "high_volume", stdin=key)[0] == 0
    assert record(services, client, ClientId).tier is Tier.PREMIUM
    assert record(services, key, ApiKey).tier is Tier.HIGH_VOLUME


def test_the_key_of_a_platform_is_listed_and_revoked_like_the_others(run: Run) -> None:
    account = run("create-account", "Platform")[1]
    key = run("create-orchestrator", "--account", account, "--email", "ops@platform.example", "Platform")[1]
    listing = run("list", "--account", account)[1]
    assert key not in listing and listing.startswith("platform")
    assert run("revoke", id_in(listing, key[:13]), "--account", account) == (0, "Revoked for good.", "")
    assert run("list", "--account", account)[1] == "No credentials.", "a revoked key is not listed"


def test_what_it_does_is_in_the_audit_log_of_the_account(run: Run, services: Services) -> None:
    account, key, _ = made(run)
    run("set-tier", "-", "basic", stdin=key)
    run("revoke", "-", stdin=key)
    lines = services.store.query(AuditEntry, AuditEntry.KEY.all(account_id=account))
    assert [(line.actor, line.action) for line in lines] == [
        ("operator", "api_key.created"),
        ("operator", "client_id.created"),
        ("operator", "api_key.tier_changed"),
        ("operator", "api_key.revoked"),
    ]


def test_it_resets_a_password_and_ends_sessions(run: Run, services: Services) -> None:
    nobody, email = Actor("", "anonymous", "", ""), "ann@shop.example"
    person = sign_in_flows.register(services, email, "correct horse", nobody)
    account = person.account_id
    sign_in_flows.log_in(services, email, "correct horse", None, nobody)
    done = (0, "The password is changed. Sessions ended: 1.", "")
    assert run("reset-password", email, stdin=" another horse \n") == done
    with pytest.raises(Unauthorized):
        sign_in_flows.log_in(services, email, "correct horse", None, nobody)
    sign_in_flows.log_in(services, email, " another horse ", None, nobody)
    assert run("end-sessions", "--account", account) == (0, "Sessions ended: 1.", "")
    assert run("end-sessions", "--account", account) == (0, "Sessions ended: 0.", "")
    assert open_sessions.list_open(services, person.person_id) == []
    lines = services.store.query(AuditEntry, AuditEntry.KEY.all(account_id=account))
    actions = [line.action for line in lines if line.actor == "operator"]
    assert sorted(actions) == ["person.password_reset", "session.revoked", "session.revoked"]


def test_it_invites_people_to_an_account_and_lists_them(run: Run, services: Services) -> None:
    account = run("create-account", "Shop")[1]
    assert run("members", "--account", account)[1].startswith("No members")
    code, link, _ = run("invite", "Ann@Shop.example", "--account", account)
    assert (code, link.startswith("http")) == (0, True)
    assert run("invite", evm_wallet().address.lower(), "--role", "viewer", "--account", account)[0] == 0
    invited = run("members", "--account", account)[1]
    assert "owner      invited, until" in invited and f"  {evm_wallet().address}" in invited
    invitations.register(services, Actor("", "anonymous", "", ""), link.partition("#")[2], "correct horse", "en")
    assert "ann@shop.example" in run("members", "--account", account)[1].splitlines()[0]
    assert run("invite", "a@shop.example", "--account", "01")[0] == 1
    code, _, problem = run("invite", "nobody", "--account", account)
    assert (code, problem.strip()) == (1, "nobody is neither an e-mail address nor the address of a wallet.")
    lines = services.store.query(AuditEntry, AuditEntry.KEY.all(account_id=account))
    assert [line.actor for line in lines][:2] == ["operator"] * 2


@pytest.mark.parametrize("address", ["203.0.113.7", "2001:db8:1:2::1", "2001:db8:1:2::/64"])
def test_it_looks_for_a_ban_at_an_address(run: Run, address: str) -> None:
    assert run("lift-ban", "--address", address, stdin="anonymous\n") == (0, "That caller is not banned.", "")


@pytest.mark.parametrize(
    ("address", "credential", "problem"),
    [
        ("203.0.113", "anonymous", "203.0.113 is not an IP address."),
        ("203.0.113.7", "", "Send the credential on standard input, or `anonymous` or `refused`."),
    ],
)
def test_a_ban_without_an_address_or_a_credential_is_refused(run: Run, address: str, credential: str, problem: str) -> None:
    code, _, said = run("lift-ban", "--address", address, stdin=f"{credential}\n")
    assert (code, said.strip()) == (1, problem)


def test_a_label_cannot_write_on_the_operators_terminal(run: Run) -> None:
    account = run("create-account", "Shop")[1]
    run("create-api-key", "--account", account, "--label", "a\x1b[2Jb\nc")
    assert "a?[2Jb?c" in run("list", "--account", account)[1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("create-api-key", "--account", "nobody"), "There is no account nobody."),
        (("create-client-id", "--account", "nobody"), "There is no account nobody."),
        (("list", "--account", "nobody"), "There is no account nobody."),
        (("end-sessions", "--account", "nobody"), "There is no account nobody."),
        (("reset-password", "nobody@shop.example"), "There is no user with this e-mail address."),
        (("reset-password", "nobody"), "email must be an e-mail address"),
        (("revoke", "x", "--account", "nobody"), "There is no account nobody."),
        (("revoke", "-"), "There is no such credential."),
        (("set-tier", "-", "basic"), "There is no such credential."),
        (("revoke", "x"), "Name the account with --account"),
        (("create-client-id", "--account", "ACCOUNT", "--domain", "http://shop.example"), "must start with https://"),
        (("revoke", "x", "--account", "ACCOUNT"), "no credential with the id x"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_cannot_be_done_is_said_in_a_sentence(run: Run, arguments: tuple[str, ...], sentence: str) -> None:
    account = run("create-account", "Shop")[1]
    code, said, problem = run(*(account if each == "ACCOUNT" else each for each in arguments))
    assert (code, said) == (1, "")
    assert sentence in problem and "\n" not in problem


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({}, "The service's environment is missing or wrong: STAGE, RESOURCE_PREFIX, API_URL"),
        (
            {
                "STAGE": "local",
                "RESOURCE_PREFIX": "x",
                **dict.fromkeys(("API_URL", "AUTH_URL", "PAY_URL", "EXPLORER_URL"), "http://x.test"),
                "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
                "AWS_DEFAULT_REGION": "us-east-1",
                "AWS_ACCESS_KEY_ID": "test",
                "AWS_SECRET_ACCESS_KEY": "test",
                "AWS_MAX_ATTEMPTS": "1",
            },
            "AWS did not do it: Could not connect",
        ),
    ],
    ids=["no environment", "no AWS"],
)
def test_without_its_surroundings_it_says_so_without_a_traceback(environment: dict[str, str], sentence: str) -> None:
    command = [sys.executable, "-m", "infra.admin", "create-account", "x"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment, timeout=patience(3))
    assert done.returncode == 1
    assert sentence in done.stderr and "Traceback" not in done.stderr


def test_it_gives_records_their_places_in_lists_that_are_new(run: Run, services: Services) -> None:
    (command,) = [each for each in DOCS["operations"].blocks("sh") if "infra.admin" in each]
    assert command.split("#")[0].split() == [".venv/bin/python", "-m", "infra.admin", "reindex"]
    request = store_request(services)
    services.store.client.update_item(
        TableName=f"{services.store.prefix}-{request.key.table}",
        Key={"pk": {"S": request.key.pk}, "sk": {"S": request.key.sk}},
        UpdateExpression="REMOVE by_account, listed_at",
    )
    assert run("reindex")[:2] == (0, "Written: 1 Request.")
    assert run("reindex")[:2] == (0, "Nothing was left to write.")


def test_it_shows_the_services_own_account_on_each_network(run: Run) -> None:
    boto3.client("secretsmanager").create_secret(Name=f"{PREFIX}-rpc-urls", SecretString="{}")
    assert run("relayer") == (0, "RELAYER_KEYS names no network.", "")
    with in_process_aws() as client:
        world = World(client, relayer_keys={"sepolia": "secret", "base": "secret"})
        world.services.secrets.tron_energy = "account=TPL66VK2gCXNCD7EJg9pgJRfqcRazjhUZY,daily=1,key=secret"
        world.chain.mempool.balance = 15 * 10**17
        account, token = PlainSigningKeys.address, "0x" + "22" * 20
        world.services.store.write(HoldingsTotal("sepolia", account, token, Counts({"held": 12_500_000})))
        lines = admin.relayer(world.services)
    assert lines == [
        f"sepolia       {account}  balance 1.5  next nonce 0  open 0",
        f"              holds 12500000 base units of {token} for others",
        f"base          {account}  balance unknown: no node answered  next nonce unknown  open 0",
        "tron          TPL66VK2gCXNCD7EJg9pgJRfqcRazjhUZY  its stake is delegated by the key of "
        f"{key_address(world.services)}",
    ]
