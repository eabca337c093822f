//! The counts and measurements of a drive whose channels are simulated separately: sums over the
//! channels and the joint requests.

use std::sync::PoisonError;

use flashgc_base::counts::Counts;
use flashgc_drive::host_commands::HostCommands;
use flashgc_ftl::{Counters, LayerCounts, Stepwise};

use super::channel::Channel;
use super::meter::Completed;
use super::{Channels, lock};
use crate::measure::{KINDS, Meter, Totals, Worst, WorstSoFar};

impl Channels {
    /// Returns the channels without locks, as no other thread runs now.
    pub(super) fn drives(&mut self) -> impl Iterator<Item = &mut Channel> {
        let all = self.channels.iter_mut();
        all.map(|channel| channel.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// Calls `look` with the map of each channel, in order.
    pub fn each_map(&mut self, mut look: impl FnMut(&dyn Stepwise)) {
        self.drives().for_each(|drive| look(drive.layer()));
    }

    /// Returns the nanoseconds since the start.
    pub fn now(&self) -> u64 {
        self.desk.reached.time
    }

    /// Returns the number of requests completed.
    pub fn completed(&self) -> u64 {
        self.desk.completed
    }

    /// Returns the number of blocks erased.
    pub fn erases(&self) -> u64 {
        self.channels.iter().map(|channel| lock(channel).layer().counters().erases).sum()
    }

    /// Returns the sums of the counts of all maps.
    pub fn counters(&mut self) -> Counters {
        let mut sum = Counters::default();
        self.each_map(|map| sum = sum.plus(&map.counters()));
        sum
    }

    /// Returns the sums of the counts that only some kinds of maps keep.
    pub fn counts(&mut self) -> LayerCounts {
        let mut sum = LayerCounts::default();
        self.each_map(|map| sum = sum.plus(&map.counts()));
        sum
    }

    /// Returns a digest of every decision so far.
    pub fn decisions(&mut self) -> u64 {
        let mut digest = None;
        self.each_map(|map| digest = map.decisions_behind(digest));
        digest.unwrap_or_default()
    }

    /// Returns the bytes of memory that the drive needs for its map.
    pub fn map_bytes(&mut self) -> u64 {
        self.drives().map(|drive| drive.map_bytes()).sum()
    }

    /// Returns the counts of the host's commands other than the pages written.
    pub fn commands(&mut self) -> HostCommands {
        self.drives().fold(HostCommands::default(), |sum, drive| sum.plus(&drive.commands()))
    }

    /// Checks every invariant of the maps.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    pub fn audit(&mut self) -> Result<(), String> {
        self.drives().try_for_each(|drive| drive.audit())
    }

    /// Returns the totals of the whole drive.
    pub fn totals(&mut self) -> Totals {
        let now = self.now();
        let mut sum = Totals::default();
        for drive in self.drives() {
            sum.add_part(drive.totals_until(now));
        }
        let desk = &self.desk;
        let under_way = desk.joints.under_way().values().map(|joint| joint.arrived);
        let outside = under_way.chain(desk.line.iter().map(|held| held.arrived));
        let outside: u128 = outside.map(|arrived| u128::from(now - arrived)).sum();
        sum.request_ns += desk.joints.done_ns + desk.waited_ns + outside;
        sum.arrived = desk.arrived;
        sum.completed = desk.completed;
        (sum.last_arrival_ns, sum.at_last_arrival) = desk.last_arrival;
        sum
    }

    /// Returns how often the slowest request of a kind was set or replaced.
    pub fn changes(&mut self) -> u64 {
        let channels: u64 =
            self.drives().map(|drive| drive.observer().meter.worst().changes()).sum();
        channels + self.desk.joints.meter.worst().changes()
    }

    /// Returns the slowest requests so far, with addresses, dies and planes of the whole drive.
    pub fn worst(&mut self) -> WorstSoFar {
        let (dies, per_die) = (self.desk.dies.per_channel, self.desk.dies.planes_per_die);
        let split = self.desk.split.clone();
        let count = self.channels.len() as u32;
        let joints = &mut self.desk.joints;
        let mut best: [Option<(Completed, Worst)>; KINDS.len()] = Default::default();
        for (kind, place) in joints.slowest_at.into_iter().enumerate() {
            let worst = joints.meter.worst_mut().each()[kind].clone();
            best[kind] = worst.map(|worst| (place, worst));
        }
        for (channel, drive) in (0..).zip(self.drives()) {
            let meter = drive.observer_mut();
            for (kind, place) in meter.slowest.into_iter().enumerate() {
                let Some(mut worst) = meter.meter.worst_mut().each()[kind].clone() else {
                    continue;
                };
                worst.request.offset = split.byte(channel, worst.request.offset);
                worst.request.plane = worst.request.plane.map(|it| it + channel * dies * per_die);
                worst.die = worst.die.map(|die| die + channel * dies);
                let ns = worst.request.response_ns();
                let is_slower = best[kind].as_ref().is_none_or(|(earlier, slowest)| {
                    let slowest = slowest.request.response_ns();
                    ns > slowest || ns == slowest && place < *earlier
                });
                if is_slower {
                    best[kind] = Some((place, worst));
                }
            }
        }
        let mut worst = WorstSoFar::new(dies * count, per_die, false);
        *worst.each() = best.map(|it| it.map(|(_, worst)| worst));
        worst
    }

    /// Ends the measurement at the last event. The drive cannot be used after it.
    pub fn measured(mut self) -> Meter {
        let (now, worst) = (self.now(), self.worst());
        let meters: Vec<Meter> = self
            .channels
            .drain(..)
            .map(|drive| drive.into_inner().unwrap_or_else(PoisonError::into_inner))
            .map(|drive| drive.into_observer().meter)
            .collect();
        let mut meter = self.desk.joints.meter;
        meter.settle();
        for mut other in meters {
            other.finish(now);
            meter.add(other);
        }
        *meter.worst_mut() = worst;
        meter
    }
}
