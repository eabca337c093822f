"""flashgc in a notebook: errors, figures, progress and completion, in a kernel of its own."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path

import jedi
import nbclient
import nbformat
import pytest
from matplotlib.image import imread

import flashgc
import flashgc.model
from conftest import environment
from flashgc import _notebook_progress
from flashgc._tracebacks import theirs
from flashgc.keywords import CompareKeywords, RunKeywords

#: The code of the cells, by name.
CELLS = {
    "import": "import flashgc, flashgc.plot\nsmall = dict(blocks=100, pages_per_block=16)",
    "config": "def mine():\n    return flashgc.run(victim='gredy', **small)\nmine()",
    "trace": "flashgc.run('nothing.csv')",
    "policy": "def seven(blocks):\n    return 'seven'\nflashgc.run(victim=seven, **small)",
    "figure": "flashgc.plot.run(flashgc.run(writes='4x', **small))",
    "bar": (
        "from flashgc import _notebook_progress as bar\nbar.PATIENCE = bar.PAUSE = 0\n"
        "flashgc.run(blocks=2000, pages_per_block=64, writes='200x').steady"
    ),
    "own": "flashgc.run(blocks=2000, pages_per_block=64, progress=lambda control: None).steady",
    "fast": "bar.PATIENCE = 1000\nflashgc.run(**small).steady",
    "ctrl-c": (
        "import os, signal, threading\n"
        "threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "flashgc.run(blocks=20_000, pages_per_block=256, writes='2000x')"
    ),
    "what there is": "import sys\nsys.last_value.result.interrupted",
}


@pytest.fixture(scope="module")
def done() -> dict[str, nbformat.NotebookNode]:
    """The cells with their outputs."""
    made = [nbformat.v4.new_code_cell(text) for text in CELLS.values()]
    notebook = nbformat.v4.new_notebook(cells=made)
    client = nbclient.NotebookClient(notebook, timeout=120, allow_errors=True)
    client.execute(env=environment())
    return dict(zip(CELLS, notebook.cells, strict=True))


def traceback(cell: nbformat.NotebookNode) -> str:
    (output,) = cell.outputs
    assert output.output_type == "error"
    return re.sub(r"\x1b\[[\d;]*m", "", "\n".join(output.traceback))


@pytest.mark.parametrize(
    ("name", "line", "says"),
    [
        ("config", "----> 2     return flashgc.run(victim='gredy'", "did you mean 'greedy'?"),
        ("trace", "----> 1 flashgc.run('nothing.csv')", "nothing.csv: cannot open the trace"),
        ("policy", "----> 3 flashgc.run(victim=seven", "expected a block number"),
    ],
)
def test_an_error_of_ours_shows_the_readers_lines_and_none_of_ours(
    done: dict[str, nbformat.NotebookNode], name: str, line: str, says: str
) -> None:
    text = traceback(done[name])
    assert line in text
    assert says in text.splitlines()[-1]
    assert "File " not in text
    assert "During handling" not in text
    assert "direct cause" not in text


def test_a_traceback_without_lines_of_ours_is_left_as_it_is() -> None:
    def wrong() -> None:
        raise ValueError

    with pytest.raises(ValueError) as caught:  # noqa: PT011 - its traceback is looked at
        wrong()
    trace, made = caught.value.__traceback__, []
    left = theirs(trace)
    while left is not None:
        made.append((left.tb_frame, left.tb_lineno))
        left = left.tb_next
    while trace is not None:
        assert made.pop(0) == (trace.tb_frame, trace.tb_lineno)
        trace = trace.tb_next
    assert not made


def test_a_figure_shows_itself(done: dict[str, nbformat.NotebookNode]) -> None:
    (output,) = done["figure"].outputs
    shape = output.metadata["image/png"]
    picture = imread(io.BytesIO(base64.b64decode(output.data["image/png"])))
    assert picture.shape[:2] == (2 * shape["height"], 2 * shape["width"])
    assert picture[..., :3].min() < 0.5 < picture[..., :3].max()


def shown(cell: nbformat.NotebookNode) -> list[str]:
    return [output.output_type for output in cell.outputs]


def test_a_bar_comes_and_goes(done: dict[str, nbformat.NotebookNode]) -> None:
    assert shown(done["bar"]) == ["display_data", "execute_result"]
    assert done["bar"].outputs[0].data == {"text/plain": ""}


def test_no_bar_for_short_work_and_none_where_the_caller_has_one(
    done: dict[str, nbformat.NotebookNode],
) -> None:
    assert shown(done["own"]) == shown(done["fast"]) == ["execute_result"]


def test_stop_leaves_a_result(done: dict[str, nbformat.NotebookNode]) -> None:
    stop = done["ctrl-c"].outputs[-1]
    assert (stop.output_type, stop.ename) == ("error", "Interruption")
    assert done["what there is"].outputs[-1].data["text/plain"] == "True"


class Page:
    """Records the texts of a progress bar on a page."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, thing: object, *, display_id: bool) -> Page:
        assert display_id
        self.update(thing)
        return self

    def update(self, thing: object, *, raw: bool = False) -> None:
        self.seen.append("" if raw else repr(thing))


def test_a_bar_says_how_far_the_work_is(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, page = [100.0], Page()
    monkeypatch.setattr(_notebook_progress.time, "monotonic", lambda: clock[0])
    bar = _notebook_progress.Bar(page)
    clock[0] += 0.9
    bar.show(0.1, "simulating", 5, "programs")
    assert not page.seen
    clock[0] += 2.1
    bar.show(0.25, "simulating", 5000, "programs")
    clock[0] += 0.1
    bar.show(0.5, "simulating", 6000, "programs")
    # The first quarter took 3 s, so the rest takes 9 s.
    assert page.seen == ["simulating, 25%, 5 000 programs, 9 s left"]
    assert '<progress max="1" value="0.2500">' in bar._repr_html_()
    bar.close()
    assert page.seen[1:] == [""]


@pytest.mark.parametrize(
    ("call", "keywords"),
    [
        ("flashgc.run(", [*RunKeywords.__annotations__, "workload", "victim", "resume"]),
        ("flashgc.compare(", [*CompareKeywords.__annotations__, "victims", "workload"]),
        ("flashgc.tune(", [*CompareKeywords.__annotations__, "objective", "budget"]),
        ("flashgc.gap(", [*RunKeywords.__annotations__, "schemes", "sigma"]),
        ("flashgc.sweep(", ["grid", "results", "jobs", "executor", "shard", "retry", "progress"]),
        ("flashgc.identify(", ["measurements", "drive", "relative", "what_if", "cache"]),
    ],
)
def test_notebooks_complete_every_keyword(
    call: str, keywords: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Jedi writes its cache in place, so another process could read an incomplete file.
    monkeypatch.setattr(jedi.settings, "cache_directory", tmp_path)
    names = {"flashgc": flashgc}
    completions = jedi.Interpreter(call, [names]).complete()
    assert {f"{one}=" for one in keywords} <= {one.name for one in completions}
