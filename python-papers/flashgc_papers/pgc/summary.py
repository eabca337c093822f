"""Semi-preemptive collections in a paragraph, for the authors."""

from __future__ import annotations

from flashgc_papers.reproduce.summary import Sentence, summarise

_TRACES, _MORE, _SWEEPS = "pgc.traces", "pgc.extended", "pgc.synthetic"

summarise(
    "pgc",
    Sentence(
        "An element writes one block at a time, Cello addresses 32% of the drive and the others "
        "1%, sizes of the traces are Pareto's of shape 1.2: all of it a fit, to the order of the "
        "traces.",
        under="one",
    ),
    (
        Sentence(
            "The example is exact, {cost.mean:.3f} ms, and the four states are as published.",
            {"cost": ("pgc.cost",), "states": ("pgc.states", "state ?")},
            met=("cost", "states"),
        ),
        Sentence(
            "A read that comes during an erase waits for its end, which tells semi-preemption from "
            "suspension.",
            {"longest": ("pgc.states", "*longest read*")},
            met=("longest",),
        ),
        Sentence(
            "The traces are made from their printed statistics: the mean changes by "
            "{fin.mean:.1f}% (Financial, published {fin.published}) and {cel.mean:.1f}% (Cello, "
            "{cel.published}), the variance by {vfin.mean:.1f}% ({vfin.published}) and "
            "{vcel.mean:.1f}% ({vcel.published}).",
            {
                "fin": (_TRACES, "Financial, mean, %"),
                "cel": (_TRACES, "Cello, mean, %"),
                "vfin": (_TRACES, "Financial, variance, %"),
                "vcel": (_TRACES, "Cello, variance, %"),
            },
        ),
        Sentence(
            "TPC-H and OpenMail gain less than both, in mean and variance.",
            {"less": (_TRACES, "*gains less than*")},
            met=("less",),
        ),
        Sentence(
            "TPC-H and OpenMail gain less than both in {less.held} of {less.of_all} rows.",
            {"less": (_TRACES, "*gains less than*")},
            when=lambda rows: not rows["less"].holds,
        ),
        Sentence(
            "The gain grows with the rate and with the share of writes.",
            {"grows": (_SWEEPS, "inter-arrival*", "reads (%)*")},
            met=("grows",),
        ),
        Sentence(
            "It does not grow with randomness outside the intervals: consecutive pages go to all "
            "channels in turn, so what is written together does not share a block.",
            {"random": (_SWEEPS, "sequential*")},
            missed=("random",),
        ),
        Sentence(
            "Bandwidth varies more with writes and with the depth of the queue, as on the drives "
            "that were measured, in {all.held} of {all.of_all} rows: eight requests of 1 MB "
            "already keep every channel of the simulated drive busy.",
            {"all": ("pgc.variability",), "depth": ("pgc.variability", "*writes, queue depth*")},
            missed=("depth",),
        ),
        Sentence(
            "Largest responses change by {fin.mean:.1f}% (Financial, {fin.published}) and "
            "{open.mean:.1f}% (OpenMail, {open.published}): of Pareto sizes the largest request "
            "takes longest, collection or not, and exponential sizes miss the variances.",
            {
                "fin": (_MORE, "Financial, largest, %"),
                "open": (_MORE, "OpenMail, largest, %"),
            },
            missed=("fin", "open"),
            under="one",
        ),
        Sentence(
            "Pipelining changes Cello's mean by {mean.mean:.1f}% ({mean.published}): at its "
            "printed rate few requests meet a collection.",
            {"mean": (_MORE, "Cello, pipelining on top, mean, %")},
            missed=("mean",),
        ),
        Sentence(
            "Silent in the papers: what part of the drive a trace addresses, how sizes are "
            "distributed, and at how many places an element writes.",
        ),
    ),
)
