"""The outcomes of writing a bundle and of running it again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from flashgc._documents import Document, Json, plain
from flashgc._summaries import Column, Shown

#: The key of a manifest that gives the version of its form.
FORMAT = "flashgc_bundle"
#: Names in a bundle: the manifest, the experiment as it was written and with the names of its files
#: here, and a text for people.
MANIFEST, TEXT, EXPERIMENT, ABOUT = (
    "manifest.json", "experiment.toml", "experiment.json", "README.txt",
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class Bundle(Document):
    """A bundle that was written."""

    path: str
    #: The number of cells, with their figures.
    cells: int
    #: The names of its files.
    files: tuple[str, ...]
    #: The names of the traces of which it has the digest alone.
    traces: tuple[str, ...]

    def to_dict(self) -> dict[str, Json]:
        """All of it as plain Python values, with the keys of the JSON document."""
        return dict(plain(vars(self)))

    def _shown(self) -> Shown:
        line = f"{self.path}: {self.cells} cells, {len(self.files)} files"
        rows = [("file", name) for name in self.files]
        return Shown(line, rows + [("not in it", name) for name in self.traces])


@dataclass(frozen=True)
class Verdict:
    """A cell that was run again."""

    #: Its values on the axes, as text.
    at: str
    state: Literal["agrees", "differs", "not run"]
    #: The figures that were expected and that came, or the reason why it was not run.
    why: str = ""


@dataclass(frozen=True, repr=False)
class Verified(Document):
    """The cells of a bundle, run again."""

    path: str
    verdicts: tuple[Verdict, ...]
    #: The version of flashgc that made the bundle.
    version: str
    interrupted: bool = False

    @property
    def agreeing(self) -> int:
        """The number of cells that agree."""
        return sum(verdict.state == "agrees" for verdict in self.verdicts)

    @property
    def agrees(self) -> bool:
        """True if each cell was run and agrees."""
        return self.agreeing == len(self.verdicts)

    def to_dict(self) -> dict[str, Json]:
        """All of it as plain Python values, with the keys of the JSON document."""
        return dict(plain({"agrees": self.agrees, **vars(self)}))

    def _shown(self) -> Shown:
        line = f"{self.path}: {self.agreeing} of {len(self.verdicts)} cells agree"
        rows = [[verdict.state, verdict.at, verdict.why] for verdict in self.verdicts]
        return Shown(line, rows, [Column(""), Column("cell"), Column("")])
