"""Starts ministack with additions for `chalice deploy` and for hard kills; runs in ministack's own environment.

* ImportRestApi and PutRestApi: ministack reads OpenAPI in CloudFormation only, chalice sends it by the API.
* An unset compression size: chalice patches it to "", which ministack would return in place of a number.
* RestoreTableToPointInTime: ministack copies the table as it is now; here the copy has the items of the time that is
  asked for, and other times are refused as AWS refuses them. Writes are remembered while ministack runs. AWS reaches to
  about five minutes ago, this to now.
* A function is ready 0.05 s after a change, and not 0.5 s: a deployment waits for each of them twice.
* A function runs on the Python of its runtime, if this machine has it, and not on that of ministack.
* Workers share the files of their code and layers. ministack unpacks a hundred megabytes for each worker, and removes
  them in the loop that answers: a deployment, which replaces every worker, kept a busy stack waiting for minutes.
* A worker that is replaced while it works ends when its work is done, as in AWS. ministack kills it, and the messages
  that it had are not visible again for minutes.
* E-mails of SES v2: their headers are in the list of what was sent, and what became of a message to the mailbox
  simulator goes to the topics of its configuration set. ministack drops the former, and tells the latter for v1 alone.
* State is written to disk every two seconds; ministack itself saves it only on an orderly shutdown.
"""

import asyncio
import collections
import concurrent.futures
import copy
import hashlib
import json
import sys
import sysconfig
import tempfile
import threading
import time
import zipfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ministack.app as app
import ministack.core.lambda_runtime as workers
import ministack.services.apigateway_v1 as gateway
import ministack.services.cloudformation.provisioners as provisioners
import ministack.services.dynamodb as dynamodb
import ministack.services.lambda_svc as lambda_
import ministack.services.ses as ses
import ministack.services.ses_v2 as ses_v2
from ministack.core import persistence

sys.path.append(str(Path(__file__).resolve().parents[2]))  # at its end: ministack's own packages come first
from infra.local.pythons import HERE, find_python

Response = tuple[int, dict[str, str], bytes]

SNAPSHOT_SECONDS = 2.0
READY_SECONDS = 0.05
# ministack comes without types.
_create_rest_api: Callable[[dict[str, Any]], Response] = gateway._create_rest_api
_get_rest_api: Callable[[str], Response] = gateway._get_rest_api
_handle_request: Callable[..., Awaitable[Response]] = gateway.handle_request
_refusal: Callable[[str, str, int], Response] = dynamodb.error_response_json
_save_all = app.save_all
_handle_mail: Callable[..., Awaitable[Response]] = ses_v2.handle_request
_list_mails: Callable[..., Awaitable[Response | None]] = app._handle_ses_messages_request
_worker_of: Callable[[str], tuple[str, str]] = workers._detect_runtime_binary


# --- API Gateway ---


def create_rest_api(data: dict[str, Any]) -> Response:
    """CreateRestApi, or ImportRestApi if the body is an OpenAPI document (both are POST /restapis)."""
    if "swagger" not in data and "openapi" not in data:
        return _create_rest_api(data)
    types = data.get("x-amazon-apigateway-binary-media-types", [])
    api_id = gateway._import_rest_api(data, {"binaryMediaTypes": types})
    _, headers, body = _get_rest_api(api_id)
    return 201, headers, body


def put_rest_api(api_id: str, document: dict[str, Any]) -> Response:
    """PutRestApi with mode=overwrite: the document's paths replace all resources except the root."""
    if api_id in gateway._rest_apis:
        root = next(entry for entry in gateway._resources[api_id].values() if entry["path"] == "/")
        root["resourceMethods"] = {}
        gateway._resources[api_id] = {root["id"]: root}
        schemes = gateway._import_security_schemes(api_id, document)
        for path, item in document.get("paths", {}).items():
            gateway._import_path_item(api_id, path, item, schemes, document.get("security"))
    return _get_rest_api(api_id)


def without_unset_compression(body: bytes) -> bytes:
    patch = json.loads(body)
    patch["patchOperations"] = [
        change
        for change in patch.get("patchOperations", [])
        if change.get("path") != "/minimumCompressionSize" or change.get("value")
    ]
    return json.dumps(patch).encode()


