"""The versions of a stage: which one a rollback puts back, and what the bucket keeps."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from moto import mock_aws

from infra import versions
from infra.recovery import rollback
from infra.stack import DeploymentStopped
from infra.target import Target
from infra.versions import Deployment, Versions, previous


def history(*entries: str) -> list[Deployment]:
    """Deployments by the letter of their build: "A", "B?" was not finished, "A<B" rolled B back to A."""
    found = []
    for number, entry in enumerate(entries, 1):
        build, _, replaced = entry.rstrip("?").partition("<")
        found.append(Deployment(number, build, f"c{number}", "now", not entry.endswith("?"), replaced or None))
    return found


@pytest.mark.parametrize(
    ("entries", "number"),
    [
        (["A", "B"], 1),
        (["A", "B", "B"], 1),
        (["A", "B", "C"], 2),
        (["A", "B", "C?"], 2),
        (["A", "B?", "B?"], 1),
        (["A", "B", "A<B?"], 1),
        (["A", "B", "A<B?", "A<B?"], 1),
        (["A", "B", "A<B", "C"], 3),
        (["A", "B", "A<B", "B"], 3),
    ],
)
def test_a_rollback_goes_to_the_last_finished_deployment_of_another_build(entries: list[str], number: int) -> None:
    assert previous(history(*entries)).number == number


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([], "No deployment of this stage is recorded"),
        (["A"], "There is no earlier version than commit c1, build A"),
        (["A?", "B?"], "There is no earlier version"),
        (["A", "B", "C", "B<C"], "goes no further back"),
    ],
)
def test_a_rollback_with_nothing_to_go_back_to_says_so(entries: list[str], said: str) -> None:
    with pytest.raises(DeploymentStopped, match=said):
        previous(history(*entries))


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[Versions]:
    monkeypatch.setattr(versions, "KEPT", 2)
    with mock_aws():
        # moto answers the checksum of an earlier object of the same name
        s3 = boto3.client(
            "s3",
            "us-east-1",
            config=Config(request_checksum_calculation="when_required", response_checksum_validation="when_required"),
        )
        made = Versions(s3, boto3.client("sts", "us-east-1"), "prod")
        assert made.history() == []  # a stage of an earlier version has no bucket
        s3.create_bucket(Bucket=made.bucket)
        yield made


def project(folder: Path, text: str) -> Path:
    (folder / ".chalice" / "deployed").mkdir(parents=True, exist_ok=True)
    (folder / ".chalice" / "deployed" / "prod.json").write_text(text)
    (folder / "app.py").write_text(text)
    return folder


def test_the_bucket_keeps_the_last_deployments_and_their_builds(kept: Versions, tmp_path: Path) -> None:
    for text in ("one", "two", "one", "three"):
        kept.begin(project(tmp_path, text), "c")
        kept.finish()
    assert [each.number for each in kept.history()] == [3, 4]
    assert all(each.finished for each in kept.history())
    builds = {each.build for each in kept.history()}
    assert set(kept._keys("builds/")) == {f"builds/{build}.zip" for build in builds}


def test_however_many_deployments_fail_there_is_a_version_to_go_back_to(kept: Versions, tmp_path: Path) -> None:
    for text, is_finished in {"one": True, "two": True, "three": False, "four": False, "five": True}.items():
        kept.begin(project(tmp_path, text), "c")
        if is_finished:
            kept.finish()
    assert [each.number for each in kept.history()] == [2, 5]
    assert previous(kept.history()).number == 2


def test_of_two_deployments_that_begin_at_once_one_is_refused(
    kept: Versions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "_numbers", list)  # both have read that there is none
    kept.begin(project(tmp_path, "one"), "c")
    with pytest.raises(DeploymentStopped, match="Somebody else has begun"):
        kept.begin(project(tmp_path, "two"), "c")


def test_a_deployment_records_its_own_end_also_if_another_one_began_since(kept: Versions, tmp_path: Path) -> None:
    first = kept.begin(project(tmp_path, "one"), "c")
    kept.begin(project(tmp_path, "two"), "c")
    kept.finish(first)
    assert [each.finished for each in kept.history()] == [True, False]
    kept.finish()  # what `make finish` knows is the latest one
    assert [each.finished for each in kept.history()] == [True, True]


def test_a_rollback_takes_the_hosts_that_its_version_had(
    kept: Versions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {"environment_variables": {f"{name}_URL": f"https://{name}.shop.com" for name in ("API", "AUTH", "PAY")}}
    own |= {"hosts": {"certificate": "arn", "hosted_zone": "Z1"}, "lambda_functions": {}}
    (tmp_path / ".chalice").mkdir()
    (tmp_path / "requirements.txt").touch()
    (tmp_path / "chalicelib").mkdir()
    (tmp_path / ".chalice" / "config.json").write_text(json.dumps({"stages": {"prod": own}}))
    for text in ("one", "two"):
        kept.finish(kept.begin(project(tmp_path, text), text))
    put: list[Any] = []
    monkeypatch.setattr(rollback, "put", lambda *arguments, **named: put.append(arguments))
    monkeypatch.setattr(Target, "versions", lambda _: kept)
    monkeypatch.setattr(Target, "client", lambda _, service: boto3.client(service, "us-east-1"))
    rollback.rollback(Target("prod", {}, {}))
    ((target, _, commit),) = put
    assert commit == "one" and target.hosts.urls["PAY_URL"] == "https://PAY.shop.com"


def test_a_bucket_that_has_gone_is_empty() -> None:
    with mock_aws():
        Versions(boto3.client("s3", "us-east-1"), boto3.client("sts", "us-east-1"), "prod").empty()


def test_a_build_whose_deployment_was_killed_before_it_was_recorded_goes_with_the_next_one(
    kept: Versions, tmp_path: Path
) -> None:
    kept._s3.put_object(Bucket=kept.bucket, Key="builds/of-a-killed-deployment.zip", Body=b"")
    kept.finish(kept.begin(project(tmp_path, "one"), "c"))
    assert list(kept._keys("builds/")) == [f"builds/{kept.history()[-1].build}.zip"]
