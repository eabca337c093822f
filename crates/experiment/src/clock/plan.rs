//! Converts the options of a timed drive to its [`Settings`].

use flashgc_base::naming::{choice, option, subject};
use flashgc_base::refuse_if;
use flashgc_base::spec::{SpecError, count};
use flashgc_ftl::{Geometry, Members, PageBuffer, PlacementSpec, SlcRegion};
use flashgc_timed::notation::{Threshold, time};
use flashgc_timed::words::{
    parse_idle, parse_power_limit, parse_preemption, parse_scheduling, parse_suspend, parse_unit,
};
use flashgc_timed::{
    Collecting, Details, Hardware, HostLink, Idle, Loop, Placement, ReadFailures, ReadRetry,
    Settings, SlcPlan, Suspend, Unit,
};
use flashgc_workload::requests::{Arrivals, Requests};

use crate::options::TimedConfig;
use crate::times::Times;

/// The erased blocks that a plane needs so that host writes can go between the steps of a
/// collection. The collection and the host's writes open a block each, and one block is reserved
/// for copies.
const LEAST_PACED: u32 = 3;

/// A checked [`TimedConfig`], for a drive whose size is not known yet.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedPlan {
    /// The properties of the flash.
    pub hardware: Hardware,
    /// The rule that assigns pages to planes.
    pub placement: Placement,
    /// The arrival times of requests; `None` for the workload's own times.
    pub arrivals: Option<Arrivals>,
    /// The factor by which the rate of arrivals is multiplied.
    pub rate_scale: f64,
    /// The length of one slice of the series over time, in nanoseconds.
    pub resolution_ns: Option<u64>,
    thresholds: [Threshold; 3],
    /// The key of the option that sets the mark at which collections stop.
    high_key: &'static str,
    idle: Option<(Threshold, u64)>,
    slc: Option<SlcPlan>,
    settings: Settings,
}

impl TimedPlan {
    /// Checks `config`. `page_size` is the size of a flash page in bytes, `buffer` gathers mapping
    /// units in flash pages, and `times` are the operation times of the flash.
    ///
    /// # Errors
    /// Fails if a value or a combination makes no sense, in one line.
    pub fn new(
        config: &TimedConfig,
        page_size: u32,
        buffer: PageBuffer,
        members: Members,
        times: &Times,
    ) -> Result<Self, SpecError> {
        let hardware = Hardware {
            channels: config.channels,
            ways: config.ways,
            dies: config.dies,
            planes: config.planes,
            page_bytes: page_size,
            units_per_page: buffer.units_per_page,
            pages_per_program: buffer.pages_per_program,
            members,
            read_ns: times.read.mean(),
            program_ns: times.program.mean(),
            second_ns: times.second,
            erase_ns: times.erase,
            transfer_ns: times.transfer,
            command_ns: times.command,
        };
        hardware.check()?;
        let together = buffer.planes;
        let hardware = hardware.joined(together);
        refuse_if!(
            together > 1 && config.multi_plane,
            choice("multi_plane", "no"),
            "{} yes does not go with {}: the planes of a superblock work together always",
            subject("multi_plane"),
            choice("superblock", "die")
        );
        let placement = Placement::parse(&config.striping)?;
        let (preemption, erase, program) = parse_preemption(&config.preemption)?;
        let suspend = Suspend { erase, program, ..parse_suspend(&config.suspend)? };
        let low = Threshold::parse("gc_low", &config.gc_low)?;
        let high = match &config.gc_high {
            Some(high) => Threshold::parse("gc_high", high)?,
            None => low,
        };
        let hard = Threshold::parse("gc_hard", &config.gc_hard)?;
        let arrivals = config.arrivals.as_deref().map(Arrivals::parse).transpose()?;
        let resolution_ns =
            config.resolution.as_deref().map(|text| time("resolution", text)).transpose()?;
        let settings = Settings {
            hardware,
            placement,
            scheduling: parse_scheduling(&config.scheduling)?,
            multi_plane: config.multi_plane,
            cache_commands: config.cache_commands,
            collecting: Collecting {
                // If its planes are one plane of the map, a die has no other unit.
                unit: match parse_unit(&config.gc_domain)? {
                    Unit::Die if together > 1 => Unit::Plane,
                    unit => unit,
                },
                low: 0,
                high: 0,
                hard: 0,
                preemption,
                holds_unit: config.gc_holds_domain,
                search_ns: time("victim_search_time", &config.victim_search_time)?,
                poll_ns: time("preemption_poll_time", &config.preemption_poll_time)?,
                copy_back: config.copy_back,
                idle: None,
                paces_writes: config.write_pacing,
            },
            suspend,
            power_limit: config.power_limit.as_deref().map(parse_power_limit).transpose()?,
            slc: None,
            flush_after_ns: match &config.flush_after {
                Some(text) => time("flush_after", text)?,
                None => u64::MAX,
            },
            write_cache: config.write_cache,
            host: Loop::Open,
            queue_depth: config.queue_depth,
            details: Details {
                pages: Details::kinds(times.read, times.program)?,
                retry: config.read_retry.as_deref().map(ReadRetry::parse).transpose()?,
                link: HostLink::parse(
                    config.host_bandwidth.as_deref(),
                    config.host_overhead.as_deref(),
                )?,
                serial_overwrites: config.serial_overwrites,
                failures: config.read_failures.as_deref().map(ReadFailures::parse).transpose()?,
            },
        };
        Ok(Self {
            hardware,
            placement,
            arrivals,
            rate_scale: config.rate_scale,
            resolution_ns,
            thresholds: [low, high, hard],
            high_key: if config.gc_high.is_some() { "gc_high" } else { "gc_low" },
            idle: config.idle.as_deref().map(parse_idle).transpose()?,
            slc: SlcPlan::parse(
                config.slc.as_deref(),
                config.slc_times.as_deref(),
                config.bits_per_cell,
            )?,
            settings,
        })
    }

