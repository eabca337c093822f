//! The health of a drive in the figures of two standards: the SMART log of NVMe (02h) and the
//! extended log of OCP (C0h).

use flashgc_device::{PAGE, Report};

/// The bytes of a data unit of the SMART log: 1000 sectors of 512 bytes.
const UNIT: u64 = 512_000;
/// The SMART log warns if less than this percentage of the spare blocks is left.
pub const SPARE_THRESHOLD: u64 = 10;
/// The bit of the critical warning which says that the drive is read-only.
pub const READ_ONLY: u8 = 1 << 3;
/// The nanoseconds of an hour.
const HOUR: u64 = 3_600_000_000_000;

/// The figures of both logs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Health {
    /// Bit 0: few spare blocks are left; bit 3: the drive is read-only.
    pub critical_warning: u8,
    /// The share of spare blocks that are left, in percent.
    pub available_spare: u64,
    /// The mean number of erases of a block, in percent of its endurance, at most 255. It is 0 if
    /// the drive has no endurance.
    pub percentage_used: u64,
    /// The data that hosts read, in units of 512,000 bytes.
    pub data_units_read: u64,
    /// The data that hosts wrote, in units of 512,000 bytes.
    pub data_units_written: u64,
    /// The number of read commands.
    pub host_reads: u64,
    /// The number of write commands.
    pub host_writes: u64,
    /// The time in which commands were executed, in minutes.
    pub busy_minutes: u64,
    /// The number of times that the drive was opened.
    pub power_cycles: u64,
    /// The time in which the drive was open, in hours.
    pub power_on_hours: u64,
    /// The number of times that the drive was opened without having been closed before.
    pub unsafe_shutdowns: u64,
    /// The number of page reads that failed.
    pub media_errors: u64,
    /// The bytes that were programmed, for hosts and for copies.
    pub media_bytes_written: u64,
    /// The bytes that were read, for hosts and for copies.
    pub media_bytes_read: u64,
    /// The number of blocks that are worn out.
    pub bad_blocks: u64,
    /// The number of erases of the block with the most erases.
    pub most_erases: u64,
    /// The number of erases of the block with the fewest erases.
    pub least_erases: u64,
    /// The mean number of erases of a block.
    pub mean_erases: f64,
    /// The share of blocks that are erased, in percent.
    pub percent_free_blocks: u64,
    /// The number of write commands that began within a page, since the drive was opened. This is
    /// OCP's *unaligned I/O* (SMART-15): reads do not count, the end of a write does not matter,
    /// and a power cycle resets the count.
    pub unaligned: u64,
}

/// The statistics of flexible data placement (log page 22h): bytes since the drive was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The bytes that hosts wrote (HBMW).
    pub host: u64,
    /// The bytes that were programmed, copies and parity included (MBMW).
    pub media: u64,
    /// The bytes of parity among these.
    pub parity: u64,
    /// The bytes that were erased (MBE).
    pub erased: u64,
}

impl Written {
    /// Returns the statistics of a drive.
    pub fn of(report: &Report) -> Self {
        let (page, counters) = (PAGE as u64, report.counters);
        let (data, all) = (counters.host_pages + counters.copied_pages, report.programmed_pages());
        Self {
            parity: (all - data) * page,
            host: report.usage.written_bytes,
            media: all * page,
            erased: counters.erases * report.pages_of_block() * page,
        }
    }

    /// Returns the write amplification with parity: the bytes programmed, divided by the bytes that
    /// hosts wrote; `None` if they wrote none.
    pub fn amplification_with_parity(&self) -> Option<f64> {
        (self.host > 0).then(|| self.media as f64 / self.host as f64)
    }

    /// Returns the write amplification: the bytes programmed beside parity, divided by the bytes that
    /// hosts wrote; `None` if they wrote none.
    pub fn amplification(&self) -> Option<f64> {
        (self.host > 0).then(|| (self.media - self.parity) as f64 / self.host as f64)
    }
}

impl Health {
    /// Returns the health that a drive reports.
    pub fn of(report: &Report) -> Self {
        let page = PAGE as u64;
        let (counters, usage) = (report.counters, report.usage);
        let blocks = u64::from(report.geometry.blocks());
        let percent = |part: u64, whole: u64| (part * 100).checked_div(whole).unwrap_or_default();
        let available_spare = report.spare_blocks.map_or(100, |reserve| {
            percent(reserve.saturating_sub(report.bad_blocks).into(), reserve.max(1).into())
        });
        let mean_erases = counters.erases as f64 / blocks as f64;
        let used = report.endurance.map_or(0, |bears| percent(mean_erases as u64, bears.max(1)));
        let is_out_of_spare = available_spare < SPARE_THRESHOLD;
        Self {
            critical_warning: u8::from(is_out_of_spare)
                | if report.read_only.is_some() { READ_ONLY } else { 0 },
            available_spare,
            percentage_used: used.min(255),
            data_units_read: usage.read_bytes.div_ceil(UNIT),
            data_units_written: usage.written_bytes.div_ceil(UNIT),
            host_reads: usage.reads,
            host_writes: usage.writes,
            busy_minutes: usage.busy_ns / (HOUR / 60),
            power_cycles: report.power_cycles,
            power_on_hours: usage.open_ns / HOUR,
            unsafe_shutdowns: report.unsafe_shutdowns,
            media_errors: report.media_errors,
            media_bytes_written: Written::of(report).media,
            media_bytes_read: usage.read_bytes + counters.copied_pages * page,
            bad_blocks: report.bad_blocks.into(),
            most_erases: report.most_erases.into(),
            least_erases: report.least_erases.into(),
            mean_erases,
            percent_free_blocks: percent(report.free_blocks.into(), blocks),
            unaligned: report.opened.unaligned,
        }
    }
}
