"""The functions that a profile gives to an agent's model (`[[tools]]`), each with one fixed answer."""

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from harness.agents.profile_base import ProfileSettings


class Tool(ProfileSettings):
    """A function that the agent may call, and what it is answered, whatever its arguments are."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    answer: str
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=lambda: {"type": "object", "properties": {}})
    """The JSON schema of its arguments."""
