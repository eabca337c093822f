//! Details of real drives: pages with different times, repeated reads, the link to the host, and
//! serial overwrites. All are off by default.

use flashgc_base::naming::choice;
use flashgc_base::refuse_if;
use flashgc_base::spec::SpecError;
use flashgc_workload::units::Quantity;

use super::notation::{parts, time};
use crate::page_times::PageTimes;

/// The details of a drive that are switched on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Details {
    /// The times of reads and of programs, if some pages take longer than others.
    pub pages: Option<(PageTimes, PageTimes)>,
    /// The rule by which reads of worn blocks and old data are repeated.
    pub retry: Option<ReadRetry>,
    /// The link over which data cross between host and drive.
    pub link: Option<HostLink>,
    /// `true` if a write waits until the earlier writes of its page are done.
    pub serial_overwrites: bool,
    /// The rule by which reads of the host fail; `None` if no read fails.
    pub failures: Option<ReadFailures>,
}

/// The rule by which reads of the host fail. Each read of a flash page fails with the same probability,
/// whatever has happened before: also one that is read to rebuild another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadFailures {
    /// The probability with which the read of a flash page fails.
    pub chance: f64,
    /// The seed of the draws.
    pub seed: u64,
}

impl ReadFailures {
    /// Reads the probability with which a read fails, such as `1e-4`. The seed is 0.
    ///
    /// # Errors
    /// The text is not a number from 0 to 1.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let chance = text.trim().parse().unwrap_or(f64::NAN);
        refuse_if!(
            !(0.0..=1.0).contains(&chance),
            choice("read_failures", "1e-4"),
            "read_failures: found '{text}', expected a probability from 0 to 1"
        );
        Ok(Self { chance, seed: 0 })
    }

    /// Returns the same rule with the seed of a run.
    #[must_use]
    pub fn seeded(self, seed: u64) -> Self {
        Self { seed, ..self }
    }
}

impl Details {
    /// Returns `true` if reads take the same time on all pages, and programs too.
    pub fn has_uniform_pages(&self) -> bool {
        self.pages.is_none() && self.retry.is_none()
    }

    /// Returns the times of reads and programs, if one of them has several kinds of pages; else
    /// `None`.
    ///
    /// # Errors
    /// A time is 0.
    pub fn kinds(
        read: PageTimes,
        program: PageTimes,
    ) -> Result<Option<(PageTimes, PageTimes)>, SpecError> {
        let fastest = [read, program].iter().flat_map(|it| it.times().to_vec()).min();
        refuse_if!(
            fastest == Some(0),
            "write read=48us/76us, each more than 0",
            "times: a kind of page takes no time"
        );
        Ok((read.kinds().max(program.kinds()) > 1).then_some((read, program)))
    }
}

/// The rule for repeated reads. A page is read again with other reference voltages, until its
/// errors can be corrected.
///
/// The rule is our own. It is simple: the number of retries grows linearly, in steps, with the
/// erases of the block and with the age of the data. Park et al. measured that both matter, on 160
/// chips of 3D flash (ASPLOS 2021).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadRetry {
    /// The number of erases from which on a read needs a retry, and the number of erases for each
    /// further retry.
    pub erases: Option<(u32, u32)>,
    /// The age of data from which on a read needs a retry, and the time for each further retry, in
    /// nanoseconds.
    pub age_ns: Option<(u64, u64)>,
    /// The largest number of retries of one read.
    pub most: u32,
}

impl ReadRetry {
    /// Reads `from=1000,every=500,after=1s,each=500ms,most=20`.
    ///
    /// # Errors
    /// A key is unknown, only one of the two keys of a rule is given, or a step is 0.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        const HINT: &str = "write from=1000,every=500 (erases), after=1s,each=500ms (age), or both";
        let (mut from, mut every, mut after, mut each, mut most) = (None, None, None, None, 20);
        let number = |key: &str, value: &str| {
            value.parse::<u32>().map_err(|_| {
                SpecError::new(format!("read_retry: {key}={value} is not a whole number"), HINT)
            })
        };
        for (key, value) in
            parts("read_retry", text, "from", &["from", "every", "after", "each", "most"])?
        {
            match key {
                "from" => from = Some(number(key, value)?),
                "every" => every = Some(number(key, value)?),
                "after" => after = Some(time(key, value)?),
                "each" => each = Some(time(key, value)?),
                _ => most = number(key, value)?,
            }
        }
        let half = |given: &str, other: &str| {
            let message = format!("read_retry: '{given}' without '{other}' in '{text}'");
            SpecError::new(message, HINT)
        };
        let erases = match (from, every) {
            (Some(from), Some(every)) => Some((from, every)),
            (None, None) => None,
            (None, _) => return Err(half("every", "from")),
            (_, None) => return Err(half("from", "every")),
        };
        let age_ns = match (after, each) {
            (Some(after), Some(each)) => Some((after, each)),
            (None, None) => None,
            (None, _) => return Err(half("each", "after")),
            (_, None) => return Err(half("after", "each")),
        };
        refuse_if!(erases.is_none() && age_ns.is_none(), HINT, "read_retry: no rule in '{text}'");
        if erases.is_some_and(|it| it.1 == 0) || age_ns.is_some_and(|it| it.1 == 0) || most == 0 {
            let message = format!("read_retry: found a 0 for every, each or most in '{text}'");
            return Err(SpecError::new(message, HINT));
        }
        Ok(Self { erases, age_ns, most })
    }

    /// Returns the number of retries of a read, if the block has `erases` erases and the data have
    /// this age.
    pub fn retries(&self, erases: u32, age_ns: u64) -> u64 {
        let of_erases = self.erases.filter(|(from, _)| erases >= *from);
        let of_age = self.age_ns.filter(|(after, _)| age_ns >= *after);
        let by_wear = of_erases.map_or(0, |(from, every)| u64::from((erases - from) / every) + 1);
        let by_age = of_age.map_or(0, |(after, each)| (age_ns - after) / each + 1);
        (by_wear + by_age).min(self.most.into())
    }
}