    /// Returns the settings for a drive of this shape that will hold `pages` pages of data, and for
    /// requests from `requests`. The blocks that `placement` keeps for its copies are added to each
    /// mark at which a collection begins or ends.
    ///
    /// # Errors
    /// Fails if the blocks cannot be divided equally among the planes, or if thresholds are out of
    /// order or above the spare blocks.
    pub fn settings(
        &self,
        geometry: &Geometry,
        pages: u64,
        placement: &PlacementSpec,
        requests: &Requests,
    ) -> Result<Settings, SpecError> {
        let planes = self.hardware.all_planes();
        let blocks = geometry.blocks() / planes;
        let in_unit = self.settings.collecting.unit.planes(&self.hardware);
        let [mut low, high, hard] = self.thresholds.map(|mark| mark.blocks(in_unit, blocks));
        if matches!(self.thresholds[0], Threshold::Share(_)) {
            low = low.max(in_unit); // a small share of a small plane is one block
        }
        if self.settings.collecting.paces_writes && low < LEAST_PACED * in_unit {
            return Err(SpecError::new(
                format!(
                    "{} needs collections that begin at {} erased blocks or more of {}, found {low}: a collection \
                     and the host's writes open a block each, and one is in reserve",
                    subject("write_pacing"),
                    LEAST_PACED * in_unit,
                    self.settings.collecting.unit.name(),
                ),
                choice("gc_low", LEAST_PACED),
            ));
        }
        let for_folds = self.slc.map_or(0, |_| SlcRegion::kept_for_folds(placement));
        let for_copies = (placement.kept_for_copies() + for_folds) * in_unit;
        low += for_copies;
        let high = (high + for_copies).max(low);
        // In the best case the data fill whole blocks: collections can erase only the other blocks.
        let each = pages.div_ceil(u64::from(planes)) * u64::from(in_unit);
        let full = each.div_ceil(u64::from(geometry.pages_per_block()));
        if let Some(slc) = &self.slc {
            slc.check(blocks)?;
        }
        let slc = self.slc.map(|slc| slc.on(blocks, high));
        let normal = blocks.saturating_sub(slc.map_or(0, |slc| slc.region.set_aside()));
        let spare = (u64::from(normal) * u64::from(in_unit)).saturating_sub(full);
        // If the blocks cannot be divided equally among the planes, or a low mark leaves no room,
        // the map reports the error.
        let can_be = geometry.blocks().is_multiple_of(planes) && high > low;
        if can_be && u64::from(high) >= spare {
            return Err(SpecError::new(
                format!(
                    "{}: collections would go on until more than {} are erased, and the spare space of {} is {}",
                    subject(self.high_key),
                    count(high.into(), "block"),
                    self.settings.collecting.unit.name(),
                    count(spare, "block")
                ),
                format!("a lower {}, or a larger {}", option(self.high_key), option("spare")),
            ));
        }
        let settings = Settings {
            collecting: Collecting {
                low,
                high,
                hard,
                idle: self.idle.map(|(below, after_ns)| Idle {
                    below: below.blocks(in_unit, blocks) + for_copies,
                    after_ns,
                }),
                ..self.settings.collecting
            },
            slc,
            host: Loop::of(self.arrivals.or(requests.default_arrivals())),
            ..self.settings.clone()
        };
        settings.check()?;
        Ok(settings)
    }

