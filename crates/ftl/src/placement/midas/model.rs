//! The size model: from the histogram of update intervals, the write amplification of a chain of
//! groups, and the sizes for which it is least. Sizes are in blocks of one plane.

/// The parts of a drive that the model knows, and what was measured.
pub(super) struct Model<'a> {
    /// Blocks for all groups.
    pub(super) blocks: u32,
    pub(super) pages_per_block: u32,
    /// Pages with data.
    pub(super) pages: f64,
    /// Pages with data that nobody has overwritten since their blocks were filled.
    pub(super) untouched: f64,
    /// Blocks that the host writes in a bin.
    pub(super) bin: f64,
    /// Host writes of an epoch, in blocks.
    pub(super) epoch: f64,
    /// Most groups behind the hot one.
    pub(super) most: usize,
    pub(super) hot: Hot,
    pub(super) sums: &'a Sums,
}

/// The hot group, as it was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hot {
    /// The share of host writes that are hot.
    pub(super) traffic: f64,
    /// The share of valid pages of its victims.
    pub(super) valid: f64,
    /// Its blocks, the open one among them.
    pub(super) blocks: u32,
}

/// Sums over the bins of a histogram before each bin: all that a prediction asks for.
pub(super) struct Sums {
    /// Intervals.
    counts: Vec<u64>,
    /// The sum over bins of the intervals up to and with this bin.
    twice: Vec<u64>,
    /// The sum of count times bin.
    weighted: Vec<u64>,
}

impl Sums {
    /// Room for `bins` bins.
    pub(super) fn new(bins: usize) -> Self {
        let sum = || vec![0; bins + 1];
        Self { counts: sum(), twice: sum(), weighted: sum() }
    }

    pub(super) fn bytes(bins: usize) -> u64 {
        3 * 8 * (bins as u64 + 1)
    }

    pub(super) fn set(&mut self, counts: &[u64]) {
        for (bin, &count) in counts.iter().enumerate() {
            self.counts[bin + 1] = self.counts[bin] + count;
            self.twice[bin + 1] = self.twice[bin] + self.counts[bin + 1];
            self.weighted[bin + 1] = self.weighted[bin] + count * bin as u64;
        }
    }

    fn bins(&self) -> usize {
        self.counts.len() - 1
    }

    fn total(&self) -> u64 {
        self.counts[self.bins()]
    }
}

/// Sizes of groups with what the model says of them. All lists begin with the first group of the
/// chain; the hot group is apart.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    /// The blocks of the hot group.
    pub(super) hot: u32,
    /// The blocks of the other groups.
    pub(super) sizes: Vec<u32>,
    /// The share of valid pages of the victims of these groups.
    pub(super) valid: Vec<f64>,
    /// The predicted write amplification.
    pub(super) amplification: f64,
}

/// The hot group in a prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Front {
    /// As it was measured.
    Measured,
    /// The data with the shortest intervals, in a group of at least this number of blocks: no page is
    /// still valid when its block is collected.
    Ideal(u32),
    /// The data with intervals below this number of bins.
    Bins(usize),
}

/// A prediction.
struct Prediction {
    amplification: f64,
    valid: Vec<f64>,
    /// The blocks of an ideal hot group, and the bins of its data.
    hot: u32,
    bins: usize,
}

/// The most blocks of an ideal hot group that are tried, plus 1.
const MOST_HOT: u32 = 30;

/// The gain for which a larger ideal hot group is taken in the first pass.
const GAIN: f64 = 0.05;

/// Victims of the hot group that are this valid are measured, as are hot writes below this share.
const VALID_ENOUGH: f64 = 0.1;
const FEW: f64 = 0.15;

/// Passes over the sizes after the first.
const PASSES: usize = 4;

