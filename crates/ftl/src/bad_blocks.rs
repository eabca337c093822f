//! The fate of a superblock with a bad block, as people type it.

use std::fmt;

use flashgc_base::spec::{Param, Params, Spec, SpecError, suggest};

/// The smallest share of its units with which a superblock goes on, at least: a victim then finds room in two
/// erased superblocks of any size.
const LEAST: f64 = 0.5;

static PARAMS: &[Param] = &[Param::share("least", Some("0.5")).help(
    "share of its pages with which a superblock goes on, at least 50%; with less it retires",
)];

/// The fate of a superblock with a bad block.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum BadBlocks {
    /// The superblock retires with the first of its blocks.
    #[default]
    Retire,
    /// The superblock goes on with its other blocks.
    Shrink {
        /// The share of its units that a superblock must have left.
        least: f64,
    },
}

impl BadBlocks {
    /// The names that people type.
    pub const NAMES: [&'static str; 2] = ["retire", "shrink"];

    /// Reads `retire`, `shrink` or `shrink:least=75%`.
    ///
    /// # Errors
    /// Any other text, or a share out of range.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let spec = Spec::parse(text)?;
        match spec.name.as_str() {
            "retire" => Params::resolve(&spec, &[]).map(|_| Self::Retire),
            "shrink" => {
                let least = Params::resolve(&spec, PARAMS)?.real("least");
                match (LEAST..=1.0).contains(&least) {
                    true => Ok(Self::Shrink { least }),
                    false => Err(SpecError::new(
                        format!(
                            "shrink: least={least} is out of range, expected 50% to 100%: a victim must find \
                             room in two erased superblocks"
                        ),
                        "shrink:least=50%",
                    )),
                }
            }
            name => Err(SpecError::new(
                format!("unknown fate '{name}' of bad blocks"),
                suggest(name, Self::NAMES),
            )),
        }
    }
}

/// Writes the name with every parameter.
impl fmt::Display for BadBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Retire => f.write_str("retire"),
            Self::Shrink { least } => write!(f, "shrink:least={least}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fate_of_bad_blocks_is_a_name_with_a_share() {
        let parse = |text| BadBlocks::parse(text);
        assert_eq!(parse("retire").unwrap(), BadBlocks::Retire);
        assert_eq!(parse("shrink").unwrap(), BadBlocks::Shrink { least: 0.5 });
        assert_eq!(parse("shrink:least=75%").unwrap().to_string(), "shrink:least=0.75");
        let error = |text| BadBlocks::parse(text).unwrap_err().to_string();
        assert!(error("shrink:least=0.3").contains("expected 50% to 100%"));
        assert_eq!(
            error("shrnk"),
            "unknown fate 'shrnk' of bad blocks; hint: did you mean 'shrink'?"
        );
        assert!(error("retire:least=1").starts_with("retire"));
    }
}
