//! Couples: a victim policy and a placement, perhaps with a frontier, under one name. Those that a
//! paper compares have a name already; users write others.

use std::fmt;

use flashgc_base::spec::{SpecError, suggest};

use crate::frontier::frontiers;
use crate::placement::placement_policies;

/// A couple that has a name already, as listings need it.
pub struct CoupleInfo {
    /// The name people type.
    pub name: &'static str,
    /// A summary of one line, with its source.
    pub summary: &'static str,
    /// The spec of its victim policy.
    pub victim: &'static str,
    /// The spec of its placement, on the pool frontier.
    pub placement: &'static str,
}

impl CoupleInfo {
    const fn of(name: &'static str, victim: &'static str, placement: &'static str) -> Self {
        Self { name, summary: "", victim, placement }
    }

    const fn summary(self, summary: &'static str) -> Self {
        Self { summary, ..self }
    }
}

// DAC has three regions and no threshold (Lee et al. 2015, section 5.1). The zombie-aware
// couples have the zombie block (Table 1). Those with `-nz` have none (section 5.2.4).
static COUPLES: &[CoupleInfo] = &[
    CoupleInfo::of("gc-gd", "greedy", "dac:regions=3")
        .summary("greedy with DAC (Lee et al. 2015, Table 1)"),
    CoupleInfo::of("gc-cb", "cost-benefit", "dac:regions=3")
        .summary("cost-benefit with DAC (Lee et al. 2015, Table 1)"),
    CoupleInfo::of("zgc-gd", "z-greedy", "dac:regions=3,zombie-block=yes")
        .summary("z-greedy with DAC and the zombie block (Lee et al. 2015, Table 1)"),
    CoupleInfo::of("zgc-cb", "z-cost-benefit", "dac:regions=3,zombie-block=yes")
        .summary("z-cost-benefit with DAC and the zombie block (Lee et al. 2015, Table 1)"),
    CoupleInfo::of("zgc-gd-nz", "z-greedy", "dac:regions=3")
        .summary("z-greedy with DAC, no zombie block (Lee et al. 2015, section 5.2.4)"),
    CoupleInfo::of("zgc-cb-nz", "z-cost-benefit", "dac:regions=3")
        .summary("z-cost-benefit with DAC, no zombie block (Lee et al. 2015, section 5.2.4)"),
    CoupleInfo::of("sepbit", "cost-benefit:form=sqrt", "sepbit")
        .summary("SepBIT with the victims of its code, (1-u)/u sqrt(age) (Wang et al. 2022)"),
    CoupleInfo::of("midas", "cost-benefit:form=sqrt", "midas")
        .summary("MiDAS with cost-benefit in the last group (Oh et al. 2024)"),
    CoupleInfo::of("sepbit-cb", "cost-benefit", "sepbit").summary("SepBIT with cost-benefit"),
    CoupleInfo::of("multilog-cb", "cost-benefit", "multilog").summary("MultiLog with cost-benefit"),
    CoupleInfo::of("fadac-cb", "cost-benefit", "fadac").summary("FADaC with cost-benefit"),
    CoupleInfo::of("warcip-cb", "cost-benefit", "warcip").summary("WARCIP with cost-benefit"),
    CoupleInfo::of("intervals-cb", "cost-benefit", "intervals")
        .summary("update-interval quantiles with cost-benefit"),
    CoupleInfo::of("gdt-cb", "cost-benefit", "gdt")
        .summary("grouping by death time with cost-benefit"),
    CoupleInfo::of("sfs-cb", "cost-benefit", "sfs")
        .summary("SFS's groups of hotness with cost-benefit"),
];

/// Every couple with a name, in the order in which listings show them.
pub fn couples() -> &'static [CoupleInfo] {
    COUPLES
}

/// A couple as users write it: `NAME = VICTIM + PLACEMENT + FRONTIER`.
///
/// The parts have the forms of their own options, also that of a policy in Python, whose text no
/// parser of this crate knows. Name, placement and frontier may be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Couple {
    /// The name. Without one, it is the text of the couple itself.
    pub name: String,
    /// The spec of the victim policy.
    pub victim: String,
    /// The spec of the placement, or `none`.
    pub placement: String,
    /// The spec of the frontier; `None` if that of the drive is meant, or the usual one of schemes.
    pub frontier: Option<String>,
}

/// The most characters of a name.
const LONGEST_NAME: usize = 60;
const HINT: &str = "such as cost-benefit + sepbit, or mine = greedy + dac:regions=4 + pool";