impl Model<'_> {
    /// Returns the write amplification of a chain whose hot group takes `traffic` of the host
    /// writes, with `hot` of the pages of its victims valid. `valid` is the share of valid pages of
    /// the victims of the other groups.
    ///
    /// A page that outlives a group is copied to the next one, from the hot group to the first, and
    /// in the last group for ever.
    pub(super) fn chain(traffic: f64, hot: f64, valid: &[f64]) -> f64 {
        let mut copies = traffic * hot;
        let mut rate = 1.0 - traffic + copies;
        let (last, others) = valid.split_last().expect("a chain has a group");
        for share in others {
            rate *= share;
            copies += rate;
        }
        1.0 + copies + rate * last / (1.0 - last)
    }

    fn is_measured(&self) -> bool {
        self.hot.valid > VALID_ENOUGH || self.hot.traffic < FEW
    }

    /// Blocks that are not tried as the size of a group, and that are left of an epoch.
    fn margin(of: f64) -> f64 {
        (of / 4.0).min(50.0)
    }

    /// The bins before `time`, in blocks that the host writes.
    fn bins_before(&self, time: f64) -> usize {
        ((time / self.bin).ceil().max(0.0) as usize).min(self.sums.bins())
    }

    /// Predicts for groups of these sizes; `None` where the model says nothing. An ideal hot group
    /// may be larger than asked, and the last group gives it the blocks.
    fn predict(&self, sizes: &mut [u32], front: Front) -> Option<Prediction> {
        let sums = self.sums;
        let total = sums.total();
        let bin_pages = self.bin * f64::from(self.pages_per_block);
        // The pages in the groups before the last. `past` is the age at which a page leaves a group.
        let mut inside = 0.0;
        let (before, hot_bins, mut past) = match front {
            Front::Measured => {
                let Hot { traffic, blocks, .. } = self.hot;
                let past = (f64::from(blocks) - 0.5) / traffic;
                let bins = self.bins_before(past);
                let alive = bins as f64 - sums.twice[bins] as f64 / total as f64;
                inside += alive * traffic * bin_pages;
                (sums.counts[bins], bins, past)
            }
            Front::Ideal(least) => {
                let size = |bins: usize| {
                    let share = sums.counts[bins] as f64 / total as f64;
                    (bins as f64 * self.bin * share + 0.5).floor() as u32
                };
                let bins = self.first_of_size(least, size)?;
                let last = sizes.last_mut()?;
                *last = last.checked_sub(size(bins) - least).filter(|&left| left > 0)?;
                (sums.counts[bins], bins, bins as f64 * self.bin)
            }
            Front::Bins(bins) => {
                inside += (bins as f64 - sums.twice[bins] as f64 / total as f64) * bin_pages;
                (sums.counts[bins], bins, bins as f64 * self.bin)
            }
        };
        let (traffic, hot_valid) = match front {
            Front::Measured => (self.hot.traffic, self.hot.valid),
            _ => (before as f64 / total as f64, 0.0),
        };
        let mut left = total.checked_sub(before).filter(|&left| left > 0)?;
        let mut rate = 1.0 - traffic + traffic * hot_valid;
        let mut valid = Vec::with_capacity(sizes.len());
        let (&last, others) = sizes.split_last()?;
        for &size in others {
            let stay = (f64::from(size) - 0.5) / rate;
            if stay.floor() + past >= self.epoch - Self::margin(self.epoch) {
                return None;
            }
            let (from, to) = (self.bins_before(past), self.bins_before(past + stay));
            let died = sums.counts[to] - sums.counts[from];
            // The sum of the valid shares at the end of each bin.
            let dead = sums.twice[to] - sums.twice[from] - (to - from) as u64 * sums.counts[from];
            inside += ((to - from) as f64 - dead as f64 / left as f64) * rate * bin_pages;
            let share = 1.0 - died as f64 / left as f64;
            left -= died;
            if share <= 0.0 {
                return None;
            }
            valid.push(share);
            rate *= share;
            past += stay;
        }
        let share = self.last(f64::from(last), past, inside)?;
        valid.push(share);
        let hot = (hot_bins as f64 * self.bin * traffic + 0.5).floor() as u32;
        let amplification = Self::chain(traffic, hot_valid, &valid);
        Some(Prediction { amplification, valid, hot, bins: hot_bins })
    }

    /// Returns the first number of bins whose hot group has at least `least` blocks.
    fn first_of_size(&self, least: u32, size: impl Fn(usize) -> u32) -> Option<usize> {
        let bins = self.sums.bins();
        if size(bins) < least {
            return None;
        }
        let (mut small, mut enough) = (0, bins);
        while enough - small > 1 {
            let middle = (small + enough) / 2;
            if size(middle) < least { small = middle } else { enough = middle }
        }
        Some(enough)
    }

    /// The share of valid pages of the victims of the last group, which has `size` blocks and the
    /// data that are older than `past`; `inside` pages are in other groups. Its data count as two
    /// kinds, each written uniformly: those whose intervals are at most 0.7 of the mean, and others.
    fn last(&self, size: f64, past: f64, inside: f64) -> Option<f64> {
        let sums = self.sums;
        let (from, bins) = (self.bins_before(past), self.sums.bins());
        let requests = (sums.counts[bins] - sums.counts[from]) as f64;
        let pages = (sums.weighted[bins] - sums.weighted[from]) as f64;
        let mean = pages / requests;
        let upto = ((mean * 0.7).floor() as usize + 1).clamp(from, bins);
        let hot_requests = (sums.counts[upto] - sums.counts[from]) as f64;
        let hot_pages = (sums.weighted[upto] - sums.weighted[from]) as f64;
        let b = f64::from(self.pages_per_block);
        let used = self.pages - self.untouched - inside;
        let slots = size * b - self.untouched;
        if used <= 0.0 || slots <= 0.0 || pages <= 0.0 {
            return None;
        }
        let wider = 1.0 + 1.0 / (2.0 * b);
        let solved = greedy(wider * slots / used, hot_requests / requests, hot_pages / pages)?;
        let share = 1.0 - wider / solved;
        (share > 0.0).then_some(share)
    }

    /// Returns the best plan; `None` where the model finds no chain of two groups or more.
    pub(super) fn plan(&self) -> Option<Plan> {
        let (mut front, mut hot) = (Front::Measured, self.hot.blocks);
        let mut first: Option<Plan> = None;
        if self.is_measured() {
            let mut sizes = vec![self.blocks.checked_sub(hot).filter(|&left| left > 0)?];
            let predicted = self.predict(&mut sizes, front)?;
            first = Some(plan(hot, sizes, predicted));
        } else {
            let mut tried = 0;
            for least in 1..MOST_HOT {
                if least <= tried {
                    continue;
                }
                let mut sizes = vec![self.blocks.checked_sub(least).filter(|&left| left > 0)?];
                let Some(it) = self.predict(&mut sizes, Front::Ideal(least)) else { break };
                tried = it.hot;
                if first.as_ref().is_some_and(|best| it.amplification >= best.amplification - GAIN)
                {
                    break;
                }
                (front, hot) = (Front::Bins(it.bins), it.hot);
                first = Some(plan(hot, sizes, it));
            }
        }
        let mut best = self.add_groups(first?, front);
        for _ in 0..PASSES {
            if !self.is_measured() {
                front = self.resize_hot(&mut best, front);
            }
            self.resize(&mut best, front);
        }
        (best.sizes.len() > 1).then_some(best)
    }

    /// Splits the last group again and again, each time into the two with the best prediction.
    /// Returns the best plan of all numbers of groups.
    fn add_groups(&self, first: Plan, front: Front) -> Plan {
        let (mut best, mut of_number) = (first.clone(), first);
        let mut most = self.most_size(of_number.sizes[0]);
        while of_number.sizes.len() < self.most {
            let n = of_number.sizes.len();
            let mut sizes = of_number.sizes.clone();
            let whole = sizes[n - 1];
            sizes.push(0);
            let mut next: Option<Plan> = None;
            for size in (1..most).take_while(|&size| size < whole) {
                (sizes[n - 1], sizes[n]) = (size, whole - size);
                let Some(it) = self.predict(&mut sizes, front) else { continue };
                if next.as_ref().is_none_or(|next| it.amplification < next.amplification) {
                    next = Some(plan(of_number.hot, sizes.clone(), it));
                }
            }
            let Some(next) = next else { break };
            most = most.saturating_sub(next.sizes[n - 1]);
            if next.amplification < best.amplification {
                best = next.clone();
            }
            of_number = next;
        }
        best
    }

    /// The first size that is not tried in a group of `blocks` blocks.
    fn most_size(&self, blocks: u32) -> u32 {
        blocks - Self::margin(blocks.into()) as u32
    }

    /// Finds the best ideal hot group for `best`. Returns it.
    fn resize_hot(&self, best: &mut Plan, mut front: Front) -> Front {
        let n = best.sizes.len() - 1;
        let whole = best.sizes[n] + best.hot;
        let mut tried = 0;
        for least in 1..MOST_HOT.min(whole) {
            if least <= tried {
                continue;
            }
            let mut sizes = best.sizes.clone();
            sizes[n] = whole - least;
            let Some(it) = self.predict(&mut sizes, Front::Ideal(least)) else { break };
            tried = it.hot;
            if it.amplification < best.amplification {
                front = Front::Bins(it.bins);
                *best = plan(it.hot, sizes, it);
            }
        }
        front
    }

    /// Finds the best size of each group in turn; the last group gives or takes the blocks. Then
    /// adds groups while that helps.
    fn resize(&self, best: &mut Plan, front: Front) {
        let mut group = 0;
        while group < self.most - 1 {
            let mut sizes = best.sizes.clone();
            if group == sizes.len() - 1 {
                sizes.push(sizes[group]);
            } else {
                *sizes.last_mut().expect("a chain has a group") += sizes[group];
            }
            let (n, whole) = (sizes.len() - 1, sizes[sizes.len() - 1]);
            let mut is_better = false;
            for size in 1..self.most_size(whole) {
                (sizes[group], sizes[n]) = (size, whole - size);
                let Some(it) = self.predict(&mut sizes, front) else { break };
                if it.amplification < best.amplification {
                    *best = plan(best.hot, sizes.clone(), it);
                    is_better = true;
                }
            }
            if !is_better && group >= best.sizes.len() - 1 {
                return;
            }
            group += 1;
        }
    }
}

