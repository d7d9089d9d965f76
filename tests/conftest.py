"""Fixtures shared by all rooms, how tests are spread over processes, and what the vectors hold beyond the code."""

import gc
import os
import sys
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

gc.disable()  # until all tests are collected: six thousand of them are made, and none is garbage

for name, value in {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
    "STAGE": "local",
    "RESOURCE_PREFIX": "payment-requests-local",
    "API_URL": "http://api.test",
    "AUTH_URL": "http://auth.test",
    "PAY_URL": "http://pay.test",
    "EXPLORER_URL": "http://explorer.test",
    "SAFE_SERVICE_URLS": "{}",
    "ARCHIVE_BUCKET": "archive",
}.items():
    os.environ.setdefault(name, value)

if not os.environ.get("REHEARSAL"):
    absent: Any = None
    sys.modules["rfc3987_syntax"] = absent  # jsonschema would compile forty grammars of IRIs, which only a rehearsal reads

from chalicelib.chains.nodes.rpc import http_client
from infra.local.cloud import Cloud
from infra.local.setup import MISSING_BROWSER
from tests.base import tron_vector_files
from tests.chains.calldata import vector_files
from tests.chains.catalogue import interop_vectors
from tests.fakes.world import PREFIX, World, in_process_aws
from tests.support.patience import calibrate, patience

calibrate()  # before other processes are started, which have the patience of this one

REHEARSALS = [
    "chaos/test_stages.py",
    "deploy/test_benchmarks.py",
    "deploy/test_bundle.py",
    "deploy/test_deployed.py",
    "deploy/test_failures.py",
    "deploy/test_hosts.py",
    "deploy/test_lifecycle.py",
    "deploy/test_package.py",
    "deploy/test_upgrade.py",
    "docs/test_use.py",
    "mutants/test_runs.py",
    "payments/recording/test_load.py",
    "platform/http/test_generated.py",
    "local/test_compiling.py",
    "local/test_each_python.py",
    "local/test_generated_clients.py",
    "local/test_load.py",
    "local/test_own_clients.py",
    "local/test_setup.py",
    "local/test_stack.py",
    "local/test_tutorial.py",
    "local/test_workflows.py",
    "onchain/test_lying_nodes.py",
    "onchain/test_recurring_trouble.py",
    "onchain/test_recurring_two_years.py",
    "pages/dashboard/test_commerce.py",
    "pages/dashboard/test_creating.py",
    "pages/dashboard/test_developers.py",
    "pages/dashboard/test_payouts.py",
    "pages/dashboard/test_person.py",
    "pages/dashboard/test_scale.py",
    "pages/dashboard/test_use.py",
    "pages/dashboard/test_vendored.py",
    "pages/dashboard/test_views.py",
    "pages/test_crosschain.py",
    "pages/test_crosschain_offers.py",
    "pages/test_meanwhile.py",
    "pages/test_never_twice.py",
    "pages/test_one_confirmation.py",
    "pages/test_rates.py",
    "pages/test_reference_page.py",
    "pages/test_scenes.py",
    "pages/test_sequences.py",
    "pages/test_walletconnect.py",
    "webhooks/test_signed_by_stack.py",
    "webhooks/test_simulation.py",
]
"""What builds packages and deploys whole stages, runs the README's commands, the benchmarks and the simulations of load,
compiles contracts, runs mutants, generates clients and requests, looks at every state of the page, and what browsers and
chains do longest, of which quicker tests of the page, the relayer and recurring payouts hold the parts: run by
`make rehearsal` alone."""
collect_ignore = [] if os.environ.get("REHEARSAL") else REHEARSALS

FIRST = (
    "deploy/test_lifecycle.py",
    "deploy/test_deployed.py",
    "deploy/test_package.py",
    "docs/test_use.py",
    "local/test_stack.py",
    "pages/test_answers.py",  # and with it all files of the group "browser", one of the two longest
    "pages/test_two_devices.py",  # and with it the group "second browser", the other one: they mostly wait
    "pages/test_rates.py",
    "pages/test_scenes.py",
    "pages/",
    "onchain/",
    "local/",
    "platform/http/test_matrix.py",
    "webhooks/test_real_queue.py",
    "deploy/test_lock.py",
    "platform/storage/test_memory_dynamodb.py",
    "platform/outbound/",
    "simulation/",
    "test_alone.py",
    "test_changed.py",
)
"""What waits for other processes or takes longest: begun first, so that no process is left alone with it at the end."""


