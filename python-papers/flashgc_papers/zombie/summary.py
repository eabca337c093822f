"""Zombie Chasing in a paragraph, for its authors."""

from __future__ import annotations

from flashgc_papers.reproduce.summary import Sentence, summarise

_FIG5, _FIG6, _FIG7 = "zombie.fig5", "zombie.fig6", "zombie.fig7"
_TPCC = "zombie.tpcc"

summarise(
    "zombie",
    Sentence(
        "Hot pages lie among cold ones, no update promotes in DAC, an idle phase comes before the "
        "measured part, and the page cache has 85% of the memory; this share and the length of the "
        "earlier run are fits, to Table 3's dirty data and Figure 8's amplification.",
        under="idle",
    ),
    (
        Sentence(
            "The example of Figures 2 and 3 is exact: {gd.mean:.0f} copies with greedy, "
            "{z.mean:.0f} with z-greedy.",
            {
                "gd": ("zombie.fig2-3", "greedy, pages copied"),
                "z": ("zombie.fig2-3", "z-greedy, pages copied"),
            },
            met=("gd", "z"),
        ),
        Sentence(
            "Figure 5, 4 GB, h = 6: write amplification falls by {gd.mean:.1f}% with ZGC-GD and "
            "{cb.mean:.1f}% with ZGC-CB (published {gd.published} and {cb.published}), elapsed "
            "time by {tgd.mean:.1f}% and {tcb.mean:.1f}% ({tgd.published} and {tcb.published}); "
            "{all.held} of {all.of_all} rows of the figure hold.",
            {
                "gd": (_FIG5, "ZGC-GD below GC-GD at h = 6, %"),
                "cb": (_FIG5, "ZGC-CB below GC-CB at h = 6, %"),
                "tgd": (_FIG5, "ZGC-GD, elapsed time saved at h = 6, %"),
                "tcb": (_FIG5, "ZGC-CB, elapsed time saved at h = 6, %"),
                "all": (_FIG5,),
            },
        ),
        Sentence(
            "The gain falls with h, is below 5% at h = 50, and there is none at h = 3, as "
            "published.",
            {"falls": (_FIG5, "*, gain from h = 6 to 50, %", "*h = 50, %", "*h = 3, %")},
            met=("falls",),
        ),
        Sentence(
            "With 2 GB the gains are smaller, as in Figure 6.",
            {"more": (_FIG6, "*from 2 to 4 GiB, %")},
            met=("more",),
        ),
        Sentence(
            "The one figure of about {gd.published}% of the overhead at 2 GB and h = 6 is "
            "{gd.mean:.0f}% for ZGC-GD and {cb.mean:.0f}% for ZGC-CB here: no reading tried gives "
            "it for both and keeps Figure 5.",
            {
                "gd": (_FIG6, "overhead, ZGC-GD below GC-GD, cache 2 GiB, %"),
                "cb": (_FIG6, "overhead, ZGC-CB below GC-CB, cache 2 GiB, %"),
            },
            missed=("gd", "cb"),
        ),
        Sentence(
            "ZGC-CB at 2 GB and h = 10 writes less than ZGC-GD and takes longer, for its search.",
            {"inverted": (_FIG6, "ZGC-CB beside ZGC-GD,*")},
            met=("inverted",),
        ),
        Sentence(
            "On sixteen banks the overhead falls by up to {most.most:.0f}%, above the "
            "{most.claim.facts[most]}% of Figure 7.",
            {"most": (_FIG7, "overhead,*")},
            when=lambda rows: rows["most"].most > rows["most"].claim.facts["most"],
        ),
        Sentence(
            "Of the dirty data the drive knows {none.mean:.0f}% without reads and {two.mean:.0f}% "
            "with two a write (Table 3: {none.published:.0f} and {two.published:.0f}).",
            {
                "none": ("zombie.table3", "0, share known, %*"),
                "two": ("zombie.table3", "2, share known, %*"),
            },
        ),
        Sentence(
            "ZGC-CB's amplification is {none.mean:.2f} without reads and {two.mean:.2f} with two "
            "a write (Figure 8: {none.published:.2f} and {two.published:.2f}), a size that was "
            "fitted.",
            {
                "none": ("zombie.fig8", "waf(ZGC-CB), 0 reads a write"),
                "two": ("zombie.fig8", "waf(ZGC-CB), 2 reads a write"),
            },
            under="idle",
        ),
        Sentence(
            "Most time is saved at {gd.mean:g} reads a write with ZGC-GD and at {cb.mean:g} with "
            "ZGC-CB, not at {gd.published:g}.",
            {
                "gd": ("zombie.fig8", "ZGC-GD, reads a write at which most time is saved"),
                "cb": ("zombie.fig8", "ZGC-CB, reads a write at which most time is saved"),
            },
            missed=("gd", "cb"),
        ),
        Sentence(
            "The zombie block takes {first.mean:.1f}% off ZGC-GD's amplification at h = 6 and "
            "{second.mean:.1f}% at h = 20 (Figure 9: about {first.published} and "
            "{second.published}).",
            {
                "first": ("zombie.fig9", "ZGC-GD below ZGC-GD-NZ at h = 6, %"),
                "second": ("zombie.fig9", "ZGC-GD below ZGC-GD-NZ at h = 20, %"),
            },
        ),
        Sentence(
            "Notices that ride on requests cost nothing; with a command for each nothing is "
            "gained, and it takes {longer.mean:.0f}% longer than without hints (over 20% in some "
            "cases).",
            {
                "longer": ("zombie.notification", "elapsed, a command each above no hints, %"),
                "ride": ("zombie.notification", "elapsed, riding above none sent, %"),
                "command": ("zombie.notification", "elapsed, saved with a command each, %"),
            },
            met=("ride", "command"),
        ),
        Sentence(
            "TPC-C runs on a generator of its accesses, not on Oracle: write amplification falls "
            "by {gd.mean:.1f}% and {cb.mean:.1f}% (Figure 10: {gd.published:.0f} and "
            "{cb.published:.1f}), transactions a second rise by {tgd.mean:.1f}% and "
            "{tcb.mean:.1f}% ({tgd.published:.0f} and {tcb.published:.1f}).",
            {
                "gd": (_TPCC, "ZGC-GD below GC-GD, TPC-C1, cache 4 GiB, %"),
                "cb": (_TPCC, "ZGC-CB below GC-CB, TPC-C1, cache 4 GiB, %"),
                "tgd": (_TPCC, "ZGC-GD, more transactions a second, %"),
                "tcb": (_TPCC, "ZGC-CB, more transactions a second, %"),
            },
        ),
        Sentence(
            "The drive knows {known.mean:.0f}% of the dirty pages, the prototype about "
            "{known.published:.0f}%: its daemon reads Oracle's log, here a page is announced as it "
            "becomes dirty.",
            {"known": (_TPCC, "share of dirty pages known*")},
            missed=("known",),
        ),
        Sentence(
            "Table 5: {waits.held} of {waits.of_all} rows of the database's three waits hold.",
            {"waits": ("zombie.table5", "*")},
        ),
        Sentence(
            "Silent in the paper: where the hot pages lie, what was written before the run, what a "
            "threshold of zero does in DAC, how much memory the page cache has, in which order "
            "requests are served, and whether they wait for a collection.",
        ),
    ),
)
