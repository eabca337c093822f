//! The victim window: how many of the oldest log blocks are weighed, fixed or adapted to what
//! collections cost (Ji and Shin, section IV.D).

use std::fmt;

use flashgc_base::snapshot::{State, Value};
use flashgc_base::spec::SpecError;

/// Length of an epoch in collections. The mean cost of an epoch is compared with that of the epoch
/// before.
const EPOCH: u32 = 16;

/// A change of mean cost by less than this share is small.
const MARGIN: f64 = 0.2;

/// The log blocks that are weighed before a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogWindow {
    /// Every log block is weighed.
    All,
    /// The oldest log blocks are weighed; the field is their number.
    Fixed(u32),
    /// The number begins at `start` and changes by `step`, up or down. A larger number is kept only
    /// if collections get cheaper by more than 20%. A smaller number is kept unless they get more
    /// expensive by more than 20%.
    Adaptive {
        /// The number of log blocks at first.
        start: u32,
        /// The change of the number, up or down.
        step: u32,
    },
}

impl LogWindow {
    /// Reads `all`, a number, `adaptive`, `adaptive-START` or `adaptive-START-STEP`.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let fault = || {
            SpecError::new(
                format!("victim window '{text}' is not understood"),
                "write all, a number of log blocks, or adaptive-START-STEP such as adaptive-8-4",
            )
        };
        let number = |text: &str| text.parse().ok().filter(|&number| number > 0).ok_or_else(fault);
        let mut parts = text.split('-');
        match parts.next() {
            Some("all") if text == "all" => Ok(Self::All),
            Some("adaptive") => {
                let start = parts.next().map_or(Ok(8), number)?;
                let step = parts.next().map_or(Ok(4), number)?;
                parts.next().map_or(Ok(Self::Adaptive { start, step }), |_| Err(fault()))
            }
            _ => number(text).map(Self::Fixed),
        }
    }
}

impl fmt::Display for LogWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Fixed(size) => write!(f, "{size}"),
            Self::Adaptive { start, step } => write!(f, "adaptive-{start}-{step}"),
        }
    }
}

/// The state of a window during a run.
#[derive(Clone, Debug, State)]
pub(crate) struct Sized {
    /// Log blocks that are weighed now.
    size: u32,
    #[snapshot(skip)]
    most: u32,
    adapting: Option<Adapting>,
}

#[derive(Clone, Debug, Value)]
struct Adapting {
    step: u32,
    /// Size and mean cost in nanoseconds before the change that is on trial; `None` while no change
    /// is on trial.
    before: Option<(u32, f64)>,
    upwards: bool,
    collections: u32,
    cost: u64,
}

impl Sized {
    /// The window over `most` log blocks.
    pub(crate) fn new(window: LogWindow, most: u32) -> Self {
        let (size, step) = match window {
            LogWindow::All => (most, None),
            LogWindow::Fixed(size) => (size, None),
            LogWindow::Adaptive { start, step } => (start, Some(step)),
        };
        let adapting = step.map(|step| Adapting {
            step,
            before: None,
            upwards: true,
            collections: 0,
            cost: 0,
        });
        Self { size: size.clamp(1, most), most, adapting }
    }

    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    /// Learns that a collection cost `cost` nanoseconds.
    pub(crate) fn learn(&mut self, cost: u64) {
        let Some(adapting) = &mut self.adapting else { return };
        adapting.collections += 1;
        adapting.cost += cost;
        if adapting.collections < EPOCH {
            return;
        }
        let mean = adapting.cost as f64 / f64::from(adapting.collections);
        adapting.collections = 0;
        adapting.cost = 0;
        if let Some((size, cost)) = adapting.before.take() {
            let kept = if self.size > size {
                mean < (1.0 - MARGIN) * cost
            } else {
                mean <= (1.0 + MARGIN) * cost
            };
            if !kept {
                // The next collections show the cost of the old size again.
                self.size = size;
                return;
            }
        }
        let changed = if adapting.upwards {
            self.size.saturating_add(adapting.step)
        } else {
            self.size.saturating_sub(adapting.step)
        };
        adapting.upwards = !adapting.upwards;
        adapting.before = Some((self.size, mean));
        self.size = changed.clamp(1, self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets an epoch pass in which every collection costs `cost`. Returns the size after the epoch.
    fn epoch(window: &mut Sized, cost: u64) -> u32 {
        (0..EPOCH).for_each(|_| window.learn(cost));
        window.size()
    }

    #[test]
    fn a_larger_window_stays_only_where_it_saves_a_fifth() {
        let mut window = Sized::new(LogWindow::Adaptive { start: 8, step: 4 }, 32);
        assert_eq!(epoch(&mut window, 100), 12, "up is tried first");
        assert_eq!(epoch(&mut window, 80), 8, "exactly 20% less is not more than 20%");
        // The cost of 8 is measured again, then down is tried.
        assert_eq!(epoch(&mut window, 100), 4);
        assert_eq!(epoch(&mut window, 120), 8, "kept at exactly 20% more, then up is tried again");
        // From size 4 at a cost of 120 up to size 8: 95 is less than 96.
        assert_eq!(epoch(&mut window, 95), 4, "kept, then down is tried");
        assert_eq!(epoch(&mut window, 200), 8, "dearer by more than 20%: restored");
    }

    #[test]
    fn the_window_stays_between_one_and_all() {
        let mut window = Sized::new(LogWindow::Adaptive { start: 2, step: 4 }, 5);
        assert_eq!(epoch(&mut window, 100), 5);
        assert_eq!(epoch(&mut window, 10), 1);
        assert_eq!(Sized::new(LogWindow::Fixed(9), 5).size(), 5);
        assert_eq!(Sized::new(LogWindow::All, 5).size(), 5);
    }

    #[test]
    fn windows_are_read_and_written() {
        for text in ["all", "16", "adaptive-1-8"] {
            assert_eq!(LogWindow::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(LogWindow::parse("adaptive").unwrap().to_string(), "adaptive-8-4");
        for text in ["", "0", "every", "adaptive-0", "adaptive-8-4-2", "all-2", "-3"] {
            assert!(LogWindow::parse(text).is_err(), "{text}");
        }
    }
}
