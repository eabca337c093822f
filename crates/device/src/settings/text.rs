//! Settings as TOML. The file of a drive holds this text, so that the settings are known when it is
//! opened.

use std::path::Path;
use std::sync::Arc;

use flashgc_base::spec::SpecError;
use flashgc_ftl::placement::Remembers;
use flashgc_ftl::{
    Allocation, EndOfLife, Endurance, ExternalPlacement, Fill, Frontier, Geometry, Layout,
    Levelling, Lifespan, Members, PlacementSpec, Victim, VictimSpec,
};
use flashgc_workload::StreamRanges;
use toml_edit::{DocumentMut, Item, value};

use super::{Durability, Settings, has_streams, invalid};
use crate::codec::crc;
use crate::dies::Parity;
use crate::error::DeviceError;
use crate::layout::{CONFIG_BYTES, Zones};
use crate::media::Media;
use crate::strangers::Strangers;
use crate::superblock::Copies;

/// The prefixes of the name of a policy from outside: one in Python, or in a compiled library.
const OUTSIDE: [&str; 2] = ["python:", "lib:"];

fn is_outside(name: &str) -> bool {
    OUTSIDE.iter().any(|prefix| name.starts_with(prefix))
}

/// A drive's victim policy and placement that are from outside and were loaded.
#[derive(Clone, Default)]
pub struct Outside {
    /// The victim policy.
    pub victim: Option<Victim>,
    /// The placement.
    pub placement: Option<ExternalPlacement>,
}

impl Outside {
    /// Returns stand-ins for the policies, for a program that reads settings but opens no drive.
    pub fn never_made() -> Self {
        let name = String::new();
        let make = Arc::new(|_, _| unreachable!("is never made"));
        let placement = ExternalPlacement {
            name,
            takes_copies: vec![true],
            asks_for_zombies: false,
            sees_blocks: false,
            remembers: Remembers::default(),
            make,
        };
        Self {
            victim: Some(Victim::External(
                String::new(),
                Arc::new(|_| unreachable!("is never made")),
            )),
            placement: Some(placement),
        }
    }
}

const NONE: &str = "none";

impl Durability {
    /// Every word and the durability that it stands for.
    pub const ALL: [(&str, Self); 3] =
        [("power", Self::Power), ("process", Self::Process), ("none", Self::None)];

    /// Returns the word for this durability.
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|&(_, known)| known == self).map_or("", |(name, _)| name)
    }

    /// Returns the durability that a word stands for.
    ///
    /// # Errors
    /// Any other word.
    pub fn parse(word: &str) -> Result<Self, SpecError> {
        let known = Self::ALL.into_iter().find(|&(name, _)| name == word);
        known.map(|(_, durability)| durability).ok_or_else(|| {
            let names = Self::ALL.map(|(name, _)| name);
            SpecError::new(
                format!("durability: found '{word}', expected power, process or none"),
                flashgc_base::spec::suggest(word, names),
            )
        })
    }
}

/// The key of the number of blocks of a superblock.
const TOGETHER: &str = "blocks-together";

/// The keys of a drive with parity: the dies of a superblock, the dies of a stripe, one of which has
/// the parity, and the pages that a die programs together.
const DIES: &str = "dies-together";
const STRIPE: &str = "parity-stripe";
const PROGRAM: &str = "pages-per-program";

impl Settings {
    /// Returns the settings as TOML, as stored in the drive's file. Two drives with the same text
    /// decide alike.
    pub fn text(&self) -> String {
        let Layout { geometry, frontier, allocation, levelling, placement, lifespan, seed, .. } =
            &self.layout;
        let mut text = DocumentMut::new();
        let word = |shown: Option<String>| value(shown.unwrap_or_else(|| NONE.to_string()));
        text["blocks"] = value(i64::from(geometry.blocks()));
        text["pages-per-block"] = value(i64::from(geometry.pages_per_block()));
        // Files of drives without superblocks stay as they were.
        if self.layout.blocks_together > 1 {
            text[TOGETHER] = value(i64::from(self.layout.blocks_together));
        }
        if let Some(parity) = self.parity {
            let (dies, stripe, program) = parity.numbers();
            for (key, number) in [(DIES, dies), (STRIPE, stripe), (PROGRAM, program)] {
                text[key] = value(i64::from(number));
            }
        }
        text["logical-pages"] = value(i64::from(geometry.logical_pages()));
        text["victim"] = value(self.victim.to_string());
        text["frontier"] = value(frontier.to_string());
        text["placement"] = value(placement.to_string());
        text["allocation"] = value(allocation.to_string());
        text["wear-levelling"] = word(levelling.map(|levelling| levelling.to_string()));
        text["endurance"] = word(lifespan.map(|lifespan| lifespan.endurance.to_string()));
        text["end-of-life"] = word(lifespan.map(|lifespan| lifespan.ends_at.name().to_string()));
        // TOML has no whole numbers beyond 2^63.
        text["seed"] = value(seed.to_string());
        text["journal-blocks"] = value(self.journal_blocks as i64);
        text["durability"] = value(self.durability.name());
        if let Some(streams) = &self.streams {
            text["streams"] = value(streams.text());
        }
        text.to_string()
    }

    /// Returns the name that the text has for `key` (`victim` or `placement`), if that policy is
    /// written in Python.
    ///
    /// # Errors
    /// A text that is no configuration.
    pub fn outside(text: &str, key: &str) -> Result<Option<String>, DeviceError> {
        let name = Text::read(text)?.word(key)?.to_string();
        Ok(is_outside(&name).then_some(name))
    }

