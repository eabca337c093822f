//! The order of events, in a channel and in the drive.

use crate::clock::Position;

/// Translates positions between a channel's clock and the clock of the whole drive. Events of the
/// same time come in the order of the drive's timers. A channel's clock gives its timers other
/// numbers.
#[derive(Clone, Copy, Debug)]
pub struct ChannelOrder {
    channel: u32,
    channels: u32,
    dies_per_channel: u32,
}

impl ChannelOrder {
    pub fn new(channel: u32, channels: u32, dies_per_channel: u32) -> Self {
        Self { channel, channels, dies_per_channel }
    }

    /// Returns the position of arrivals at `time` on the drive's clock.
    pub fn arrival(self, time: u64) -> Position {
        Position { time, timer: 1 + self.channels + self.channels * self.dies_per_channel }
    }

    /// Returns the numbers of three timers of the drive: of this channel's transfers, of the cells
    /// of its first die, and of the idle time of that die.
    fn firsts(self) -> (u32, u32, u32) {
        let before = self.channel * self.dies_per_channel;
        (1 + self.channel, 1 + self.channels + before, self.arrival(0).timer + 1 + before)
    }

    /// Returns the position on the drive's clock of a position on this channel's clock.
    pub fn of_drive(self, place: Position) -> Position {
        let (dies, (transfers, first, first_idle)) = (self.dies_per_channel, self.firsts());
        let timer = match place.timer {
            0 | u32::MAX => place.timer,
            1 => transfers,
            timer if timer < dies + 2 => first + timer - 2,
            timer if timer == dies + 2 => self.arrival(0).timer,
            timer => first_idle + timer - (dies + 3),
        };
        Position { timer, ..place }
    }

    /// Returns the last position on this channel's clock that is not after `place` on the drive's
    /// clock.
    pub fn of_channel(self, place: Position) -> Position {
        if place.timer == u32::MAX {
            return place;
        }
        let (dies, (transfers, first, first_idle)) = (self.dies_per_channel, self.firsts());
        // The number of timers, among `count` from number `from` on, that are not after `place`.
        let early = |from: u32, count: u32| (place.timer + 1).saturating_sub(from).min(count);
        let timer = early(transfers, 1)
            + early(first, dies)
            + early(self.arrival(0).timer, 1)
            + early(first_idle, dies);
        Position { timer, ..place }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock, Event};

    /// Compares the translated positions of all timers with the positions on the clocks, for three
    /// channels of two dies each.
    #[test]
    fn the_places_are_those_of_the_clocks() {
        let whole = Clock::new(3, 6);
        let mut events = Vec::new();
        for channel in 0..3 {
            let (order, clock) = (ChannelOrder::new(channel, 3, 2), Clock::new(1, 2));
            let mut pairs = vec![
                (Event::Transfer(0), Event::Transfer(channel)),
                (Event::Arrival, Event::Arrival),
            ];
            for die in 0..2 {
                pairs.push((Event::Cells(die), Event::Cells(2 * channel + die)));
                pairs.push((Event::Idle(die), Event::Idle(2 * channel + die)));
            }
            for (own, of_drive) in pairs {
                let (own, of_drive) = (clock.position_of(own, 9), whole.position_of(of_drive, 9));
                assert_eq!((order.of_drive(own), order.of_channel(of_drive)), (of_drive, own));
                events.push((channel, own, of_drive));
            }
        }
        // Searches all positions of a channel for the last one that is not after a position of the
        // drive.
        for timer in 0..20 {
            let place = Position { time: 9, timer };
            for channel in 0..3 {
                let own = events.iter().filter(|it| it.0 == channel && it.2 <= place);
                let last = own.map(|it| it.1).max().unwrap_or(Position { timer: 0, ..place });
                assert_eq!(
                    ChannelOrder::new(channel, 3, 2).of_channel(place),
                    last,
                    "{channel} {timer}"
                );
            }
        }
        let end = Position::end_of(9);
        let order = ChannelOrder::new(1, 3, 2);
        assert_eq!((order.of_drive(end), order.of_channel(end)), (end, end));
        assert_eq!(order.arrival(9), whole.position_of(Event::Arrival, 9));
    }
}