impl Couple {
    /// Parses a couple. The specs of its parts are not checked.
    ///
    /// ```
    /// use flashgc_ftl::Couple;
    /// let couple = Couple::parse("mine = fifo + sepbit").unwrap();
    /// assert_eq!((&*couple.name, &*couple.victim, &*couple.placement), ("mine", "fifo", "sepbit"));
    /// assert_eq!(Couple::parse("gc-gd").unwrap().placement, "dac:regions=3");
    /// assert_eq!(Couple::parse("greedy pool").unwrap().frontier.as_deref(), Some("pool"));
    /// ```
    ///
    /// # Errors
    /// A part is empty or of no kind, there are two of a kind, or the name is no name.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let (name, couple) = match text.split_once(" = ") {
            Some((name, couple)) => (Some(checked_name(name)?), couple),
            None => (None, text),
        };
        let parts = parts_of(couple);
        let (first, others) =
            parts.split_first().filter(|(first, _)| !first.is_empty()).ok_or_else(|| {
                SpecError::new(format!("found '{}', expected a victim policy", text.trim()), HINT)
            })?;
        let (mut placement, mut frontier) = (None, None);
        let known = couples().iter().find(|info| info.name == *first);
        if let Some(info) = known {
            placement = Some(info.placement.to_string());
        }
        for part in others {
            let (kind, place) = match kind_of(part) {
                Some(Kind::Placement) => ("placement", &mut placement),
                Some(Kind::Frontier) => ("frontier", &mut frontier),
                None => {
                    let message =
                        format!("'{part}' in '{}' is no placement and no frontier", text.trim());
                    let name = part.split(':').next().unwrap_or_default();
                    let words = placement_policies().iter().map(|info| info.name);
                    let words = words.chain(frontiers().iter().map(|info| info.name));
                    return Err(SpecError::new(message, suggest(name, words)));
                }
            };
            if place.replace(part.clone()).is_none() {
                continue;
            }
            return Err(match known.filter(|_| kind == "placement") {
                Some(info) => SpecError::new(
                    format!("'{}': {first} has a placement already", text.trim()),
                    format!("{first}, or {} + {part}", info.victim),
                ),
                None => SpecError::new(
                    format!("'{}' has a second {kind}, {part}", text.trim()),
                    "leave one out",
                ),
            });
        }
        let mut couple = Self {
            name: String::new(),
            victim: known.map_or(first.clone(), |info| info.victim.to_string()),
            placement: placement.unwrap_or_else(|| NO_PLACEMENT.to_string()),
            frontier,
        };
        couple.name = name.unwrap_or_else(|| match (known, couple.frontier.is_some()) {
            (Some(info), false) => info.name.to_string(),
            _ => couple.to_string(),
        });
        match couples().iter().find(|info| info.name == couple.name) {
            Some(info) if !couple.is(info) => {
                Err(no_name(&couple.name, "a scheme has this name already"))
            }
            _ => Ok(couple),
        }
    }

    /// Returns `true` if its parts are those of `info`.
    fn is(&self, info: &CoupleInfo) -> bool {
        self.victim == info.victim && self.placement == info.placement && self.frontier.is_none()
    }
}

/// The couple without its name.
impl fmt::Display for Couple {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.victim)?;
        if self.placement != NO_PLACEMENT {
            write!(to, " + {}", self.placement)?;
        }
        self.frontier.as_ref().map_or(Ok(()), |frontier| write!(to, " + {frontier}"))
    }
}

const NO_PLACEMENT: &str = "none";

enum Kind {
    Placement,
    Frontier,
}

/// Returns what a part after the victim policy is. A policy in a file is a placement.
fn kind_of(part: &str) -> Option<Kind> {
    let name = part.split(':').next().unwrap_or_default();
    if frontiers().iter().any(|info| info.name == name) {
        return Some(Kind::Frontier);
    }
    let is_placement = [NO_PLACEMENT, "python", "lib"].contains(&name)
        || placement_policies().iter().any(|info| info.name == name);
    is_placement.then_some(Kind::Placement)
}

/// Returns the parts of a couple. They stand between pluses or blanks. The file of a policy
/// may have both in its name, so beside one only a plus between blanks counts.
fn parts_of(couple: &str) -> Vec<String> {
    let trimmed = couple.trim();
    if trimmed.contains("python:") || trimmed.contains("lib:") {
        return trimmed.split(" + ").map(|part| part.trim().to_string()).collect();
    }
    let parts = trimmed.split('+').flat_map(|part| {
        let mut words: Vec<_> = part.split_whitespace().map(str::to_string).collect();
        if words.is_empty() {
            words.push(String::new());
        }
        words
    });
    parts.collect()
}

fn checked_name(name: &str) -> Result<String, SpecError> {
    let name = name.trim();
    let fault = match () {
        () if name.is_empty() => "it is empty".to_string(),
        () if name.chars().any(char::is_control) => "it has a control character".to_string(),
        () if name.contains(" + ") || name.contains(',') => {
            "a comma or a plus is in it".to_string()
        }
        () if name.chars().count() > LONGEST_NAME => {
            format!("it has {} characters", name.chars().count())
        }
        () => return Ok(name.to_string()),
    };
    Err(no_name(name, &fault))
}

fn no_name(name: &str, fault: &str) -> SpecError {
    let shown: String = name.chars().filter(|each| !each.is_control()).take(LONGEST_NAME).collect();
    let message = format!("'{shown}' is no name for a scheme: {fault}");
    SpecError::new(message, format!("at most {LONGEST_NAME} characters, such as mine"))
}
