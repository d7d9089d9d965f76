"""What .chalice/config.json says: the stages, their settings and their functions, as Chalice reads them."""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CHALICE_DIR = ROOT / ".chalice"


def config(project: Path = ROOT) -> dict[str, Any]:
    """The whole file of a project, by default of this checkout."""
    read: dict[str, Any] = json.loads((project / ".chalice" / "config.json").read_text())
    return read


def stages() -> list[str]:
    """The names of the stages."""
    return list(config()["stages"])


def variables_of(stage: str) -> dict[str, str]:
    """The environment variables of a stage."""
    read = config()
    return {**read["environment_variables"], **read["stages"][stage]["environment_variables"]}


def functions_of(stage: str) -> dict[str, dict[str, Any]]:
    """Each function's memory in MB, timeout in seconds and policy file: what is said for all, then for the function,
    then for the function in this stage."""
    read = config()
    for_all = {name: read[name] for name in ("lambda_memory_size", "lambda_timeout")}
    own = read["stages"][stage].get("lambda_functions", {})
    return {name: {**for_all, **said, **own.get(name, {})} for name, said in read["lambda_functions"].items()}


def architecture_of(own: dict[str, Any]) -> str:
    """The architecture of the functions of a stage, by its part of the configuration."""
    return str(own.get("lambda_architecture", "x86_64"))
