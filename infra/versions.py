"""The versions of a stage: what each deployment put there, kept in the bucket of its stack.

    deployments/<number>.json    which deployment of which build began when, and whether it was finished
    lock.json                    which command changes the stage now (infra/lock.py)
    builds/<build>.zip           what Chalice deploys: app.py, chalicelib, settings, policies, both packages

A build is named by the SHA-256 of its files. So a deployment can be put back from any machine, without git or PyPI.
The bucket keeps the last KEPT deployments that were finished, with their builds.
"""

import hashlib
import json
import subprocess
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from infra import APP, lock
from infra.configuration import ROOT, architecture_of, config, python_of
from infra.packaging.package import zip_names
from infra.packaging.scratch import scratch_folder
from infra.stack import DeploymentStopped

KEPT = 10


@dataclass(frozen=True)
class Deployment:
    """One deployment. `number` counts from 1; `rolled_back_from` is the build that a rollback replaced."""

    number: int
    build: str
    commit: str
    begun_at: str
    finished: bool = False
    rolled_back_from: str | None = None

    def __str__(self) -> str:
        return f"commit {self.commit}, build {self.build[:12]}, deployed at {self.begun_at}"


class Versions:
    """The deployments and builds of one stage."""

    def __init__(self, s3: Any, sts: Any, stage: str) -> None:
        account = sts.get_caller_identity()["Account"]
        self.bucket = f"{APP}-{stage}-builds-{account}-{s3.meta.region_name}"
        self._s3, self._stage = s3, stage
        self.lock = lock.Lock(s3, sts, self.bucket)

    def has_bucket(self) -> bool:
        """Whether the stack of the stage has made the bucket."""
        try:
            self._s3.head_bucket(Bucket=self.bucket)
        except ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] == 404:
                return False
            raise
        return True

    def history(self) -> list[Deployment]:
        """The deployments that are kept, the latest one last; none if the stage has no bucket yet."""
        try:
            found = [self._read(f"deployments/{number:08}.json") for number in self._numbers()]
        except ClientError as error:
            if error.response["Error"]["Code"] == "NoSuchBucket":
                return []
            raise
        return [Deployment(**json.loads(text)) for text in found]

    def begin(self, project: Path, commit: str, rolled_back_from: str | None = None) -> Deployment:
        """Keeps the build in `project`, and records that its deployment begins.

        Raises DeploymentStopped if somebody else begins one at the same time.
        """
        build = build_of(project)
        if not self._has(f"builds/{build}.zip"):
            with scratch_folder() as folder:
                packed = folder / "build.zip"
                _pack(project, packed)
                self._s3.put_object(Bucket=self.bucket, Key=f"builds/{build}.zip", Body=packed.read_bytes())
        number = max(self._numbers(), default=0) + 1
        now = datetime.now(UTC).isoformat(timespec="seconds")
        begun = Deployment(number, build, commit, now, rolled_back_from=rolled_back_from)
        if not self._put_new(_key_of(begun), _text_of(begun)):
            raise DeploymentStopped("Somebody else has begun a deployment of this stage just now.")
        return begun

    def finish(self, begun: Deployment | None = None) -> None:
        """Records that a deployment, by default the latest one, was finished, and forgets the oldest ones, and those
        that were not finished: however many failed, there is a version to go back to."""
        history = self.history()
        if not history:
            return
        finished = begun or history[-1]
        text = _text_of(replace(finished, finished=True))
        self._s3.put_object(Bucket=self.bucket, Key=_key_of(finished), Body=text)
        kept = [each for each in history if each.finished or each.number >= finished.number][-KEPT:]
        used = {each.build for each in kept}
        keys = [_key_of(each) for each in history if each not in kept]
        keys += [key for key in self._keys("builds/") if Path(key).stem not in used]
        for key in keys:
            self._s3.delete_object(Bucket=self.bucket, Key=key)

    @contextmanager
    def project(self, build: str) -> Iterator[Path]:
        """A temporary directory with a build that is kept, to run Chalice in."""
        with scratch_folder() as folder:
            packed = folder / "build.zip"
            self._s3.download_file(self.bucket, f"builds/{build}.zip", str(packed))
            with zipfile.ZipFile(packed) as archive:
                archive.extractall(folder)
            packed.unlink()
            if build_of(folder) != build:
                raise DeploymentStopped(f"The build {build[:12]} in the bucket {self.bucket} has been changed.")
            _rename_zips(folder, self._stage)
            yield folder

    def empty(self) -> None:
        """Deletes all but the lock, if the bucket exists: CloudFormation deletes no bucket that has anything."""
        try:
            keys = [key for key in self._keys("") if key != lock.LOCK]
        except ClientError as error:
            if error.response["Error"]["Code"] == "NoSuchBucket":
                return
            raise
        for key in keys:
            self._s3.delete_object(Bucket=self.bucket, Key=key)

    def _numbers(self) -> list[int]:
        return sorted(int(Path(key).stem) for key in self._keys("deployments/"))

    def _keys(self, prefix: str) -> Iterator[str]:
        for page in self._s3.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix):
            yield from (each["Key"] for each in page.get("Contents", []))

    def _has(self, key: str) -> bool:
        return key in self._keys(key)

    def _read(self, key: str) -> bytes:
        body: bytes = self._s3.get_object(Bucket=self.bucket, Key=key)["Body"].read()
        return body

    def _put_new(self, key: str, body: bytes) -> bool:
        """Whether there was no object of that name, so that this one was stored."""
        try:
            self._s3.put_object(Bucket=self.bucket, Key=key, Body=body, IfNoneMatch="*")
        except ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] in (409, 412):
                return False
            raise
        return True


