//! One channel of a drive, simulated as a separate drive with one channel. The caller pushes the
//! requests of the channel and sets the time at which it stops.

use flashgc_drive::error::DriveError;
use flashgc_workload::requests::TimedRequest;

use super::meter::ChannelMeter;
use crate::clock::Position;
use crate::drive::TimedDrive;

/// One channel of a drive. Its positions in time are those of its own clock.
pub type Channel = TimedDrive<ChannelMeter>;

impl TimedDrive<ChannelMeter> {
    /// Adds a request after those that were pushed before. It arrives at its time `arrival_ns`.
    pub(super) fn push(&mut self, request: TimedRequest, number: u64) {
        self.front.push(request, number);
    }

    /// Handles all events up to the position `end`.
    ///
    /// # Errors
    /// The errors of the map.
    pub(super) fn advance(&mut self, end: Position) -> Result<(), DriveError> {
        self.front.expect_pushed(&mut self.shared)?;
        while let Some(event) = self.shared.clock.go_on_until(end) {
            self.shared.observer.event = self.shared.clock.position();
            self.handle(event)?;
            self.begin_what_is_ready()?;
        }
        Ok(())
    }

    /// Handles the next event only. Returns the die that may begin a job first, if the event names
    /// one.
    ///
    /// # Errors
    /// The errors of the map.
    pub(super) fn happen(&mut self) -> Result<Option<u32>, DriveError> {
        match self.shared.clock.go_on_until(Position::end_of(u64::MAX)) {
            Some(event) => {
                self.shared.observer.event = self.shared.clock.position();
                self.happens(event)
            }
            None => Ok(None),
        }
    }

    /// Dispatches a request at an event of the whole drive. `place` is the position of the event on
    /// the drive's clock, `own` on the channel's clock. Marks the dies of the request as ready.
    ///
    /// # Errors
    /// The errors of the map.
    pub(super) fn enter(
        &mut self,
        (place, own): (Position, Position),
        (request, number): (TimedRequest, u64),
        arrived: u64,
    ) -> Result<(), DriveError> {
        self.shared.clock.reach(own);
        self.shared.observer.elsewhere = Some(place);
        self.front.enter(&mut self.shared, &mut self.scheduler, request, number, arrived)
    }

    /// Notes that the event of the whole drive is over.
    pub(super) fn is_over(&mut self) {
        self.shared.observer.elsewhere = None;
    }

    /// Returns the position of the next event.
    pub(super) fn next_position(&mut self) -> Position {
        self.shared.clock.next_position()
    }

    /// Returns the position of the last event.
    pub(super) fn position(&self) -> Position {
        self.shared.clock.position()
    }

    /// Brings the map and the measurements up to this position.
    ///
    /// # Errors
    /// The errors of the map.
    pub(super) fn catch_up(&mut self, place: Position) -> Result<(), DriveError> {
        self.scheduler.catch_up(&mut self.shared, place)?;
        Ok(())
    }
}