async def handle_request(
    method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any]
) -> Response:
    parts = path.strip("/").split("/")
    if len(parts) == 2 and parts[0] == "restapis":
        if method == "PUT":
            return put_rest_api(parts[1], json.loads(body))
        if method == "PATCH":
            body = without_unset_compression(body)
    return await _handle_request(method, path, headers, body, query)


# --- e-mail ---


async def handle_mail(method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any]) -> Response:
    """A request of SES v2; a message that was sent by it keeps its headers and tags, and has news."""
    response = await _handle_mail(method, path, headers, body, query)
    if method == "POST" and path.endswith("/outbound-emails") and response[0] == 200:
        sent, record = json.loads(body), ses._sent_emails_list()[-1]
        record["Headers"] = sent["Content"].get("Simple", {}).get("Headers", [])
        record["Tags"] = sent.get("EmailTags", [])
        tell_news(sent, record)
    return response


async def list_mails(method: str, path: str, headers: dict[str, str], query: dict[str, Any]) -> Response | None:
    """The list of messages that were sent, each with its headers."""
    response = await _list_mails(method, path, headers, query)
    if response is None or response[0] != 200:
        return response
    sent = {each["MessageId"]: each.get("Headers", []) for each in ses._sent_emails_list()}
    listed = json.loads(response[2])
    for each in (message for messages in listed["messages"].values() for message in messages):
        each["Headers"] = {header["Name"]: header["Value"] for header in sent.get(each["MessageId"], [])}
    return response[0], response[1], json.dumps(listed).encode()


def tell_news(sent: dict[str, Any], record: dict[str, Any]) -> None:
    """Publishes the events of a message to the topics of its configuration set, in AWS's shape of events."""
    configuration_set = ses_v2._config_sets.get(sent.get("ConfigurationSetName", "")) or {}
    destinations = [each for each in (configuration_set.get("EventDestinations") or {}).values() if each["Enabled"]]
    at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    tags = {each["Name"]: [each["Value"]] for each in record["Tags"]}
    mail = {"timestamp": at, "messageId": record["MessageId"], "destination": record["To"], "tags": tags}
    for recipient in record["To"]:
        local, _, domain = recipient.lower().partition("@")
        simulated = ses._SIMULATOR_OUTCOMES.get(local.split("+")[0], ()) if domain == ses._SIMULATOR_DOMAIN else ()
        for kind, subtype in simulated:
            event = {"eventType": kind, "mail": mail, **ses._notification_detail(kind, recipient, at, subtype)}
            for each in destinations:
                if kind.upper() in each["MatchingEventTypes"] and "SnsDestination" in each:
                    ses._publish_notification(each["SnsDestination"]["TopicArn"], event)


# --- point-in-time recovery ---


