"""d-choices with memory in a paragraph, for its author."""

from __future__ import annotations

from flashgc_papers.reproduce.summary import Sentence, summarise

_UNIFORM = ("dchoices.greedy", "dchoices.fig1", "dchoices.fig2", "dchoices.fig3")

summarise(
    "dchoices",
    Sentence(
        "A part of each class of pages is requested at a time, and moves; its width is a fit, one "
        "number a trace, to the cell c = 0, S_f = 0.1 of Table 5. It is chosen for what that table "
        "shows, not for its number of rows.",
        under="windows",
    ),
    (
        Sentence(
            "Table 1 is met in all {model.of_all} fixed points, within {model.off:.3f}%, and in "
            "all {runs.of_all} simulations, within {runs.off:.3f}%.",
            {
                "model": ("dchoices.table1.model",),
                "runs": ("dchoices.table1.simulation", "64,*", "32,*", "16,*"),
            },
            met=("model", "runs"),
        ),
        Sentence(
            "Every statement on Figures 1, 2 and 3 holds, and greedy is {greedy.mean:.4f} "
            "({greedy.published}).",
            {
                **{name: (name,) for name in _UNIFORM},
                "greedy": ("dchoices.greedy", "simulated*"),
            },
            met=_UNIFORM,
        ),
        Sentence(
            "One frontier and two are equal under uniform writes.",
            {"equal": ("dchoices.single-equals-double",)},
            met=("equal",),
        ),
        Sentence(
            "rsrch0, prxy0, online and webmail are stand-ins made from Tables 2 and 3, so "
            "these two tables are not checked.",
            {"cells": ("dchoices.table5", "*, 0")},
            when=lambda rows: all(row.stand_in for row in rows["cells"].rows),
        ),
        Sentence(
            "Two frontiers, Table 5: {five.held} of {five.of_all} rows hold, and two write less "
            "than one on every trace.",
            {"five": ("dchoices.table5",), "less": ("dchoices.table5", "*two over one")},
            met=("less",),
        ),
        Sentence(
            "One frontier, Table 4: {four.held} of {four.of_all} rows hold; these figures depend "
            "on the drive's first contents, too, which a trace keeps longer than a stand-in.",
            {"four": ("dchoices.table4",)},
            when=lambda rows: not rows["four"].holds and bool(rows["four"].rows[0].stand_in),
        ),
        Sentence(
            "Figure 4: {optima.held} of {optima.of_all} rows hold.",
            {"optima": ("dchoices.fig4",)},
        ),
        Sentence(
            "Silent in Tables 2 and 3: how a trace changes over time, which Tables 4 and 5 rest "
            "on.",
            {"cells": ("dchoices.table5", "*, 0")},
            when=lambda rows: all(row.stand_in for row in rows["cells"].rows),
        ),
    ),
)
