"""The folder of a reproduction: cache, page, documents. Checked before the work, written after."""

from __future__ import annotations

import os
from pathlib import Path

from flashgc import ConfigError
from flashgc.store.cache import Cache
from flashgc_papers.engine import write
from flashgc_papers.reproduce.document import Reproduction, rows_table, to_csv
from flashgc_papers.reproduce.markdown import markdown
from flashgc_papers.reproduce.page import drawn, page


class Folder:
    """``DIR``: ``report.html``, ``statements.md``, ``results.json``, tables, figures and cache."""

    def __init__(self, path: Path, option: str = "--out") -> None:
        """Makes the folder; raises :class:`flashgc.ConfigError`, naming ``option``."""
        self.path = path
        if path.exists() and not path.is_dir():
            raise ConfigError(f"{option}: {path} is a file; hint: give a folder or a new name")
        try:
            for name in ("tables", "figures"):
                (path / name).mkdir(parents=True, exist_ok=True)
            self.cache = Cache(path / "cache", "reproduce", option=option)
        except OSError as error:
            raise ConfigError(
                f"{option}: {path}: {error.strerror}; hint: give another folder"
            ) from None
        for place in (path, path / "tables", path / "figures", path / "cache"):
            if not os.access(place, os.W_OK | os.X_OK):
                raise ConfigError(
                    f"{option}: {place} may not be written; hint: give another folder"
                )

    @property
    def report(self) -> Path:
        """The page."""
        return self.path / "report.html"

    def write(self, reproduction: Reproduction) -> None:
        """Writes the page and the documents, each whole or not at all; raises :class:`OSError`."""
        figures = {
            figure.name: drawn(figure)
            for outcome in reproduction.outcomes
            for figure in outcome.figures
        }
        self._write("results.json", reproduction.to_json() + "\n")
        for outcome in reproduction.outcomes:
            if outcome.rows:
                self._write(f"tables/{outcome.claim.id}.csv", to_csv(rows_table(outcome)))
            for figure in outcome.figures:
                self._write(f"figures/{figure.name}.csv", to_csv(figure.data))
                self._write(f"figures/{figure.name}.svg", figures[figure.name])
        self._write("report.html", page(reproduction, figures))
        self._write("statements.md", markdown(reproduction))

    def _write(self, name: str, text: str) -> None:
        write(str(self.path / name), text)