class Backups:
    """What each write to a table with point-in-time recovery replaced: (when, keys, the item before)."""

    MOST_WRITES = 50_000
    """Of each table; where there were more, its earliest time is later."""

    def __init__(self) -> None:
        self._began = time.time()
        self._writes: dict[str, collections.deque[tuple[float, str, str, Any]]] = {}
        self._set, self._remove = dynamodb._set_item, dynamodb._remove_item
        self._restore: Callable[[dict[str, Any]], Response] = dynamodb._restore_table_to_point_in_time
        self._describe = dynamodb._describe_continuous_backups

    def install(self) -> None:
        dynamodb._set_item, dynamodb._remove_item = self.set_item, self.remove_item
        dynamodb._restore_table_to_point_in_time = self.restore
        dynamodb._describe_continuous_backups = self.describe
        handlers = provisioners._RESOURCE_HANDLERS["AWS::DynamoDB::Table"]
        handlers.update({name: self._with_setting(handlers[name]) for name in ("create", "update")})

    def _with_setting(self, handler: Callable[..., Any]) -> Callable[..., Any]:
        """CloudFormation's handler of tables, followed by their setting of the backups, which ministack leaves out."""

        def handle(*arguments: Any, **named: Any) -> Any:
            name, *rest = handler(*arguments, **named)
            properties = arguments[1 if handler is provisioners._ddb_create else 2]
            recovery = properties.get("PointInTimeRecoverySpecification", {})
            dynamodb._pitr_settings[name] = str(recovery.get("PointInTimeRecoveryEnabled")).lower() == "true"
            return name, *rest

        return handle

    def set_item(self, table: dict[str, Any], partition: str, sort: str, item: Any) -> Any:
        return self._remember(table, partition, sort, self._set(table, partition, sort, item))

    def remove_item(self, table: dict[str, Any], partition: str, sort: str) -> Any:
        return self._remember(table, partition, sort, self._remove(table, partition, sort))

    def describe(self, data: dict[str, Any]) -> Response:
        status, headers, body = self._describe(data)
        answer = json.loads(body)
        recovery = answer.get("ContinuousBackupsDescription", {}).get("PointInTimeRecoveryDescription", {})
        if "EarliestRestorableDateTime" in recovery:
            recovery["EarliestRestorableDateTime"] = self._earliest(data["TableName"])
            recovery["LatestRestorableDateTime"] = time.time()
        return status, headers, json.dumps(answer).encode()

    def restore(self, data: dict[str, Any]) -> Response:
        name, moment = data.get("SourceTableName", ""), data.get("RestoreDateTime")
        if name in dynamodb._tables and not dynamodb._pitr_settings.get(name):
            kind = "PointInTimeRecoveryUnavailableException"
            return _refusal(kind, f"Point in time recovery is not enabled for table '{name}'", 400)
        if moment is not None and not self._earliest(name) <= moment <= time.time():
            return _refusal("InvalidRestoreTimeException", "Invalid restore time", 400)
        answer = self._restore(data)
        if answer[0] == 200 and moment is not None:
            table = dynamodb._tables[data["TargetTableName"]]
            for when, partition, sort, before in reversed(self._writes.get(name, ())):
                if when <= moment:
                    break
                if before is None:
                    self._remove(table, partition, sort)
                else:
                    self._set(table, partition, sort, copy.deepcopy(before))
        return answer

    def _remember(self, table: dict[str, Any], partition: str, sort: str, before: Any) -> Any:
        name = table["TableName"]
        if dynamodb._pitr_settings.get(name):
            writes = self._writes.setdefault(name, collections.deque(maxlen=self.MOST_WRITES))
            writes.append((time.time(), partition, sort, before))
        return before

    def _earliest(self, name: str) -> float:
        writes = self._writes.get(name)
        return writes[0][0] if writes and len(writes) == self.MOST_WRITES else self._began


# --- Lambda workers ---


def worker_of(runtime: str) -> tuple[str, str]:
    """(interpreter, script) of a worker. One of another Python than this finds boto3 where this one has it."""
    interpreter, script = _worker_of(runtime)
    version = runtime.removeprefix("python")
    if version in (runtime, HERE):
        return interpreter, script
    found = find_python(version)
    if found is None:
        print(f"{runtime}: this machine has no Python {version}; the worker runs on {HERE}", flush=True)
        return interpreter, script
    return found, f"import sys\nsys.path.append({sysconfig.get_path('purelib')!r})\n{script}"


class SharedArchive(zipfile.ZipFile):
    """An archive that is unpacked once. The folder that a worker wants it in becomes a link to those files."""

    _unpacking = threading.Lock()

    def __init__(self, file: str) -> None:
        super().__init__(file)
        digest = hashlib.sha256(Path(file).read_bytes()).hexdigest()
        self._files = Path(tempfile.gettempdir(), f"unpacked-{digest}")

    def namelist(self) -> list[str]:
        """None once they are unpacked: ministack looks at the path of each, thousands, before it unpacks a layer."""
        return [] if self._files.exists() else super().namelist()

    def extractall(self, path: Any = None, members: Any = None, pwd: bytes | None = None) -> None:
        with self._unpacking:
            if not self._files.exists():
                folder = Path(tempfile.mkdtemp(prefix="unpacking-"))
                super().extractall(folder)
                folder.rename(self._files)
        Path(path).rmdir()
        Path(path).symlink_to(self._files)