    /// Returns the settings that a text stands for. `outside` has the policies that are written in
    /// Python.
    ///
    /// # Errors
    /// A text that is no configuration; a policy written in Python that `outside` does not have.
    pub fn parse(text: &str, outside: Outside) -> Result<Self, DeviceError> {
        let keys = Text::read(text)?;
        let missing = |what: &str, name: &str| {
            Err(invalid(format!("the {what} is {name}, which was not loaded")))
        };
        let name = keys.word("victim")?;
        let victim = match (is_outside(name), outside.victim) {
            (true, Some(loaded)) => loaded.named(name),
            (true, None) => return missing("victim policy", name),
            (false, _) => Victim::Registered(keys.spec("victim", VictimSpec::parse)?),
        };
        let name = keys.word("placement")?;
        let placement = match (is_outside(name), outside.placement) {
            (true, Some(loaded)) => {
                PlacementSpec::from_outside(ExternalPlacement { name: name.to_string(), ..loaded })
            }
            (true, None) => return missing("placement", name),
            (false, _) => keys.spec("placement", PlacementSpec::parse)?,
        };
        let (blocks, b) = (keys.number("blocks")?, keys.number("pages-per-block")?);
        let pages: u64 = keys.number("logical-pages")?;
        let geometry =
            Geometry::new(blocks, b, pages).map_err(|error| invalid(error.to_string()))?;
        let blocks_together = match keys.0.contains_key(TOGETHER) {
            true => keys.number(TOGETHER)?,
            false => 1,
        };
        let parity = match keys.0.contains_key(DIES) {
            true => {
                let members = Members {
                    dies: keys.number(DIES)?,
                    stripe: Some(keys.number(STRIPE)?),
                    planes: 1,
                };
                Parity::new(members, keys.number(PROGRAM)?)
            }
            false => None,
        };
        let pages = geometry.pages_per_block();
        if parity.is_some_and(|parity| !parity.fits(pages)) {
            return Err(keys.fault(STRIPE, "dies that divide those of a superblock"));
        }
        let all = u64::from(pages) + parity.map_or(0, |parity| parity.pages(pages).into());
        if blocks_together == 0 || !all.is_multiple_of(u64::from(blocks_together)) {
            return Err(keys.fault(TOGETHER, "a divisor of the pages of a superblock"));
        }
        let lifespan = match keys.word("endurance")? {
            NONE => None,
            _ => Some(Lifespan {
                endurance: keys.spec("endurance", Endurance::parse)?,
                ends_at: keys.spec("end-of-life", EndOfLife::parse)?,
            }),
        };
        let seed = keys.word("seed")?.parse();
        // The text of a drive without streams by address has no such key.
        let streams = match keys.0.contains_key("streams") {
            true => {
                let ranges =
                    StreamRanges::parse(Path::new("streams"), keys.word("streams")?.as_bytes());
                Some(Arc::new(ranges.map_err(|error| invalid(error.to_string()))?))
            }
            false => None,
        };
        let layout = Layout {
            frontier: keys.spec("frontier", Frontier::parse)?,
            allocation: keys.spec("allocation", Allocation::parse)?,
            levelling: keys.spec("wear-levelling", Levelling::parse)?,
            streams: has_streams(streams.is_some(), &placement),
            placement,
            lifespan,
            blocks_together,
            fill: Fill::Empty,
            seed: seed.map_err(|_| keys.fault("seed", "a whole number as a text"))?,
            ..Layout::new(geometry)
        };
        Ok(Self {
            layout,
            victim,
            journal_blocks: keys.number("journal-blocks")?,
            durability: keys.spec("durability", Durability::parse)?,
            streams,
            parity,
        })
    }
}

/// Returns the configuration that the file of a drive holds.
///
/// # Errors
/// No drive, another format, damage to the configuration, errors of the medium.
pub fn configuration(media: &dyn Media) -> Result<String, DeviceError> {
    let superblock = Copies::read(media)?.now;
    let damaged = || DeviceError::Media("the drive's configuration is damaged".to_string());
    if u64::from(superblock.config_bytes) > CONFIG_BYTES {
        return Err(damaged());
    }
    let mut bytes = vec![0; superblock.config_bytes as usize];
    media.read_at(Zones::CONFIG, &mut bytes)?;
    if crc(0, &bytes) != superblock.config_crc {
        return Err(damaged());
    }
    String::from_utf8(bytes).map_err(|_| damaged())
}

/// Returns the strangers that the drive on `media` remembers.
///
/// # Errors
/// No drive, another format, errors of the medium.
pub fn strangers(media: &dyn Media) -> Result<Strangers, DeviceError> {
    Ok(Copies::read(media)?.now.strangers)
}

/// The keys of a configuration.
struct Text(DocumentMut);

impl Text {
    fn read(text: &str) -> Result<Self, DeviceError> {
        let read = text.parse().map(Self);
        read.map_err(|error| invalid(format!("the drive's configuration: {}", error.message())))
    }

    fn fault(&self, key: &str, expected: &str) -> DeviceError {
        let known = self.0.get(key).map_or("nothing".to_string(), |item| item.to_string());
        invalid(format!(
            "the drive's configuration: {key}: found {}, expected {expected}",
            known.trim()
        ))
    }

    fn word(&self, key: &str) -> Result<&str, DeviceError> {
        self.0.get(key).and_then(Item::as_str).ok_or_else(|| self.fault(key, "a text"))
    }

    fn number<T: TryFrom<i64>>(&self, key: &str) -> Result<T, DeviceError> {
        let number = self.0.get(key).and_then(Item::as_integer);
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| self.fault(key, "a whole number"))
    }

    fn spec<T>(
        &self,
        key: &str,
        read: impl FnOnce(&str) -> Result<T, SpecError>,
    ) -> Result<T, DeviceError> {
        let read = read(self.word(key)?);
        read.map_err(|error| invalid(format!("the drive's configuration: {key}: {error}")))
    }
}
