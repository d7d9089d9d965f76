"""A local cloud of these tests' own, which enforces IAM: a function may do what its policy says and nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.local.cloud import Cloud


@pytest.fixture(scope="package")  # not for longer: the schedules of what is deployed fire as long as it runs
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    folder: Path = tmp_path_factory.mktemp("cloud")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AUTH", "true")  # ministack: check signatures and policies
        environment.setenv("AWS_ACCESS_KEY_ID", "test")
        environment.delenv("AWS_ENDPOINT_URL", raising=False)  # the functions inherit it, and must find this cloud
        with Cloud.start(log=folder / "cloud.log") as running:
            yield running
            running.child.kill()  # it keeps nothing, and would take its time to end Lambda's workers