pytest_plugins = ("tests.alone", "tests.support.left_behind", "tests.support.api", "tests.support.permissions", "tests.local.running")

settings.register_profile(
    "this suite",
    deadline=None,  # how long an example takes is the machine's affair
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,  # what one run finds every run finds
)
settings.load_profile("this suite")


def pytest_xdist_auto_num_workers() -> int:
    """Two processes more than there are cores: many tests wait for browsers, chains, queues and schedules."""
    return (os.cpu_count() or 1) + 2


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Each process begins with other rooms. In a new checkout the assertions of 670 files are rewritten, which takes 12 s of
    CPU: so each file is rewritten by the process that comes to it first, and read by the others."""
    report = yield
    worker = getattr(collector.config, "workerinput", None)
    if worker is not None and collector.path == Path(__file__).parent:
        first = len(report.result) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
        report.result = [*report.result[first:], *report.result[:first]]
    return report


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A file stays on one process, so that its fixtures are made once; `xdist_group` puts several together. The order is
    the same on all processes."""
    if not (os.environ.get("REHEARSAL") or os.environ.get("CHAOS")):
        items[:] = [item for item in items if item.get_closest_marker("rehearsal") is None]
    items.sort(key=lambda item: (_turn(item.path), item.path.parts))
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(str(item.path)))


def pytest_collection_finish(session: pytest.Session) -> None:
    """What lives as long as the process is not looked through again and again. Groups of xdist are in the names."""
    if getattr(session.config.option, "loadgroup", False):
        assert all("@" in item.nodeid for item in session.items), "xdist spreads the tests of a file over processes"
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)  # a tenth of the longest tests was looking for garbage
    gc.enable()


@cache
def _turn(path: Path) -> int:
    name = path.relative_to(Path(__file__).parent).as_posix()
    return next((turn for turn, start in enumerate(FIRST) if name.startswith(start)), len(FIRST))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Names what the vector files hold and the code does not build yet: reported, never counted as passed."""
    found = vector_files.find(vector_files.folder())
    other_formats = [f"{name} (another format)" for name in found.other_files]
    _, tron = tron_vector_files.find(tron_vector_files.folder())
    left = [*found.not_covered, *other_formats, *interop_vectors.not_covered(), *tron]
    if left:
        terminalreporter.section("vectors not covered")
    for name in left:
        terminalreporter.write_line(f"not covered: {name}")
    _name_what_did_not_run(terminalreporter)


def _name_what_did_not_run(terminalreporter: Any) -> None:
    """The tests that want a browser, by file, and the one command that brings it."""
    left = [report for report in terminalreporter.stats.get("skipped", ()) if MISSING_BROWSER in str(report.longrepr)]
    files = sorted({report.nodeid.split("::")[0] for report in left})
    if left:
        terminalreporter.section("tests that did not run")
        terminalreporter.write_line(f"{len(left)} tests of {', '.join(files)} did not run. {MISSING_BROWSER}")


@pytest.fixture(scope="session", autouse=True)
def nodes_are_waited_for() -> Iterator[None]:
    """Nodes and services of the tests are on this machine, whose cores may be busy: none is given up on for that."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CONNECT_SECONDS", "READ_SECONDS", "TOTAL_SECONDS"):
            patch.setattr(http_client, name, patience())
        yield


@pytest.fixture
def world() -> Iterator[World]:
    """A deployment in one process; see tests/fakes/world.py."""
    with in_process_aws() as client:
        yield World(client)


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """A real local cloud with the real template, for what must hold under concurrency and over HTTP."""
    with Cloud.start(log=tmp_path_factory.mktemp("cloud") / "cloud.log") as running:
        running.apply_template(PREFIX)
        yield running
