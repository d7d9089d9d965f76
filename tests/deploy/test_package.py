"""What `chalice package` builds: for each stage, small enough, of runtime code alone, one role for each function."""

import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.requirements import Requirement

from chalicelib.platform.http.documents import FOLDER
from chalicelib.platform.settings import Settings
from infra.configuration import ROOT, config, python_of, stages
from infra.iam import ACCESS, ANYWHERE, policy_document
from infra.local.pythons import HERE
from infra.packaging import sbom, scratch
from infra.packaging.bundle import need_python
from infra.packaging.imports import check_imports
from infra.packaging.package import LOCK, package, project_copy
from infra.stack import DeploymentStopped
from infra.verify import function_of
from tests.deploy.test_code import SERVED

pytestmark = pytest.mark.xdist_group("deployment")

MEBIBYTE = 1024 * 1024
STAGES = stages()
UPLOAD_LIMIT = 50 * MEBIBYTE
UNPACKED_LIMIT = 250 * MEBIBYTE
GATEWAY_RESOURCE_LIMIT = 300
LEFT_OUT = {
    "SAFE_SERVICE_URLS", "ARCHIVE_AFTER_DAYS", "ARCHIVE_BUCKET", "HEADERS_EVERY", "SCAN_WAITS", "SILENT_NODES_SECONDS",
    "UNPROVED_ACCEPTED", "WALLETCONNECT_RELAY_URL",
}  # fmt: skip
"""Settings that need not be given: they have defaults, or values of networks.json; the deployment names the bucket, and
tests another relay."""


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Stage -> folder with sam.json, deployment.zip and layer-deployment.zip."""
    folder = tmp_path_factory.mktemp("packages")
    for stage in STAGES:
        package(stage, folder / stage)
    return {stage: folder / stage for stage in STAGES}


def said_by(version: str, expression: str) -> str:
    """What an expression is for a Python of `version`."""
    command = [need_python(version), "-c", f"import importlib.util, sys; print({expression})"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def sam(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "sam.json").read_text())["Resources"]


def functions(folder: Path) -> dict[str, dict[str, Any]]:
    """Name in app.py -> properties."""
    found = [entry["Properties"] for entry in sam(folder).values() if entry["Type"] == "AWS::Serverless::Function"]
    return {function_of(entry["Handler"]): entry for entry in found}


def archives(folder: Path) -> Iterator[zipfile.ZipFile]:
    for file in sorted(folder.glob("*.zip")):
        with zipfile.ZipFile(file) as archive:
            yield archive


@pytest.mark.parametrize("stage", STAGES)
def test_what_is_uploaded_fits(packages: dict[str, Path], stage: str) -> None:
    files = sorted(packages[stage].glob("*.zip"))
    assert [file.name for file in files] == ["deployment.zip", "layer-deployment.zip"]
    assert all(file.stat().st_size < UPLOAD_LIMIT for file in files)
    code, layer = (file.stat().st_size for file in files)
    assert 5 * code < layer, "a deployment without new packages sends code only"
    assert (
        sum(entry.file_size for archive in archives(packages[stage]) for entry in archive.infolist()) < UNPACKED_LIMIT
    )


@pytest.mark.parametrize("stage", STAGES)
def test_no_development_package_is_shipped(packages: dict[str, Path], stage: str) -> None:
    lines = (ROOT / "tests" / "requirements.txt").read_text().splitlines()
    names = {line.split("==")[0].split("[")[0] for line in lines if "==" in line}
    tools = {_normal(name) for name in names} - brought_along()
    assert {"chalice", "boto3", "moto", "pytest", "tronpy"} <= tools
    for archive in archives(packages[stage]):
        for name in archive.namelist():
            shipped = [part.split("-")[0].lower() for part in Path(name).parts if part.endswith(".dist-info")]
            assert not tools & set(shipped), name


@pytest.mark.parametrize("stage", STAGES)
def test_every_module_has_bytecode_that_is_not_compared_with_it(packages: dict[str, Path], stage: str) -> None:
    """The first 8 bytes: the version of Python, and 1 for bytecode that is named by a hash that nobody checks."""
    python = python_of(config(), stage)
    header = bytes.fromhex(said_by(python, "importlib.util.MAGIC_NUMBER.hex()")) + (1).to_bytes(4, "little")
    tag = said_by(python, "sys.implementation.cache_tag")
    for archive in archives(packages[stage]):
        names = set(archive.namelist())
        compiled = {name for name in names if name.endswith(".pyc")}
        modules = (Path(name) for name in names if name.endswith(".py"))
        assert compiled == {str(each.parent / "__pycache__" / f"{each.stem}.{tag}.pyc") for each in modules}
        assert all(archive.read(name)[:8] == header for name in compiled)


def test_builds_in_different_folders_ship_the_same_bytes(packages: dict[str, Path]) -> None:
    """The stages differ in their settings, and each was built in a folder of its own."""
    built = [(packages[stage] / "deployment.zip").read_bytes() for stage in STAGES if stage != "local"]
    assert len(built) > 1
    assert len(set(built)) == 1


@pytest.mark.parametrize(("stage", "version"), [("prod", "3.13"), ("dev", "3.13"), ("local", HERE)])
def test_the_functions_have_the_python_of_the_package(packages: dict[str, Path], stage: str, version: str) -> None:
    """The newest one, whichever this is; the local cloud has workers of this one."""
    python = f"python{version}"
    assert {entry["Runtime"] for entry in functions(packages[stage]).values()} == {python}
    with zipfile.ZipFile(packages[stage] / "layer-deployment.zip") as layer:
        binary = [name for name in layer.namelist() if ".cpython-" in name and name.endswith(".so")]
        assert binary
        assert all(f".cpython-{version.replace('.', '')}-" in name for name in binary)
        assert all(name.startswith(f"python/lib/{python}/site-packages/") for name in layer.namelist())


def test_the_bill_of_materials_is_the_two_zip_files_file_by_file(packages: dict[str, Path]) -> None:
    folder = packages["prod"]
    libraries = sbom.write(folder)
    text = (folder / sbom.DOCUMENT).read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    listed = [file for library in json.loads(text)["components"] for file in library.get("components", ())]
    shipped = {
        (file.name, name): hashlib.sha256(archive.read(name)).hexdigest()
        for file, archive in zip(sorted(folder.glob("*.zip")), archives(folder), strict=True)
        for name in archive.namelist()
    }
    assert {(each["group"], each["name"]): each["hashes"][0]["content"] for each in listed} == shipped
    assert len(listed) == len(shipped)
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)", LOCK.read_text(), re.MULTILINE))
    versions = {_normal(name): version for name, version, _ in libraries}
    vendored = {
        name: package
        for folder in ("dashboard", "payment/walletconnect")
        for name, package in json.loads((ROOT / f"chalicelib/pages/{folder}/vendor.json").read_text())["packages"].items()
    }
    assert {(name, each["version"], each["license"]) for name, each in vendored.items()} <= set(libraries)
    purls = {each["purl"]: each["hashes"][0] for each in json.loads(text)["components"] if each.get("purl", "").startswith("pkg:npm/")}
    assert {(each["alg"], len(each["content"])) for each in purls.values()} == {("SHA-512", 128)} and len(purls) == len(vendored)
    ours = {"chalice", "payment_requests", *map(_normal, vendored)}
    assert {name: version for name, version in versions.items() if name not in ours}.items() <= {
        _normal(name): version for name, version in pinned.items()
    }.items()
    assert {name for name, _, licence in libraries if licence in ("", "unknown", "UNKNOWN")} == set()
    sbom.write(folder)
    assert (folder / sbom.DOCUMENT).read_text() == text


def brought_along() -> set[str]:
    """What is shipped because a package of requirements.txt requires it."""
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    wanted, found = [line.split("==")[0] for line in lines if "==" in line], set[str]()
    while wanted:
        required = [Requirement(each) for each in metadata.requires(wanted.pop()) or ()]
        new = {each.name for each in required if not each.marker or each.marker.evaluate({"extra": ""})}
        wanted += [name for name in new if _normal(name) not in found]
        found |= {_normal(name) for name in new}
    return found


def _normal(name: str) -> str:
    return name.lower().replace("-", "_")


def test_the_code_is_all_there_and_nothing_else_of_the_project(packages: dict[str, Path]) -> None:
    with zipfile.ZipFile(packages["prod"] / "deployment.zip") as archive:
        names = archive.namelist()
    shipped = {name for name in names if not name.startswith("chalice/") and not name.endswith(".pyc")}
    sources = [*(ROOT / "chalicelib").rglob("*"), ROOT / "app.py", *(FOLDER / name for name in SERVED)]
    files = {str(file.relative_to(ROOT)) for file in sources if file.is_file() and "__pycache__" not in file.parts}
    assert shipped == files


@pytest.mark.parametrize("stage", STAGES)
def test_every_function_has_a_role_and_a_policy_of_its_own(packages: dict[str, Path], stage: str) -> None:
    resources, found = sam(packages[stage]), functions(packages[stage])
    assert set(found) == set(ACCESS)
    roles = {name: entry["Role"]["Fn::GetAtt"][0] for name, entry in found.items()}
    assert len(set(roles.values())) == len(roles)
    for name, role in roles.items():
        (attached,) = resources[role]["Properties"]["Policies"]
        assert attached["PolicyDocument"] == ANYWHERE.fill(policy_document(stage, name))


def test_the_functions_have_the_room_and_the_time_they_need(packages: dict[str, Path]) -> None:
    shapes = {name: (entry["MemorySize"], entry["Timeout"]) for name, entry in functions(packages["prod"]).items()}
    assert shapes == {
        "api_handler": (1024, 29),
        "announce_events": (512, 30),
        "deliver_webhook": (512, 15),
        "retry_webhook": (512, 30),
        "scan_chain": (512, 60),
        "record_transfers": (1024, 60),
        "start_scans": (512, 60),
        "sweep_transfers": (512, 60),
        "sweep_outbox": (512, 60),
        "expire_links": (512, 60),
        "track_announced": (512, 60),
        "run_payment_intents": (512, 60),
        "run_gasless": (512, 60),
        "check_payers": (512, 60),
        "check_domains": (512, 60),
        "archive_paid": (512, 300),
        "apply_changes": (512, 60),
        "note_mail": (512, 30),
        "send_mail": (512, 30),
        "sweep_mails": (512, 60),
        "tell_changes": (512, 60),
        "check_offramps": (512, 60),
        "run_commerce": (512, 60),
        "track_relayed": (512, 60),
        "execute_recurring": (512, 60),
        "follow_payment_intent": (512, 60),
        "run_recurring": (512, 60),
        "follow_relayed": (512, 60),
    }


def test_a_slow_receiver_holds_up_no_other_one(packages: dict[str, Path]) -> None:
    least_at_once = {
        "announce_events": 20,
        "deliver_webhook": 200,
        "retry_webhook": 200,
        "scan_chain": 2,
        "record_transfers": 20,
    }
    for name, least in least_at_once.items():
        (source,) = functions(packages["prod"])[name]["Events"].values()
        assert source["Properties"]["BatchSize"] == 1
        assert source["Properties"]["ScalingConfig"]["MaximumConcurrency"] >= least


@pytest.mark.parametrize("stage", STAGES)
def test_the_settings_of_every_function_are_complete(
    packages: dict[str, Path], stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for entry in functions(packages[stage]).values():
        with monkeypatch.context() as environment:
            for name, value in entry["Environment"]["Variables"].items():
                environment.setenv(name, value)
            loaded = Settings.read()
        ours = set(Settings.variables())
        given = set(entry["Environment"]["Variables"])
        assert given | LEFT_OUT == ours | {"PYDANTIC_DISABLE_PLUGINS"}
        assert (loaded.stage, loaded.resource_prefix) == (stage, f"payment-requests-{stage}")
        assert loaded.webhook_allow_loopback is (stage == "local")
        if stage != "local":
            assert all(url.startswith("https://") for url in (loaded.api_url, loaded.auth_url, loaded.pay_url))
            assert loaded.rate_limit_scale == 1
            assert loaded.api_url.endswith(f".{loaded.session_domain}")
            assert loaded.auth_url.endswith(f".{loaded.session_domain}")


def test_api_gateway_accepts_the_paths(packages: dict[str, Path]) -> None:
    """Its own rules, which neither Chalice nor the local cloud checks: siblings share one variable; at most 300 nodes."""
    paths = sam(packages["prod"])["RestAPI"]["Properties"]["DefinitionBody"]["paths"]
    nodes = {tuple(path.split("/")[:depth]) for path in paths for depth in range(2, len(path.split("/")) + 1)}
    assert len(nodes) < GATEWAY_RESOURCE_LIMIT
    variables: dict[tuple[str, ...], set[str]] = {}
    for node in nodes:
        if node[-1].startswith("{"):
            variables.setdefault(node[:-1], set()).add(node[-1])
    assert all(len(names) == 1 for names in variables.values()), variables


def test_what_a_killed_run_left_behind_is_removed_by_the_next_one_and_what_runs_is_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(scratch, "ROOT", tmp_path)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = tmp_path / ".local" / f"chalice-{ended.pid}-abc"
    of_others = tmp_path / ".local" / f"chalice-{os.getppid()}-abc"
    for folder in (left, of_others):
        (folder / "inner").mkdir(parents=True)
    with scratch.scratch_folder() as own:
        assert own.exists() and of_others.exists() and not left.exists()
    assert not own.exists()


@pytest.mark.parametrize(
    ("module", "line", "said"),
    [
        ("chalicelib/relayer/jobs.py", "import nowhere", "No module named 'nowhere'"),
        ("chalicelib/webhooks/jobs.py", "del retry_webhook", "retry_webhook"),
        ("chalicelib/commerce/service/api.py", "raise RuntimeError('broken')", "RuntimeError: broken"),
    ],
)
def test_a_job_or_view_that_cannot_be_imported_stops_a_deployment_before_anything_is_made(
    module: str, line: str, said: str
) -> None:
    with project_copy("prod", layer=False) as copy:
        check_imports(copy, "prod")
        with (copy / module).open("a") as file:
            file.write(f"\n{line}\n")
        with pytest.raises(DeploymentStopped, match=f"cannot be imported: .*{said}"):
            check_imports(copy, "prod")