    /// Returns the number of blocks that each plane keeps for its SLC region alone. The drive has
    /// `placement`, and its planes have `blocks` blocks each.
    pub(super) fn blocks_for_slc(&self, blocks: u32, placement: &PlacementSpec) -> u32 {
        self.slc.map_or(0, |slc| slc.blocks_kept(blocks, placement))
    }

    /// Returns `true` if the number of blocks that stay erased is given as a share of the drive.
    pub(crate) fn keeps_share(&self) -> bool {
        matches!(self.thresholds[0], Threshold::Share(_))
    }

    /// Returns the erased blocks at which the last collection of a plane ends, of marks that are given
    /// as numbers of blocks. Marks that are shares of the plane count as nothing.
    pub(crate) fn blocks_at_marks(&self) -> u32 {
        let given = |mark: &Threshold| match mark {
            Threshold::Blocks(blocks) => *blocks,
            Threshold::Share(_) => 0,
        };
        self.thresholds.iter().map(given).max().unwrap_or_default()
    }

    /// Returns the erased blocks that each plane keeps, on a drive whose planes have `blocks`
    /// blocks.
    pub fn blocks_kept(&self, blocks: u32) -> u32 {
        self.thresholds[0].blocks(1, blocks).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: &str = "read=25us,program=200us,erase=1.5ms,transfer=102.4us";

    fn plan(config: &TimedConfig) -> Result<TimedPlan, String> {
        let times = Times::parse(TIMES).unwrap();
        TimedPlan::new(config, 4096, PageBuffer::default(), Members::ONE, &times)
            .map_err(|error| error.to_string())
    }

    fn settings(config: &TimedConfig, blocks: u32) -> Result<Settings, String> {
        let geometry = Geometry::with_spare(blocks, 64, 0.15).unwrap();
        let requests = Requests::parse("uniform").unwrap();
        let none = PlacementSpec::default();
        plan(config)?
            .settings(&geometry, geometry.logical_pages().into(), &none, &requests)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn thresholds_count_blocks_a_plane_or_share_those_of_the_unit() {
        // There are 2048 blocks: 8 channels of 8 planes, with 32 blocks a plane and 256 a channel.
        let config = |low: &str, hard: &str, unit: &str| TimedConfig {
            channels: 8,
            planes: 8,
            gc_domain: unit.into(),
            gc_low: low.into(),
            gc_hard: hard.into(),
            ..TimedConfig::default()
        };
        let of = |low, hard, unit| {
            let collecting = settings(&config(low, hard, unit), 2048).unwrap().collecting;
            (collecting.low, collecting.high, collecting.hard)
        };
        assert_eq!(of("2", "0", "plane"), (2, 2, 0));
        assert_eq!(of("2", "1", "channel"), (16, 16, 8));
        // 5% of 256 blocks are 12.8, and 1% are 2.56; both are rounded.
        assert_eq!(of("5%", "1%", "channel"), (13, 13, 3));
        assert_eq!(of("5%", "0", "drive"), (102, 102, 0));
        // A small share of a small plane is still one block.
        assert_eq!(of("1%", "0", "plane"), (1, 1, 0));
        let error = settings(&config("1", "2", "plane"), 2048).unwrap_err();
        assert!(error.contains("expected hard <= low <= high"), "{error}");
        assert_eq!(
            Threshold::parse("gc_low", "5 blocks").unwrap_err().to_string(),
            "gc_low: found '5 blocks', expected a number of blocks a plane or a share; hint: write \
             gc_low=2 or gc_low=5%"
        );
    }

    #[test]
    fn a_threshold_above_the_spare_space_is_refused_with_the_name_of_the_option() {
        // There are 160 blocks of 64 pages, 15% of them spare: 8704 pages fill 136 blocks, and 24
        // are left.
        let config =
            |high: &str| TimedConfig { gc_high: Some(high.into()), ..TimedConfig::default() };
        assert_eq!(settings(&config("23"), 160).unwrap().collecting.high, 23);
        assert_eq!(
            settings(&config("24"), 160).unwrap_err(),
            "gc_high: collections would go on until more than 24 blocks are erased, and the spare \
             space of a plane is 24 blocks; hint: a lower gc_high, or a larger spare"
        );
        // Two planes have 12 spare blocks each.
        let both = |high: &str| TimedConfig { planes: 2, ..config(high) };
        assert!(settings(&both("11"), 160).is_ok());
        let error = settings(&both("12"), 160).unwrap_err();
        assert!(error.contains("the spare space of a plane is 12 blocks"), "{error}");
        let die = TimedConfig { gc_domain: "die".into(), ..both("12") };
        let error = settings(&die, 160).unwrap_err();
        assert!(
            error.contains("more than 24 blocks") && error.contains("of a die is 24"),
            "{error}"
        );
    }

    #[test]
    fn paced_writes_need_three_erased_blocks_a_plane() {
        let config = |low: &str, unit: &str| TimedConfig {
            planes: 2,
            gc_low: low.into(),
            gc_domain: unit.into(),
            preemption: "pgc".into(),
            write_pacing: true,
            ..TimedConfig::default()
        };
        assert!(settings(&config("3", "plane"), 200).unwrap().collecting.paces_writes);
        assert!(settings(&config("3", "die"), 200).is_ok());
        for (low, unit, text) in [
            ("2", "plane", "at 3 erased blocks or more of a plane, found 2: "),
            ("2", "die", "at 6 erased blocks or more of a die, found 4: "),
        ] {
            let error = settings(&config(low, unit), 200).unwrap_err();
            assert!(error.contains(text) && error.contains("hint: gc_low=3"), "{error}");
        }
    }

    #[test]
    fn a_host_that_closes_its_loop_is_told_to_the_drive() {
        let mut config = TimedConfig::default();
        assert_eq!(
            settings(&config, 100).unwrap().host,
            Loop::Closed { threads: 1, think_ns: 0 } // the default of generators
        );
        config.arrivals = Some("closed:threads=4,think=1ms".into());
        let host = settings(&config, 100).unwrap().host;
        assert_eq!(host, Loop::Closed { threads: 4, think_ns: 1_000_000 });
        config.arrivals = Some("poisson:rate=1000".into());
        assert_eq!(settings(&config, 100).unwrap().host, Loop::Open);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let with = |change: fn(&mut TimedConfig)| {
            let mut config = TimedConfig::default();
            change(&mut config);
            plan(&config).unwrap_err()
        };
        assert!(with(|config| config.channels = 0).contains("channels: found 0"));
        assert!(with(|config| config.striping = "CWDX".into()).contains("'CWDX'"));
        assert!(with(|config| config.scheduling = "fofi".into()).contains("did you mean 'fifo'?"));
        assert!(with(|config| config.preemption_poll_time = "600".into()).contains("has no unit"));
        let zero = Times::parse("read=0us,program=200us,erase=1.5ms").unwrap();
        let error = TimedPlan::new(
            &TimedConfig::default(),
            4096,
            PageBuffer::default(),
            Members::ONE,
            &zero,
        )
        .unwrap_err()
        .to_string();
        assert!(error.contains("read time: found 0 ns"), "{error}");
    }
}
