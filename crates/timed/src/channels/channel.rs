//! One channel of a drive, simulated alone: a drive of one channel that is told when to stop, and what
//! arrives.

use flashgc_drive::error::DriveError;
use flashgc_workload::requests::TimedRequest;

use super::meter::ChannelMeter;
use crate::clock::Position;
use crate::drive::TimedDrive;

/// One channel of a drive. Places are those of its own clock.
pub type Channel = TimedDrive<ChannelMeter>;

impl TimedDrive<ChannelMeter> {
    /// A request that will arrive in its time, behind those that were pushed before.
    pub(super) fn push(&mut self, request: TimedRequest, number: u64) {
        self.front.push(request, number);
    }

    /// Lets everything happen that is not behind `end`.
    ///
    /// # Errors
    /// Those of the map.
    pub(super) fn advance(&mut self, end: Position) -> Result<(), DriveError> {
        self.front.expect_pushed(&mut self.shared)?;
        while let Some(event) = self.shared.clock.go_on_until(end) {
            self.shared.observer.event = self.shared.clock.position();
            self.handle(event)?;
            self.begin_what_is_ready()?;
        }
        Ok(())
    }

    /// Its next event happens, and nothing else. Returns the die that is to be looked at first.
    ///
    /// # Errors
    /// Those of the map.
    pub(super) fn happen(&mut self) -> Result<Option<u32>, DriveError> {
        match self.shared.clock.go_on_until(Position::end_of(u64::MAX)) {
            Some(event) => {
                self.shared.observer.event = self.shared.clock.position();
                self.happens(event)
            }
            None => Ok(None),
        }
    }

    /// A request gets its place in the queue at an event of the drive: `place` there, `own` here. Its dies
    /// are ready.
    ///
    /// # Errors
    /// Those of the map.
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

    /// The event of the drive is over.
    pub(super) fn is_over(&mut self) {
        self.shared.observer.elsewhere = None;
    }

    /// When its next event comes.
    pub(super) fn next_position(&mut self) -> Position {
        self.shared.clock.next_position()
    }

    /// Its last event.
    pub(super) fn position(&self) -> Position {
        self.shared.clock.position()
    }

    /// Its map and its measurements are as of this place.
    ///
    /// # Errors
    /// Those of the map.
    pub(super) fn catch_up(&mut self, place: Position) -> Result<(), DriveError> {
        self.scheduler.catch_up(&mut self.shared, place)?;
        Ok(())
    }
}
