//! The flash and its buses: the number of each part, and the times of operations.

use flashgc_base::refuse_if;
use flashgc_base::spec::SpecError;
use flashgc_ftl::{Members, Programs};

/// The numbers of channels, packages, dies and planes, and the times of operations in nanoseconds.
///
/// Dies are numbered `(channel * ways + way) * dies + die`, planes `die * planes + plane`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// The number of channels: buses that work at the same time.
    pub channels: u32,
    /// The number of packages (ways) on a channel.
    pub ways: u32,
    /// The number of dies in a package. A die executes one operation at a time.
    pub dies: u32,
    /// The number of planes in a die.
    pub planes: u32,
    /// The bytes of a flash page.
    pub page_bytes: u32,
    /// The number of pages of the map (units) in a flash page.
    pub units_per_page: u32,
    /// The number of flash pages of a word line that are programmed together; 1 if each is
    /// programmed alone. [`Hardware::program_ns`] is the time of all of them.
    pub pages_per_program: u32,
    /// The dies whose blocks a superblock joins.
    pub members: Members,
    /// The time to read a page from the cells into the page register (t_R).
    pub read_ns: u64,
    /// The time to program a page (t_W, also called t_PROG).
    pub program_ns: u64,
    /// The time of the second pass of a word line that is programmed in two passes; then
    /// [`Hardware::program_ns`] is that of the first. `None` if one pass programs it.
    pub second_ns: Option<u64>,
    /// The time to erase a block (t_E, also called t_BERS).
    pub erase_ns: u64,
    /// The time to move a flash page over the bus (t_B); with 0, no operation waits for the bus.
    pub transfer_ns: u64,
    /// The time that the command and the address take on the bus before each operation.
    pub command_ns: u64,
}

impl Hardware {
    /// Returns the number of dies of the drive.
    pub fn all_dies(&self) -> u32 {
        self.channels * self.dies_per_channel()
    }

    /// Returns the number of dies on one bus.
    pub fn dies_per_channel(&self) -> u32 {
        self.ways * self.dies
    }

    /// Returns the number of planes of the drive as its map sees them: groups of blocks with frontiers
    /// and an erased pool of their own. The planes of all members of a superblock are one plane.
    pub fn all_planes(&self) -> u32 {
        self.all_dies() / self.members.dies * self.planes
    }

    /// Returns the bytes of a page of the map (a unit).
    pub fn unit_bytes(&self) -> u32 {
        self.page_bytes / self.units_per_page
    }

    /// Returns the number of pages of the map (units) that are programmed together.
    pub fn units_per_program(&self) -> u32 {
        self.units_per_page * self.pages_per_program
    }

    /// Returns the programs of a block of the map.
    pub fn programs(&self) -> Programs {
        Programs {
            units_per_page: self.units_per_page,
            units_per_program: self.units_per_program(),
            part_parity: self.members.part_parity(),
        }
    }

    /// Returns the channel of a die.
    pub fn channel_of(&self, die: u32) -> u32 {
        die / self.dies_per_channel()
    }

    /// Returns the hardware as a map sees it that joins the `planes` planes of each die: one plane
    /// whose pages have the pages of all.
    #[must_use]
    pub fn joined(self, planes: u32) -> Self {
        Self {
            planes: self.planes / planes,
            page_bytes: self.page_bytes.saturating_mul(planes),
            transfer_ns: self.transfer_ns.saturating_mul(planes.into()),
            ..self
        }
    }

    /// Checks that a drive can have this hardware.
    ///
    /// # Errors
    /// A number is 0 or too large, or a time is out of range.
    pub fn check(&self) -> Result<(), SpecError> {
        let counts = [
            ("channels", self.channels),
            ("ways", self.ways),
            ("dies", self.dies),
            ("planes", self.planes),
        ];
        for (name, count) in counts {
            refuse_if!(
                count == 0 || count > 1024,
                format!("for example {name}=2"),
                "{name}: found {count}, expected 1 to 1024"
            );
        }
        let planes = counts.iter().map(|&(_, count)| u64::from(count)).product::<u64>();
        refuse_if!(
            planes > 1 << 16,
            "fewer channels, ways, dies or planes",
            "the drive has {planes} planes in all, expected at most {}",
            1 << 16
        );
        refuse_if!(
            self.page_bytes == 0 || self.units_per_page == 0,
            "for example 4096",
            "page size: found 0, expected at least 1 byte"
        );
        const HOUR: u64 = 3_600_000_000_000;
        let times = [
            ("read time", self.read_ns, 1),
            ("program time", self.program_ns, 1),
            ("time of the second pass", self.second_ns.unwrap_or(1), 1),
            ("erase time", self.erase_ns, 1),
            ("transfer time", self.transfer_ns, 0),
            ("command time", self.command_ns, 0),
        ];
        for (name, time, least) in times {
            refuse_if!(
                time < least || time > HOUR,
                "for example 25us, 200us or 1.5ms",
                "{name}: found {time} ns, expected {least} ns to an hour"
            );
        }
        Ok(())
    }
}
