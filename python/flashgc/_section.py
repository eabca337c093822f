"""What a section of an experiment is made from."""

from __future__ import annotations

from typing import Annotated

import pydantic
from pydantic import Field

Size = Annotated[int | str, Field(json_schema_extra={"examples": ["64GiB", "4KiB"]})]
Share = Annotated[float | str, Field(json_schema_extra={"examples": ["7%", 0.1]})]
Count = Annotated[int | str, Field(json_schema_extra={"examples": [250000, "2.5e5"]})]


class Section(pydantic.BaseModel):
    """A section of an experiment: unknown keys are refused."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)