fn plan(hot: u32, sizes: Vec<u32>, of: Prediction) -> Plan {
    Plan { hot, sizes, valid: of.valid, amplification: of.amplification }
}

/// The write amplification A of a group with `slots` pages of room a page of data, by the fixed
/// point of Desnoyers for two kinds of data: `r` of the requests go to `f` of the data. It is
/// `A = 1 + r/(exp(r slots/(f A)) - 1) + (1 - r)/(exp((1 - r) slots/((1 - f) A)) - 1)`, rounded up
/// to thousandths. `None` without room, and without requests of both kinds.
fn greedy(slots: f64, r: f64, f: f64) -> Option<f64> {
    if slots <= 1.0 || r <= 0.0 || r >= 1.0 {
        return None;
    }
    let kind = |r: f64, f: f64, a: f64| r / ((r * slots / (f * a)).exp() - 1.0);
    let more = |a: f64| 1.0 + kind(r, f, a) + kind(1.0 - r, 1.0 - f, a) - a;
    let (mut low, mut high) = (1.0, 2.0);
    while more(high) > 0.0 {
        (low, high) = (high, 2.0 * high);
    }
    while high - low > 1e-9 * high {
        let middle = f64::midpoint(low, high);
        if more(middle) > 0.0 { low = middle } else { high = middle }
    }
    Some((high * 1000.0).ceil() / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sums of a histogram of 8192 bins with `of / ((i + past) (i + 2))` intervals of i bins, and one more
    /// of each `every` lengths.
    fn sums(past: u64, of: u64, every: u64) -> Sums {
        let counts: Vec<u64> = (0..8192)
            .map(|bin| of / ((bin + past) * (bin + 2)) + u64::from(bin % every == 0))
            .collect();
        let mut sums = Sums::new(counts.len());
        sums.set(&counts);
        sums
    }

    /// A drive of 512 blocks of 512 pages with 244,140 pages of data; 4 blocks are kept erased.
    fn model(sums: &Sums, hot: Hot) -> Model<'_> {
        Model {
            blocks: 508,
            pages_per_block: 512,
            pages: 244_140.0,
            untouched: 0.0,
            bin: 0.25,
            epoch: 2048.0,
            most: 9,
            hot,
            sums,
        }
    }

    #[test]
    fn a_chain_of_two_groups_has_a_closed_form() {
        // 1 + p1/(1 - p2): what outlives group 1 is copied, and p2 of it again and again.
        let amplification = Model::chain(0.0, 0.0, &[0.5, 0.75]);
        assert_eq!(amplification, 1.0 + 0.5 / 0.25);
        // A quarter of the writes is hot, and half of these are copied to group 1: 7/8 of the writes
        // enter it, 7/16 are copied from there, each 4 times in all.
        assert_eq!(Model::chain(0.25, 0.5, &[0.5, 0.75]), 1.0 + 0.125 + 4.0 * 7.0 / 16.0);
        // One group: p of its pages are copied again and again.
        assert_eq!(Model::chain(0.0, 0.0, &[0.75]), 1.0 / 0.25);
    }

    #[test]
    fn the_fixed_point_of_one_kind_is_that_of_uniform_writes() {
        // A = 1/(1 - v) with v = exp(-slots (1 - v)): v = 1/2 needs slots of 2 ln 2.
        let slots = 2.0 * 2.0f64.ln();
        // Two kinds that are equally hot are one.
        let amplification = |r| greedy(slots, r, r).map(|a| (a * 1000.0).round());
        assert_eq!([0.3, 0.9].map(amplification), [Some(2000.0); 2]);
        assert_eq!(greedy(slots, 0.0, 0.0), None);
        assert_eq!(greedy(1.0, 0.5, 0.1), None);
    }

    /// The plans of the published simulator for these histograms, with the counts of each prediction
    /// its own, without the host writes that it adds to the copies of a chain of one group, and after 40,000
    /// steps of the chain: with its 2000, pages that alternate between host and hot group still swing.
    #[test]
    fn plans_are_those_of_the_published_simulator() {
        let measured = |traffic, valid, blocks| Hot { traffic, valid, blocks };
        let facts: [(_, _, u32, &[u32], &[f64], f64); 4] = [
            (
                sums(1, 4_000_000, 40),
                measured(0.3, 0.05, 9),
                6,
                &[21, 481],
                &[0.000939270662, 0.974552521609],
                1.001513955,
            ),
            (
                sums(1, 4_000_000, 40),
                measured(0.12, 0.05, 7),
                7,
                &[23, 18, 15, 13, 9, 8, 6, 1, 408],
                &[
                    0.631324688533,
                    0.652637937978,
                    0.646405430423,
                    0.612649164678,
                    0.620958317102,
                    0.510664993726,
                    0.359950859951,
                    0.576791808874,
                    0.993221668399,
                ],
                3.867218499,
            ),
            (
                sums(30, 40_000_000, 7),
                measured(0.3, 0.05, 9),
                10,
                &[15, 11, 472],
                &[0.128087774295, 0.101584231701, 0.970852700411],
                1.088966253,
            ),
            (
                sums(30, 40_000_000, 7),
                measured(0.1, 0.15, 4),
                4,
                &[20, 16, 15, 13, 11, 10, 9, 8, 402],
                &[
                    0.631550939078,
                    0.677270164279,
                    0.680077829019,
                    0.696386569648,
                    0.714091016829,
                    0.712084750920,
                    0.704940957116,
                    0.691481154948,
                    0.966635226742,
                ],
                4.105801271,
            ),
        ];
        for (sums, hot, hot_blocks, sizes, valid, amplification) in facts {
            let plan = model(&sums, hot).plan().unwrap();
            assert_eq!((plan.hot, &plan.sizes[..]), (hot_blocks, sizes), "{hot:?}");
            for (said, fact) in plan.valid.iter().zip(valid) {
                assert!((said - fact).abs() < 1e-11, "{hot:?}: {said}, not {fact}");
            }
            let error = (plan.amplification - amplification).abs();
            assert!(error < 1e-6, "{hot:?}: {} {amplification}", plan.amplification);
        }
    }
}
