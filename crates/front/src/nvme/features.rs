//! Features of a controller: settings that a host can read and change.
//!
//! # Source
//! NVM Express Base Specification 2.0, section 5.27.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::QUEUES;
use super::structures::Status;

/// Numbers of features.
pub mod feature {
    pub const ARBITRATION: u8 = 0x01;
    pub const POWER: u8 = 0x02;
    pub const TEMPERATURE: u8 = 0x04;
    pub const RECOVERY: u8 = 0x05;
    pub const WRITE_CACHE: u8 = 0x06;
    pub const QUEUES: u8 = 0x07;
    pub const ATOMICITY: u8 = 0x0a;
    pub const EVENTS: u8 = 0x0b;
    pub const TIMESTAMP: u8 = 0x0e;
    pub const KEEP_ALIVE: u8 = 0x0f;
    pub const FDP: u8 = 0x1d;
    pub const FDP_EVENTS: u8 = 0x1e;
    pub const HOST: u8 = 0x81;
}

/// The features that are stored as a number for each controller: the feature's identifier and its
/// default.
const NUMBERS: [(u8, u32); 6] = [
    (feature::ARBITRATION, 0),
    (feature::POWER, 0),
    (feature::TEMPERATURE, 0xffff),
    (feature::RECOVERY, 0),
    (feature::ATOMICITY, 0),
    (feature::EVENTS, 0),
];

/// The values of a controller's features.
pub struct Features {
    numbers: [u32; NUMBERS.len()],
    /// The clock as a host has set it, in milliseconds since 1970, and the time at which it was
    /// set.
    clock: Option<(u64, Instant)>,
}

impl Features {
    pub fn new() -> Self {
        Self { numbers: NUMBERS.map(|(_, default)| default), clock: None }
    }

    /// Returns the value of a feature that is stored as a number; `None` for other features.
    pub fn number(&self, id: u8) -> Option<u32> {
        Some(self.numbers[place(id)?])
    }

    /// Sets a feature that is stored as a number.
    pub fn set_number(&mut self, id: u8, value: u32) -> Result<(), Status> {
        let place = place(id).ok_or(Status::INVALID_FIELD)?;
        match id {
            // There is only power state 0, and no time limit for retries.
            feature::POWER if value & 0x1f != 0 => Err(Status::INVALID_FIELD),
            feature::RECOVERY if value != 0 => Err(Status::NOT_CHANGEABLE),
            _ => {
                self.numbers[place] = value;
                Ok(())
            }
        }
    }

    /// Returns the bytes of the timestamp: 48 bits of milliseconds since 1970; then a byte that is
    /// 2 if a host has set the clock.
    pub fn timestamp(&self) -> [u8; 8] {
        let (now, origin) = match self.clock {
            Some((at, since)) => (at + since.elapsed().as_millis() as u64, 1 << 1),
            None => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                (now.as_millis() as u64, 0)
            }
        };
        let mut bytes = (now & ((1 << 48) - 1)).to_le_bytes();
        bytes[6] = origin;
        bytes
    }

    /// Sets the timestamp to these bytes.
    pub fn set_timestamp(&mut self, bytes: [u8; 8]) {
        let at = u64::from_le_bytes(bytes) & ((1 << 48) - 1);
        self.clock = Some((at, Instant::now()));
    }
}

fn place(id: u8) -> Option<usize> {
    NUMBERS.iter().position(|(known, _)| *known == id)
}

/// Returns the default of a feature that is stored as a number.
pub fn default(id: u8) -> Option<u32> {
    Some(NUMBERS[place(id)?].1)
}

/// Returns the value of Number of Queues: the number of I/O queues minus one, for submission and
/// for completion queues.
pub fn queues() -> u32 {
    let most = u32::from(QUEUES) - 1;
    most << 16 | most
}
