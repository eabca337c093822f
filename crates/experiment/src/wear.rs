//! Wear and lifetime: the evenness of the erases of blocks, and the writes until the drive failed.

use flashgc_base::described::Described;
use flashgc_drive::host_commands::HostCommands;
use flashgc_drive::stats::{Interval, amplifications, half_width95, mean};
use flashgc_ftl::{Cause, Moment, Shrunk};
use serde::{Deserialize, Serialize};

use crate::bytes::Written;
use crate::config::Resolved;
use crate::finished::{Finished, Life};
use crate::worn::Erases;

/// The years for which drive writes per day are computed: a usual warranty.
const SERVICE_YEARS: f64 = 5.0;
const DAYS_A_YEAR: f64 = 365.0;

/// The largest number of bins of a histogram of erase counts.
const BINS: u32 = 64;

/// Returns a histogram of these tallies, in bins of equal width: the smallest number of erases of
/// each bin, and the blocks in it.
fn histogram<'a>(tallies: impl Iterator<Item = &'a (u32, u64)> + Clone) -> Vec<(u32, u64)> {
    let counts = tallies.clone().map(|&(count, _)| count);
    let (Some(min), Some(max)) = (counts.clone().min(), counts.max()) else {
        return Vec::new();
    };
    let width = ((max - min) / BINS + 1).max(1);
    let mut blocks = vec![0u64; ((max - min) / width + 1) as usize];
    for &(count, amount) in tallies {
        blocks[((count - min) / width) as usize] += amount;
    }
    (0..).map(|bin| min + bin * width).zip(blocks).collect()
}

/// The wear of a drive at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct WearPoint {
    /// The drive writes done.
    pub drive_writes: f64,
    /// The mean erases of a block.
    pub mean: f64,
    /// The standard deviation over the blocks.
    pub deviation: f64,
    /// The Gini coefficient; `None` before the first erase.
    pub gini: Option<f64>,
    /// 11 numbers of erases: of the least worn block, at the 1st to 9th decile of the blocks, and
    /// of the most worn block.
    pub deciles: Vec<u32>,
}

/// The wear since the drives were made, warm-up included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct Wear {
    /// The means over the runs; minimum and maximum are those over all runs.
    #[serde(flatten)]
    pub erases: Erases,
    /// The histogram of the blocks of all runs: the smallest number of erases of each bin, and the
    /// blocks in it.
    pub histogram: Vec<(u32, u64)>,
    /// The wear of the first run over time; empty without an endurance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<WearPoint>,
}

impl Wear {
    pub(crate) fn new(resolved: &Resolved, runs: &[Finished]) -> Option<Self> {
        let first = runs.first()?;
        let all = |figure: &dyn Fn(&Erases) -> f64| {
            mean(&runs.iter().map(|run| figure(&run.erases)).collect::<Vec<_>>())
        };
        let each = |figure: &dyn Fn(&Erases) -> Option<f64>| {
            let values: Vec<f64> = runs.iter().filter_map(|run| figure(&run.erases)).collect();
            (!values.is_empty()).then(|| mean(&values))
        };
        let pages = f64::from(resolved.geometry.logical_pages());
        Some(Self {
            erases: Erases {
                mean: all(&|erases| erases.mean),
                deviation: all(&|erases| erases.deviation),
                cv: each(&|erases| erases.cv),
                gini: each(&|erases| erases.gini),
                min: runs.iter().map(|run| run.erases.min).min()?,
                max: runs.iter().map(|run| run.erases.max).max()?,
            },
            histogram: histogram(runs.iter().flat_map(|run| &run.tally)),
            series: first
                .wearing
                .iter()
                .map(|worn| WearPoint {
                    drive_writes: worn.host_pages as f64 / pages,
                    mean: worn.erases.mean,
                    deviation: worn.erases.deviation,
                    gini: worn.erases.gini,
                    deciles: worn.deciles.clone(),
                })
                .collect(),
        })
    }
}