def previous(history: Sequence[Deployment]) -> Deployment:
    """What a rollback puts back: the last finished deployment of another build than the latest one.

    After a rollback there is no way further back. One that was interrupted is repeated. Raises DeploymentStopped if
    there is nothing to go back to.
    """
    if not history:
        raise DeploymentStopped("No deployment of this stage is recorded: there is nothing to go back to.")
    last = history[-1]
    finished = [each for each in history if each.finished]
    if last.rolled_back_from is not None:
        if last.finished:
            raise DeploymentStopped(
                f"This stage was rolled back already, to {last}, and goes no further back: check out an earlier commit"
                " and run `make deploy`."
            )
        earlier = [each for each in finished if each.build == last.build]
    else:
        earlier = [each for each in finished if each.build != last.build]
    if not earlier:
        raise DeploymentStopped(f"There is no earlier version than {last}.")
    return earlier[-1]


def _key_of(deployment: Deployment) -> str:
    return f"deployments/{deployment.number:08}.json"


def _text_of(deployment: Deployment) -> bytes:
    return json.dumps(asdict(deployment)).encode()


def build_of(project: Path) -> str:
    """The SHA-256 of the files of a project that Chalice deploys, with their names."""
    digest = hashlib.sha256()
    for name in _files(project):
        digest.update(f"{name}\0{hashlib.sha256((project / name).read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def commit_of_checkout() -> str:
    """The commit of this checkout, with `-changed` if files differ from it; "unknown" where it is not in git."""
    command = ["git", "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=-changed"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "unknown"
    return done.stdout.strip() if done.returncode == 0 else "unknown"


def _files(project: Path) -> list[str]:
    """What belongs to a build; not the record of the account, which each deployment reads anew."""
    names = (str(file.relative_to(project)) for file in project.rglob("*") if file.is_file())
    ignored = (".chalice/deployed/", "models/", "build.zip")
    return sorted(name for name in names if not name.startswith(ignored) and "__pycache__" not in name)


def _rename_zips(project: Path, stage: str) -> None:
    """Gives the packages the names that the Chalice of this machine makes, as it would build others in their place."""
    read = config(project)
    for wanted in zip_names(project, architecture_of(read["stages"][stage]), python_of(read, stage)):
        kind = wanted.name.partition("-")[0]
        for found in wanted.parent.glob(f"{kind}-*.zip"):
            found.rename(wanted)


def _pack(project: Path, out: Path) -> None:
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in _files(project):
            archive.write(project / name, name)
