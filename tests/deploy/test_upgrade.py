"""An upgrade of the functions' Python, in the local cloud, whose workers run on the Python of their runtime."""

import json
import re
import urllib.request
from collections.abc import Iterator

import pytest

from infra.iam import function_name
from infra.local.cloud import Cloud
from infra.local.pythons import HERE, VERSIONS, find_python
from tests.deploy.checkout import Checkout
from tests.support.patience import patience

pytestmark = pytest.mark.xdist_group("deployment")

STAGE = "dev"
OTHER = next((each for each in reversed(VERSIONS) if each != HERE and find_python(each)), None)


@pytest.fixture
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """A local cloud that does not enforce IAM: it is the life of a stage that is looked at, not its permissions."""
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("AUTH", raising=False)
        environment.delenv("AWS_ENDPOINT_URL", raising=False)
        with Cloud.start(log=tmp_path_factory.mktemp("cloud") / "cloud.log") as running:
            yield running
            running.child.kill()


@pytest.mark.skipif(OTHER is None, reason=f"this machine has no Python but {HERE} of {', '.join(VERSIONS)}")
def test_an_upgrade_is_one_command_and_one_that_fails_leaves_the_stage_as_it_was(
    cloud: Cloud, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert OTHER is not None
    checkout = Checkout(tmp_path_factory.mktemp("checkout"), cloud)
    checkout.set_hosts(STAGE, "none", EXPLORER_URL="https://explorer.merchants.io")
    assert "No finished deployment to go back to" in checkout.make(f"upgrade STAGE={STAGE}", status=1)

    checkout.set_python(HERE)
    url = re.findall(r"^API: (\S+)$", checkout.make(f"deploy STAGE={STAGE}"), re.MULTILINE)[0]
    assert (runtimes(cloud), healthy(url)) == ({f"python{HERE}"}, True)

    checkout.set_python(OTHER)
    assert f"runs this checkout on python{OTHER}" in checkout.make(f"upgrade STAGE={STAGE}")
    assert (runtimes(cloud), healthy(url)) == ({f"python{OTHER}"}, True)

    checkout.make(f"rollback STAGE={STAGE}")
    assert (runtimes(cloud), healthy(url)) == ({f"python{HERE}"}, True)

    app = checkout.folder / "app.py"
    broken = f"import sys\nif '%d.%d' % sys.version_info[:2] == {OTHER!r}:\n    raise RuntimeError('not on this one')\n"
    app.write_text(app.read_text() + broken)
    said = checkout.make(f"upgrade STAGE={STAGE}", status=1)
    assert "The functions: " in said
    assert f"The upgrade failed. {STAGE} runs commit" in said
    assert f"again, on python{HERE}." in said
    assert (runtimes(cloud), healthy(url)) == ({f"python{HERE}"}, True)


def runtimes(cloud: Cloud) -> set[str]:
    pages = cloud.client("lambda").get_paginator("list_functions").paginate()
    found = [each for page in pages for each in page["Functions"]]
    assert function_name(STAGE, "api_handler") in {each["FunctionName"] for each in found}
    return {each["Runtime"] for each in found}


def healthy(url: str) -> bool:
    with urllib.request.urlopen(f"{url}/v2/health", timeout=patience()) as answer:
        return json.load(answer) == {"status": "ok"}