/// The link between host and drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostLink {
    /// The bytes a second in each direction; `None` if transfers take no time.
    pub bytes_per_second: Option<u64>,
    /// The time from the entry of a command into the drive's queue until the drive begins it, in
    /// nanoseconds.
    pub overhead_ns: u64,
}

impl HostLink {
    /// Returns the link with this bandwidth (`3.5GB/s`) and overhead (`5us`); `None` if neither is
    /// given or both are 0.
    ///
    /// # Errors
    /// The bandwidth is 0, or a value has no unit.
    pub fn parse(
        bandwidth: Option<&str>,
        overhead: Option<&str>,
    ) -> Result<Option<Self>, SpecError> {
        let link = Self {
            bytes_per_second: bandwidth.map(parse_bandwidth).transpose()?,
            overhead_ns: overhead.map_or(Ok(0), |text| time("host_overhead", text))?,
        };
        Ok(Some(link).filter(|link| *link != Self::default()))
    }

    /// Returns the nanoseconds that `bytes` bytes take on the link, rounded up.
    pub fn transfer_ns(&self, bytes: u32) -> u64 {
        let time = |rate: u64| (u64::from(bytes) * 1_000_000_000).div_ceil(rate);
        self.bytes_per_second.map_or(0, time)
    }
}

/// Reads a bandwidth such as `3.5GB/s`. Returns it in bytes a second.
///
/// # Errors
/// The text is not a size a second, or it is 0.
pub fn parse_bandwidth(text: &str) -> Result<u64, SpecError> {
    const HINT: &str = "write 3.5GB/s, 550MB/s or 1GiB/s";
    let Some(size) = text.trim().strip_suffix("/s") else {
        let message = format!("host_bandwidth: found '{text}', expected a size a second");
        return Err(SpecError::new(message, HINT));
    };
    match Quantity::Size.parse("host_bandwidth", size, HINT)?.round() as u64 {
        0 => Err(SpecError::new(format!("host_bandwidth: '{text}' moves no byte"), HINT)),
        rate => Ok(rate),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_grow_with_erases_and_with_age() {
        let retry = ReadRetry::parse("from=1000,every=500,after=2s,each=1s,most=6").unwrap();
        let by_wear = |erases| retry.retries(erases, 0);
        assert_eq!([0, 999, 1000, 1499, 1500, 2000].map(by_wear), [0, 0, 1, 1, 2, 3]);
        let by_age = |ms: u64| retry.retries(0, ms * 1_000_000);
        assert_eq!([0, 1999, 2000, 2999, 3000].map(by_age), [0, 0, 1, 1, 2]);
        assert_eq!((retry.retries(1500, 2_000_000_000), retry.retries(9000, 0)), (3, 6));
    }

    #[test]
    fn half_a_rule_is_refused() {
        let error = |text| ReadRetry::parse(text).unwrap_err().to_string();
        assert!(error("from=1000").contains("'from' without 'every'"));
        assert!(error("each=1s").contains("'each' without 'after'"));
        assert!(error("most=3").contains("no rule in 'most=3'"));
        assert!(error("from=1,every=0").contains("found a 0"));
        assert!(error("from=x,every=1").contains("from=x is not a whole number"));
        assert!(error("form=1,every=1").ends_with("did you mean 'from'?"));
    }

    #[test]
    fn bandwidths_are_sizes_a_second() {
        assert_eq!(parse_bandwidth("3.5GB/s").unwrap(), 3_500_000_000);
        let error = |text| parse_bandwidth(text).unwrap_err().to_string();
        assert!(error("3.5GB").contains("expected a size a second; hint: write 3.5GB/s"));
        assert!(error("0GB/s").contains("moves no byte"));
        assert!(error("5/s").contains("has no unit"), "{}", error("5/s"));
        // 4096 bytes at 3 GB/s take 1365.3 ns.
        let link = HostLink::parse(Some("3GB/s"), None).unwrap().unwrap();
        assert_eq!((link.transfer_ns(4096), link.overhead_ns), (1366, 0));
        assert_eq!(HostLink::parse(None, Some("0us")).unwrap(), None);
    }
}
