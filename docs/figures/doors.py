"""Draws the pictures of the doors of the README, two of them by the commands that stand there.

    PYTHONPATH=scripts/docs .venv/bin/python docs/figures/doors.py

`make docs` does so, and a test fails where a picture is stale.
"""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import flashgc
from documents import Step, blocks, output, prepare, steps
from flashgc.plot.look import COLOURS, SOFT_INK, drawing, drawn, for_text, new_figure
from flashgc.results import Result

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "README.md"
FOLDER = ROOT / "docs" / "figures" / "doors"
TRACE = ROOT / "data" / "pgbench-ext4.csv.zst"
VICTIMS = ("greedy", "cost-benefit", "d-choices:d=10", "fifo")
GIB = 1 << 30


def command(beginning: str, folder: Path) -> Step:
    """The command of the README with this beginning; its files are in the folder then."""
    for block in blocks(PAGE):
        if block.file is not None:
            (folder / block.file).write_text(block.text, encoding="utf-8")
        elif block.kind == "console":
            for step in steps(block):
                if step.command.startswith(beginning):
                    return step
    raise ValueError(f"README.md has no command {beginning}")


def policy(folder: Path) -> bytes:
    """The ranking that the researcher's command draws."""
    output(command("flashgc compare", folder), folder)
    return (folder / "policy.svg").read_bytes()


def spare(folder: Path) -> Figure:
    """A panel for each condition of the architect's command: the values that it tried."""
    typed = command("flashgc find", folder).command
    output(Step(f"{typed} --out found.json", ""), folder)
    return draw_found(json.loads((folder / "found.json").read_text(encoding="utf-8")))


def draw_found(found: dict[str, Any]) -> Figure:
    """Draws the values that `flashgc find` tried, from its JSON document."""
    tried = found["tried"]
    spares = [float(one["value"].rstrip("%")) for one in tried]
    conditions = [one.split() for one in found["wanted"]]
    titles = {
        "read_p99_9_us": ("99.9% of reads, ms at most", 1e-3),
        "write_amplification": ("write amplification", 1.0),
    }
    with drawing() as style:
        width, height = style.size
        figure = new_figure(width, 0.72 * height)
        for axes, (key, _, limit) in zip(
            figure.subplots(1, len(conditions), squeeze=False)[0], conditions, strict=True
        ):
            title, scale = titles[key]
            axes.axhline(float(limit) * scale, color=SOFT_INK, linestyle="--")
            axes.annotate(f"wanted: below {float(limit) * scale:g}", (1, float(limit) * scale),
                          (0, 3), xycoords=axes.get_yaxis_transform(), ha="right",
                          textcoords="offset points", size=style.medium.small,
                          color=SOFT_INK)  # fmt: skip
            values = [one[key] * scale for one in tried]
            axes.plot(spares, values, "-", color=COLOURS[0], linewidth=style.medium.line)
            for holds, fill in ((True, COLOURS[0]), (False, "white")):
                chosen = [at for at, one in enumerate(tried) if one["holds"] == holds]
                axes.plot([spares[at] for at in chosen], [values[at] for at in chosen], "o",
                          color=COLOURS[0], markerfacecolor=fill)  # fmt: skip
            at = spares.index(float(found["value"].rstrip("%")))
            axes.annotate(found["value"], (spares[at], values[at]), (-4, -18), ha="center",
                          textcoords="offset points", weight="bold",
                          color=for_text(COLOURS[0]))  # fmt: skip
            axes.set_title(title)
            axes.set_xlabel("spare, % of the flash")
            axes.set_ylim(0)
    return figure


def database() -> Figure:
    """Draws the bytes that flash programs for the writes of the recorded PostgreSQL server."""
    drive: dict[str, Any] = {"frontier": "pool", "spare": "7%", "pages_per_block": 64, "passes": 4}
    return draw_programmed([flashgc.run(str(TRACE), victim=one, **drive) for one in VICTIMS])


def draw_programmed(results: Sequence[Result]) -> Figure:
    """A bar a result, the least first: the pages of the host, and behind them the copies."""
    rows = sorted(results, key=lambda one: one.write_amplification)
    with drawing() as style:
        figure = new_figure(style.size[0], 0.62 * style.size[1])
        axes = figure.subplots()
        for at, one in enumerate(rows):
            assert one.trace is not None
            host = one.bytes.host / one.trace.passes / GIB
            copies = one.bytes.copies / one.trace.passes / GIB
            axes.barh(at, host, color=COLOURS[0], height=0.62)
            axes.barh(at, copies, left=host, color=COLOURS[1], height=0.62)
            axes.annotate(f"{host + copies:.2f} GiB, {one.write_amplification:.2f}x",
                          (host + copies, at), (5, 0), textcoords="offset points",
                          va="center", size=style.medium.small)  # fmt: skip
        axes.annotate("written by PostgreSQL", (0, -0.62), va="center",
                      size=style.medium.small, color=for_text(COLOURS[0]))  # fmt: skip
        axes.annotate("copied by collections", (host, -0.62), va="center",
                      size=style.medium.small, color=for_text(COLOURS[1]))  # fmt: skip
        axes.set_yticks(range(len(rows)), [one.policy.partition(":")[0] for one in rows])
        axes.set_ylim(len(rows) - 0.5, -1)
        axes.set_xlim(right=1.18 * axes.get_xlim()[1])
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("programmed for a pass of the trace, GiB")
    return figure


def draw(folder: Path) -> dict[str, bytes]:
    """All pictures by name, drawn in a folder of their own."""
    prepare(folder)
    return {
        "policy.svg": policy(folder),
        "spare.svg": drawn(spare(folder), "svg"),
        "database.svg": drawn(database(), "svg"),
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        for name, picture in draw(Path(made)).items():
            (FOLDER / name).write_bytes(picture)
