"""Options of an experiment and of a cluster, shared by all commands that play, plan or judge."""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from types import MappingProxyType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar, get_args, get_origin

import typer
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.errors import UserError
from harness.experiment import Experiment, Option, flag, options, shown
from harness.nearest import did_you_mean

if TYPE_CHECKING:
    from harness.fleet.run import OnCluster

Named = Mapping[str, object]
"""The fields of an experiment that the user named."""
NOTHING: Final[Named] = MappingProxyType({})
Returned = TypeVar("Returned")

Ray = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        show_default="this machine alone",
        help="Ray cluster to run on: auto, its HOST:PORT, or local for a cluster on this machine alone; with what each part "
        "uses of a node and the number of parts, as in auto,cpus=2,gpus=1,memory=8,parts=4.",
    ),
]
RayWorker = Annotated[
    list[str] | None,
    typer.Option(hidden=True, help="What follows the address in --ray, by itself."),
]
WaitForQuiet = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        show_default="ask at a terminal, otherwise continue",
        help="Longest wait for other programs to become idle, in seconds; 0: do not ask.",
        min=0,
    ),
]


def of_an_experiment(
    asked: Collection[str] = frozenset(Experiment.model_fields),
) -> Callable[[Callable[..., Returned]], Callable[..., Returned]]:
    """A decorator that replaces a command's parameter `named` by one option for each of these fields."""
    fields = {_parameter(name): (name, option) for name, option in options() if name in asked}

    def decorated(command: Callable[..., Returned]) -> Callable[..., Returned]:
        @wraps(command)
        def filled(**values: Any) -> Returned:
            given = {name: values.pop(parameter, None) for parameter, (name, _) in fields.items()}
            # An option that may be repeated is an empty list when it is not given.
            return command(named={name: value for name, value in given.items() if value not in (None, [])}, **values)

        parameters: list[inspect.Parameter] = []
        for own in inspect.signature(command).parameters.values():
            parameters += [_as_parameter(*field) for field in fields.values()] if own.name == "named" else [own]
        vars(filled)["__signature__"] = inspect.Signature(parameters)
        filled.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return filled

    return decorated


def _parameter(name: str) -> str:
    return flag(name).removeprefix("--").replace("-", "_")


def _as_parameter(name: str, option: Option) -> inspect.Parameter:
    field = Experiment.model_fields[name]
    without = option.without or shown(field.default)
    shape = typer.Option(flag(name), metavar=option.metavar, show_default=without, help=option.help)
    return inspect.Parameter(
        _parameter(name),
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=None,
        annotation=Annotated[_typed(field.annotation) | None, shape],
    )


def _typed(annotation: Any) -> Any:
    """The type of a field on the command line: a list if it may be repeated, `str` for a choice (the record checks it)."""
    if isinstance(annotation, UnionType):
        return get_args(annotation)[0]
    if get_origin(annotation) is tuple:
        return list[str]
    return annotation if annotation in (bool, int, float) else str


class _Worker(BaseModel):
    """What may follow the address in `--ray`; memory in GiB."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    cpus: float | None = Field(None, ge=0.01)
    gpus: float = Field(0.0, ge=0)
    memory: float = Field(0.0, ge=0)
    parts: int | None = Field(None, ge=1)


def on_cluster(address: str | None, worker: Sequence[str] | None) -> "OnCluster | None":
    """The cluster that the options name; None if they name none.

    Raises:
        UserError: a worker is described without a cluster, or by other words.
    """
    if address is None:
        if worker:
            raise UserError(f"--ray-worker {','.join(worker)}: is for a run on a cluster; write --ray auto,{','.join(worker)}")
        return None
    address, *own = address.split(",")
    given = ",".join([*own, *(worker or ())])
    from harness.fleet.cluster import GIB
    from harness.fleet.run import OnCluster

    try:
        asked = _Worker.model_validate(dict(part.partition("=")[::2] for part in given.split(",") if part))
    except ValidationError as error:
        name, why = str(error.errors()[0]["loc"][0]), error.errors()[0]["msg"]
        mend = did_you_mean(name, _Worker.model_fields) or "; write as in auto,cpus=1,gpus=0,memory=2,parts=4"
        raise UserError(f"--ray {address},{given}: {name}: {why}{'' if name in _Worker.model_fields else mend}") from error
    return OnCluster(address, asked.parts, asked.cpus, asked.gpus, round(asked.memory * GIB))
