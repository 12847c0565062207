"""`python -m harness.agents.cascade --profile FILE.toml --weights JSON`: one agent in its own process.

Thread counts and niceness are set before the numeric libraries are imported, because they read them once.
"""

import argparse
import asyncio
import gc
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from harness.agents.cascade.model_server import ModelServer
from harness.agents.cascade.settings import CascadeSettings, SettingsFailed
from harness.agents.profile_base import ProcessSettings
from harness.foreign_files import FileFault, read_text
from harness.foreign_toml import parse_toml


def main() -> None:
    arguments = _parser().parse_args()
    try:
        settings, server = _settings(Path(arguments.profile), arguments.model_server_port)
        weights = _weights(arguments.weights)
    except (OSError, ValueError) as wrong:
        sys.exit(f"cascade: {wrong}")
    os.nice(settings.nice)
    # A second pool of threads under NumPy would compete with the models for the same cores.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    sys.exit(asyncio.run(_run(settings, weights, server, arguments.port, arguments.verbose)))


async def _run(
    settings: CascadeSettings,
    weights: Mapping[str, str],
    server: ModelServer | None,
    port: int,
    verbose: bool,
) -> int:
    from loguru import logger

    logger.remove()
    logger.add(sys.stderr, level="DEBUG" if verbose else "WARNING")
    from harness.agents.cascade.models import load_models
    from harness.agents.cascade.server import serve
    from harness.agents.llm_server import ServerFailed

    try:
        models = await load_models(settings, weights, server)
    except (ServerFailed, SettingsFailed, OSError, RuntimeError) as wrong:
        print(f"cascade: {wrong}", file=sys.stderr)
        return 3
    # What is there now stays: a collection after a session need not look at it, and takes a third of the time.
    gc.freeze()
    try:
        await serve(settings, models, port)
    finally:
        await models.close()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m harness.agents.cascade", description="Serve a cascaded voice agent.")
    parser.add_argument("--profile", required=True, help="TOML file with a [cascade] table")
    parser.add_argument("--weights", default="{}", help="JSON, or a file of it: weight name to path")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free port")
    parser.add_argument("--model-server-port", type=int, default=0, help="{port} of [process]; 0 takes a free port")
    parser.add_argument("--verbose", action="store_true")
    return parser


def _settings(path: Path, model_server_port: int) -> tuple[CascadeSettings, ModelServer | None]:
    try:
        given = parse_toml(read_text(path))
        settings = CascadeSettings.model_validate(given.get("cascade", {}))
        process = ProcessSettings.model_validate(given["process"]) if "process" in given else None
    except FileFault as fault:
        raise ValueError(fault.at(path)) from None
    except ValidationError as wrong:
        first = wrong.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        table = "cascade" if wrong.title == CascadeSettings.__name__ else "process"
        raise ValueError(f"{path}: {table}.{place}: {first['msg']}") from wrong
    if process is None or not process.command:
        return settings, None
    return settings, ModelServer(process, path.absolute().parent, os.environ, model_server_port)


def _weights(given: str) -> dict[str, str]:
    text = given if given.lstrip().startswith("{") else Path(given).read_text(encoding="utf-8")
    weights = json.loads(text)
    if not isinstance(weights, dict):
        raise ValueError("--weights must be a JSON object of name to path")
    return {str(name): str(path) for name, path in weights.items()}


if __name__ == "__main__":
    main()
