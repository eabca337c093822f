//! The plane that each logical page is written to.

use std::fmt;

use flashgc_base::spec::{SpecError, suggest};

use super::hardware::Hardware;

/// The order in which consecutive logical pages go through the hardware. The part of the first
/// letter varies fastest: C channel, W way (package), D die, P plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order([u8; 4]);

impl Order {
    /// Channel first, then way, die and plane: the order with the most parallel transfers.
    pub const CWDP: Self = Self(*b"CWDP");

    /// Returns all 24 orders, alphabetically.
    pub fn all() -> Vec<Self> {
        let letters = *b"CDPW";
        let mut orders = Vec::new();
        for index in 0..256 {
            let order = [6, 4, 2, 0].map(|shift| letters[index >> shift & 3]);
            if letters.iter().all(|letter| order.contains(letter)) {
                orders.push(Self(order));
            }
        }
        orders
    }

    /// Returns the plane of a piece of the address space, in this order. A piece has the size of a
    /// flash page, and `index` is its number.
    fn plane(self, hardware: &Hardware, index: u32) -> u32 {
        let mut rest = index;
        let [mut channel, mut way, mut die, mut plane] = [0; 4];
        for letter in self.0 {
            let (place, size) = match letter {
                b'C' => (&mut channel, hardware.channels),
                b'W' => (&mut way, hardware.ways),
                b'D' => (&mut die, hardware.dies),
                _ => (&mut plane, hardware.planes),
            };
            *place = rest % size;
            rest /= size;
        }
        ((channel * hardware.ways + way) * hardware.dies + die) * hardware.planes + plane
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|&letter| write!(f, "{}", letter as char))
    }
}

/// The way in which the plane of a page is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// By the number of the page, modulo the number of planes, in this order.
    Static(Order),
    /// At each write: the die with the fewest operations, where equal dies take turns, and in it
    /// the planes in turn. The pages of a new drive have the places of `CWDP`.
    Dynamic,
}

impl Placement {
    /// Reads `dynamic` or an order such as `CWDP`.
    ///
    /// # Errors
    /// The text is neither.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        if text == "dynamic" {
            return Ok(Self::Dynamic);
        }
        let orders = Order::all();
        let wanted = text.to_ascii_uppercase();
        if let Some(&order) = orders.iter().find(|order| order.to_string() == wanted) {
            return Ok(Self::Static(order));
        }
        let names = ["dynamic".to_string(), "CWDP".to_string(), "PDWC".to_string()];
        Err(SpecError::new(
            format!(
                "page placement: found '{text}', expected 'dynamic' or an order of the letters C, \
                 W, D and P"
            ),
            suggest(text, names.iter().map(String::as_str)),
        ))
    }

    /// Returns the planes of the first pages of the map; after these the list repeats. It has the
    /// pages of one program for each plane. Consecutive pages that are programmed together go to one
    /// plane. Where a superblock joins several dies, its place decides the die, and the order is not
    /// used.
    pub fn homes(self, hardware: &Hardware) -> Box<[u32]> {
        self.homes_in_groups(hardware, 1)
    }

    /// Returns the planes as [`Placement::homes`] does, for a drive of several reclaim groups. The group of
    /// a page is its number modulo the number of groups, as on a drive without a clock.
    pub fn homes_in_groups(self, hardware: &Hardware, groups: u32) -> Box<[u32]> {
        let order = match self {
            Self::Static(order) => order,
            Self::Dynamic => Order::CWDP,
        };
        let together = hardware.units_per_program();
        let units = hardware.all_planes() * together;
        let plane = |index: u32| match hardware.members.dies {
            1 => order.plane(hardware, index),
            _ => index,
        };
        let planes = hardware.all_planes();
        // The map refuses groups that do not divide the planes.
        let groups = if planes.is_multiple_of(groups) { groups } else { 1 };
        let of_group = planes / groups;
        let each: Vec<Vec<u32>> = (0..groups)
            .map(|group| {
                let of_this = group * of_group..(group + 1) * of_group;
                (0..planes).map(plane).filter(|plane| of_this.contains(plane)).collect()
            })
            .collect();
        let home = |unit: u32| {
            let turn = unit / groups / together % of_group;
            each[(unit % groups) as usize][turn as usize]
        };
        (0..units).map(home).collect()
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Static(order) => order.fmt(f),
            Self::Dynamic => f.write_str("dynamic"),
        }
    }
}

#[cfg(test)]
mod tests {
    use flashgc_ftl::Members;

    use super::*;

    fn hardware() -> Hardware {
        Hardware {
            channels: 2,
            ways: 3,
            dies: 2,
            planes: 4,
            page_bytes: 4096,
            units_per_page: 1,
            pages_per_program: 1,
            members: Members::ONE,
            read_ns: 1,
            program_ns: 1,
            second_ns: None,
            erase_ns: 1,
            transfer_ns: 1,
            command_ns: 0,
        }
    }

    #[test]
    fn each_group_has_every_second_page_and_its_planes_in_order() {
        let hardware = Hardware { ways: 1, dies: 1, planes: 2, units_per_page: 2, ..hardware() };
        let homes = Placement::parse("CWDP").unwrap().homes_in_groups(&hardware, 2);
        // Group 0 has the planes 0 and 1 of channel 0, group 1 those of channel 1. Two pages of a group
        // are programmed together.
        assert_eq!(*homes, [0, 2, 0, 2, 1, 3, 1, 3]);
        let one = Placement::parse("CWDP").unwrap().homes_in_groups(&hardware, 3);
        assert_eq!(one, Placement::parse("CWDP").unwrap().homes(&hardware));
    }

    #[test]
    fn every_order_goes_through_all_planes_and_varies_its_first_letter_fastest() {
        let hardware = hardware();
        let orders = Order::all();
        assert_eq!(orders.len(), 24); // 4!
        for &order in &orders {
            let mut homes = Placement::Static(order).homes(&hardware).to_vec();
            // The difference of the numbers of two planes that differ by one in this letter.
            let step = match order.0[0] {
                b'C' => 3 * 2 * 4,
                b'W' => 2 * 4,
                b'D' => 4,
                _ => 1,
            };
            assert_eq!(homes[1] - homes[0], step, "{order}");
            homes.sort_unstable();
            assert_eq!(homes, (0..48).collect::<Vec<_>>(), "{order}");
            assert_eq!(Placement::parse(&order.to_string()), Ok(Placement::Static(order)));
        }
        // PDWC is the order of the planes' own numbers: plane, then die, way and channel.
        let homes = Placement::parse("pdwc").unwrap().homes(&hardware);
        assert_eq!(homes.to_vec(), (0..48).collect::<Vec<_>>());
        assert!(Placement::parse("CWDD").unwrap_err().to_string().contains("'CWDD'"));
    }
}