/// A moment in a drive's life, as the mean over the runs that reached it. All counts begin with the
/// new drive, warm-up included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct Milestone {
    /// The number of runs that reached the moment.
    pub runs: usize,
    /// The pages that the host had written.
    pub host_pages: f64,
    /// The drive writes: bytes written as a multiple of the logical capacity.
    pub drive_writes: f64,
    /// Half the 95% interval of the drive writes, over the runs; `None` for one run.
    pub drive_writes_ci95: Option<f64>,
    /// The drive writes per day with which the drive would live five years.
    pub drive_writes_per_day: f64,
    /// The terabytes (10^12 bytes) that the host had written.
    pub terabytes_written: f64,
    /// The erases of all blocks.
    pub erases: f64,
    /// The number of bad blocks.
    pub bad_blocks: f64,
    /// The bytes programmed per byte written by the host, up to the moment.
    pub write_amplification: f64,
    /// The seconds that the flash had been busy; `None` without times.
    pub busy_seconds: Option<f64>,
    /// The drive writes of each run that reached the moment.
    pub run_values: Vec<f64>,
}

impl Milestone {
    fn new(resolved: &Resolved, reached: &[(Moment, HostCommands)]) -> Option<Self> {
        if reached.is_empty() {
            return None;
        }
        let over = |figure: &dyn Fn(&Moment) -> f64| {
            mean(&reached.iter().map(|(moment, _)| figure(moment)).collect::<Vec<_>>())
        };
        let unit = resolved.config.unit();
        let written = |(moment, commands): &(Moment, HostCommands)| {
            Written::new(&moment.counters, *commands, moment.packing)
                .since(&Written::default(), unit)
        };
        let written: Vec<Interval> = reached.iter().map(written).collect();
        let bytes: Vec<f64> = written.iter().map(|all| all.host_bytes as f64).collect();
        let pages = f64::from(resolved.geometry.logical_pages());
        let run_values: Vec<f64> =
            reached.iter().map(|(moment, _)| moment.counters.host_pages as f64 / pages).collect();
        let host_pages = over(&|moment| moment.counters.host_pages as f64);
        let drive_writes = mean(&run_values);
        let half = half_width95(&run_values);
        Some(Self {
            runs: reached.len(),
            host_pages,
            drive_writes,
            drive_writes_ci95: half.is_finite().then_some(half),
            drive_writes_per_day: drive_writes / (SERVICE_YEARS * DAYS_A_YEAR),
            terabytes_written: mean(&bytes) / 1e12,
            erases: over(&|moment| moment.counters.erases as f64),
            bad_blocks: over(&|moment| f64::from(moment.bad_blocks)),
            write_amplification: mean(&amplifications(&written)),
            busy_seconds: resolved.busy_times().map(|times| {
                let seconds = |(moment, commands): &(Moment, HostCommands)| {
                    let Moment { counters, packing, .. } = *moment;
                    times.total(&resolved.work(counters, *commands, packing)) as f64
                };
                mean(&reached.iter().map(seconds).collect::<Vec<_>>()) / 1e9
            }),
            run_values,
        })
    }
}

/// The lifetime of drives whose blocks wear out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct Lifetime {
    /// The number of bad blocks that the drive can bear before it fails.
    pub reserve_blocks: u32,
    /// The superblocks that were in use without some of their blocks at the end, as a mean over the runs; `None`
    /// if superblocks retire with their first bad block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smaller_superblocks: Option<f64>,
    /// The pages that these superblocks had lost, as a mean over the runs; `None` as above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_pages: Option<f64>,
    /// The moment at which the first block reached its limit; `None` if no run reached it.
    pub first_failure: Option<Milestone>,
    /// The first moment at which no erased block was available; `None` if no run reached it.
    pub system_failure: Option<Milestone>,
    /// The failures of blocks in the first run, as pairs: the drive writes done, and the bad blocks
    /// from then on. At most 128 failures are listed, the first and the last among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<(f64, usize)>,
    /// The number of runs that failed because the reserve was used up.
    pub reserve_used_up: usize,
    /// The number of runs that failed because several victims in a row wore out and the pool was
    /// empty.
    pub pool_ran_dry: usize,
}