class Replacing:
    """Ends the workers that an update of their function replaces: those that work when they have done so."""

    def __init__(self) -> None:
        self._updating = threading.local()
        self._busy = set[Any]()
        self._kill: Callable[[list[Any]], None] = workers.kill_workers
        self._release: Callable[[Any], None] = lambda_.release_worker

    def install(self) -> None:
        lambda_._update_code = self._during(lambda_._update_code)
        lambda_._update_config = self._during(lambda_._update_config)
        lambda_.release_worker = self.release
        workers.kill_workers = self.kill

    def _during(self, update: Callable[..., Any]) -> Callable[..., Any]:
        def handle(*arguments: Any) -> Any:
            self._updating.is_on = True
            try:
                return update(*arguments)
            finally:
                self._updating.is_on = False

        return handle

    def kill(self, replaced: list[Any]) -> None:
        if not getattr(self._updating, "is_on", False):
            self._kill(replaced)
            return
        with workers._lock:  # a worker that is released from now on finds itself among the busy ones
            self._busy |= {each for each in replaced if each.in_use}
        self._kill_beside([each for each in replaced if each not in self._busy])

    def release(self, worker: Any) -> None:
        self._release(worker)
        if worker in self._busy:
            self._busy.discard(worker)
            self._kill_beside([worker])

    def _kill_beside(self, ended: list[Any]) -> None:
        """In a thread, as it takes up to two seconds and updates are answered in the loop."""
        threading.Thread(target=self._kill, args=(ended,), daemon=True, name="ending workers").start()


# --- snapshots ---


class Snapshots:
    """Copies the state in the event loop, where no request can change it, and writes it in a thread.

    Changed files are replaced atomically (ministack's save_state). The pause after a copy is at least ten times the
    copy's duration, so copying takes at most a tenth of the loop's time.
    """

    def __init__(self) -> None:
        self._lock, self._ended = threading.Lock(), False
        self._written: dict[str, bytes] = {}

    def run(self) -> None:
        pause = SNAPSHOT_SECONDS
        while not self._ended:
            time.sleep(pause)
            loop = app._MAIN_LOOP
            if loop is not None and not loop.is_closed():
                states, took = self._copy_state(loop)
                self._write(states)
                pause = max(SNAPSHOT_SECONDS, 10 * took)

    def save_at_the_end(self, services: Mapping[str, Any]) -> None:
        """Makes ministack's own save on shutdown; no snapshot is written after it."""
        with self._lock:
            self._ended = True
            _save_all(services)

    def _copy_state(self, loop: asyncio.AbstractEventLoop) -> tuple[dict[str, Any], float]:
        done: concurrent.futures.Future[tuple[dict[str, Any], float]] = concurrent.futures.Future()

        def copy() -> None:
            started = time.monotonic()
            states = {}
            for name, get_state in app._build_persistence_save_dict().items():
                try:
                    states[name] = get_state()
                except Exception as error:  # noqa: BLE001 - a thread may be changing it: retried by the next copy
                    print(f"snapshot of {name}: {error!r}", flush=True)
            done.set_result((states, time.monotonic() - started))

        loop.call_soon_threadsafe(copy)
        return done.result()

    def _write(self, states: Mapping[str, Any]) -> None:
        with self._lock:
            for name, state in states.items():
                if self._ended or state is None:
                    continue
                text = json.dumps(state, default=persistence._json_default)
                digest = hashlib.sha256(text.encode()).digest()
                if self._written.get(name) != digest:
                    persistence.save_state(name, state)
                    self._written[name] = digest


def main() -> None:
    gateway._create_rest_api = create_rest_api
    gateway.handle_request = handle_request
    ses_v2.handle_request = handle_mail
    app._handle_ses_messages_request = list_mails
    Backups().install()
    workers._detect_runtime_binary = worker_of
    Replacing().install()
    workers.zipfile = SimpleNamespace(
        ZipFile=SharedArchive, BadZipFile=zipfile.BadZipFile, LargeFileError=zipfile.LargeZipFile
    )
    lambda_._LAMBDA_STATE_TRANSITION_DELAY = READY_SECONDS
    if persistence.PERSIST_STATE:
        snapshots = Snapshots()
        app.save_all = snapshots.save_at_the_end
        threading.Thread(target=snapshots.run, daemon=True, name="snapshots").start()
    app.main()


if __name__ == "__main__":
    main()
