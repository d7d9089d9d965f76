"""Starts ministack with additions for `chalice deploy` and for hard kills; runs in ministack's own environment.

* ImportRestApi and PutRestApi: ministack reads OpenAPI in CloudFormation only, chalice sends it by the API.
* An unset compression size: chalice patches it to "", which ministack would return in place of a number.
* RestoreTableToPointInTime: ministack copies the table as it is now; here the copy has the items of the time that is
  asked for, and other times are refused as AWS refuses them. Writes are remembered while ministack runs. AWS reaches to
  about five minutes ago, this to now.
* A function is ready 0.05 s after a change, and not 0.5 s: a deployment waits for each of them twice.
* State is written to disk every two seconds; ministack itself saves it only on an orderly shutdown.
"""

import asyncio
import collections
import concurrent.futures
import copy
import hashlib
import json
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import ministack.app as app
import ministack.services.apigateway_v1 as gateway
import ministack.services.cloudformation.provisioners as provisioners
import ministack.services.dynamodb as dynamodb
import ministack.services.lambda_svc as lambda_
from ministack.core import persistence

Response = tuple[int, dict[str, str], bytes]

SNAPSHOT_SECONDS = 2.0
READY_SECONDS = 0.05
# ministack comes without types.
_create_rest_api: Callable[[dict[str, Any]], Response] = gateway._create_rest_api
_get_rest_api: Callable[[str], Response] = gateway._get_rest_api
_handle_request: Callable[..., Awaitable[Response]] = gateway.handle_request
_refusal: Callable[[str, str, int], Response] = dynamodb.error_response_json
_save_all = app.save_all


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
                states, took = self._copied(loop)
                self._write(states)
                pause = max(SNAPSHOT_SECONDS, 10 * took)

    def save_at_the_end(self, services: Mapping[str, Any]) -> None:
        """Makes ministack's own save on shutdown; no snapshot is written after it."""
        with self._lock:
            self._ended = True
            _save_all(services)

    def _copied(self, loop: asyncio.AbstractEventLoop) -> tuple[dict[str, Any], float]:
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
    Backups().install()
    lambda_._LAMBDA_STATE_TRANSITION_DELAY = READY_SECONDS
    if persistence.PERSIST_STATE:
        snapshots = Snapshots()
        app.save_all = snapshots.save_at_the_end
        threading.Thread(target=snapshots.run, daemon=True, name="snapshots").start()
    app.main()


if __name__ == "__main__":
    main()