impl Lifetime {
    pub(crate) fn new(resolved: &Resolved, runs: &[Finished]) -> Option<Self> {
        let lives: Vec<&Life> = runs.iter().filter_map(|run| run.life.as_ref()).collect();
        let first: Vec<_> = lives.iter().filter_map(|life| life.first_failure).collect();
        let system: Vec<_> = lives.iter().filter_map(|life| life.system_failure).collect();
        let count = |wanted| system.iter().filter(|(_, cause)| *cause == wanted).count();
        let shrunk: Vec<_> = runs.iter().filter_map(|run| run.shrunk).collect();
        let of_shrunk = |figure: &dyn Fn(&Shrunk) -> f64| {
            (!shrunk.is_empty()).then(|| mean(&shrunk.iter().map(figure).collect::<Vec<_>>()))
        };
        let moments: Vec<_> = system.iter().map(|&(moment, _)| moment).collect();
        Some(Self {
            reserve_blocks: lives.first()?.reserve,
            smaller_superblocks: of_shrunk(&|shrunk| f64::from(shrunk.superblocks)),
            lost_pages: of_shrunk(&|shrunk| shrunk.lost_pages as f64),
            first_failure: Milestone::new(resolved, &first),
            system_failure: Milestone::new(resolved, &moments),
            failures: runs.first().map(|run| failures(resolved, run)).unwrap_or_default(),
            reserve_used_up: count(Cause::Reserve),
            pool_ran_dry: count(Cause::Pool),
        })
    }
}

/// The largest number of failures that are listed.
const FAILURES: usize = 128;

fn failures(resolved: &Resolved, run: &Finished) -> Vec<(f64, usize)> {
    let pages = f64::from(resolved.geometry.logical_pages());
    thinned(run.failures.len()).map(|bad| (run.failures[bad - 1] as f64 / pages, bad)).collect()
}

/// Returns at most [`FAILURES`] of the numbers 1 to `count`, evenly spaced, with both ends.
fn thinned(count: usize) -> impl Iterator<Item = usize> {
    let points = count.min(FAILURES);
    (0..points).map(move |point| 1 + point * (count - 1) / (points - 1).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worn::tally;

    #[test]
    fn failures_are_thinned_to_both_ends_and_what_lies_evenly_between() {
        let of = |count| thinned(count).collect::<Vec<_>>();
        assert_eq!((of(0), of(1), of(3)), (vec![], vec![1], vec![1, 2, 3]));
        assert_eq!(of(128), (1..=128).collect::<Vec<_>>());
        // The points are 1 and 127 steps of 2 from there.
        assert_eq!(of(255), (0..128).map(|step| 1 + 2 * step).collect::<Vec<_>>());
        assert_eq!(of(1_000_000).last(), Some(&1_000_000));
    }

    #[test]
    fn a_histogram_counts_every_block_once() {
        let of = |counts: &[u32]| histogram(tally(counts).iter());
        assert_eq!(of(&[3, 5, 3]), [(3, 2), (4, 0), (5, 1)]);
        let counts: Vec<u32> = (0..1000).map(|block| 100 + block % 500).collect();
        let bins = of(&counts);
        assert!(bins.len() <= BINS as usize);
        assert_eq!(bins.iter().map(|&(_, blocks)| blocks).sum::<u64>(), 1000);
        // There are 500 numbers of erases, 8 in each bin, with two blocks each.
        assert_eq!((bins[0], bins[62]), ((100, 16), (596, 8)));
        assert_eq!(of(&[4; 9]), [(4, 9)]);
    }

    #[test]
    fn a_histogram_of_several_drives_has_the_blocks_of_all() {
        let drives = [tally(&[3, 5, 3]), tally(&[1, 3])];
        let bins = histogram(drives.iter().flatten());
        assert_eq!(bins, [(1, 1), (2, 0), (3, 3), (4, 0), (5, 1)]);
        // The mean is (3 + 5 + 3 + 1 + 3) / 5.
        let blocks: u64 = bins.iter().map(|&(_, blocks)| blocks).sum();
        let erases: u64 = bins.iter().map(|&(erases, blocks)| u64::from(erases) * blocks).sum();
        assert_eq!((blocks, erases), (5, 15));
    }
}
