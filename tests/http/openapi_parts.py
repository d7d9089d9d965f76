"""The OpenAPI document without its texts, as a digest of each part, so that a change of the interface is seen by name.

    python -m tests.http.openapi_parts     # after an intended change: writes vectors/openapi_parts.json anew
"""

import hashlib
import json
from pathlib import Path
from typing import Any

KEPT = Path(__file__).with_name("vectors") / "openapi_parts.json"
TEXTS = ("summary", "description")


def parts(document: dict[str, Any]) -> dict[str, str]:
    """The digests by `GET /path parameters`, `GET /path 200`, `component Name` and so on; texts change none of them."""
    found = {f"component {name}": schema for name, schema in document["components"]["schemas"].items()}
    found["securitySchemes"] = document["components"]["securitySchemes"]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            name = f"{method.upper()} {path}"
            found |= {f"{name} {status}": response for status, response in operation["responses"].items()}
            found |= {f"{name} {key}": value for key, value in operation.items() if key not in ("responses", *TEXTS)}
    return {name: _digest(found[name]) for name in sorted(found)}


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(_without_texts(value), sort_keys=True).encode()).hexdigest()[:12]


def _without_texts(value: Any) -> Any:
    if isinstance(value, dict):
        texts = {key for key in TEXTS if isinstance(value.get(key), str)}
        return {key: _without_texts(each) for key, each in value.items() if key not in texts}
    return [_without_texts(each) for each in value] if isinstance(value, list) else value


def main() -> None:
    import app  # noqa: F401 - routes the operations
    from chalicelib.http.openapi import document

    KEPT.write_text(json.dumps(parts(json.loads(document("https://api.example"))), indent=1) + "\n")


if __name__ == "__main__":
    main()
