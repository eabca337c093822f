//! The notation of a tenant: `name=db; workload=zipf; priority=urgent; space=25%`.

use std::fmt;
use std::ops::Range;

use flashgc_base::refuse_if;
use flashgc_base::spec::{SpecError, count, suggest};
use flashgc_drive::source;
use flashgc_workload::requests::{Arrivals, Space};
use flashgc_workload::units::Quantity;

/// A key of a tenant, with its texts for help and the reference.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The name of the key.
    pub name: &'static str,
    /// The name of the value in help texts.
    pub metavar: &'static str,
    /// The default, as typed or in words; empty if a value must be given.
    pub default: &'static str,
    /// An example of a value.
    pub example: &'static str,
    /// The meaning and unit, in plain sentences.
    pub help: &'static str,
    check: fn(&str) -> Result<(), SpecError>,
}

/// The keys of a tenant.
pub const KEYS: &[Key] = &[
    Key {
        name: "name",
        metavar: "NAME",
        default: "",
        example: "db",
        help: "Its name in results: letters, digits, - and _.",
        check: check_name,
    },
    Key {
        name: "workload",
        metavar: "SPEC|PATH",
        default: "",
        example: "zipf:read=0.7",
        help: "Its workload on its part of the drive: a generator, a mixture, or a trace, which begins \
               again at its end.",
        check: source::check_timed,
    },
    Key {
        name: "arrivals",
        metavar: "SPEC",
        default: "the times of a trace, or closed:threads=1",
        example: "poisson:rate=2000",
        help: "Times at which its requests arrive.",
        check: |text| Arrivals::parse(text).map(drop),
    },
    Key {
        name: "request_size",
        metavar: "SIZE",
        default: "the mapping unit",
        example: "64KiB",
        help: "Size of each request of its generator.",
        check: |text| size("request_size", text).map(drop),
    },
    Key {
        name: "queue_depth",
        metavar: "N",
        default: "that of the drive",
        example: "32",
        help: "Its requests that the drive works on at a time. Further requests wait in its queue.",
        check: |text| whole("queue_depth", text, u32::MAX).map(drop),
    },
    Key {
        name: "priority",
        metavar: "WORD",
        default: "medium",
        example: "urgent",
        help: "Priority class of NVMe: urgent goes before all others; high, medium and low share the \
               drive by the weights of arbitration.",
        check: |text| Priority::parse(text).map(drop),
    },
    Key {
        name: "weight",
        metavar: "N",
        default: "1",
        example: "3",
        help: "Requests that it may send per turn among the tenants of its class, like a host with \
               this number of queues.",
        check: |text| whole("weight", text, MOST_WEIGHT).map(drop),
    },
    Key {
        name: "space",
        metavar: "PART",
        default: "an equal share of what is left",
        example: "25%",
        help: "Its part of the logical space: a share or a size, which follows the part of the \
               tenant before it; or a range, 50%..75%.",
        check: |text| Part::parse(text).map(drop),
    },
];

const MOST_WEIGHT: u32 = 65_535;

/// The priority classes of NVMe (base specification 2.0, 3.4.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// Goes before all other classes.
    Urgent,
    /// Takes part in weighted round robin with the weight of the class `high`.
    High,
    /// Takes part in weighted round robin with the weight of the class `medium`.
    #[default]
    Medium,
    /// Takes part in weighted round robin with the weight of the class `low`.
    Low,
}

impl Priority {
    /// All classes, in the order of priority.
    pub const ALL: [Self; 4] = [Self::Urgent, Self::High, Self::Medium, Self::Low];
    const NAMES: [&'static str; 4] = ["urgent", "high", "medium", "low"];

    /// Returns the class of a name.
    ///
    /// # Errors
    /// An unknown name.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let known = Self::NAMES.iter().position(|name| *name == text);
        known.map(|place| Self::ALL[place]).ok_or_else(|| {
            SpecError::new(
                format!("found '{text}', expected urgent, high, medium or low"),
                suggest(text, Self::NAMES),
            )
        })
    }

    /// Returns the name of the class.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// The weights of the classes high, medium and low: the number of requests that each sends in a
/// round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassWeights(pub [u32; 3]);

impl ClassWeights {
    /// Reads `high=4,medium=2,low=1`; a class that is left out has the weight 1.
    ///
    /// # Errors
    /// An unknown class, or a weight outside of 1 to 256, the range of NVMe.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        const NAMES: [&str; 3] = ["high", "medium", "low"];
        let mut weights = [None; 3];
        for part in text.split(',').map(str::trim) {
            let (class, weight) = part.split_once('=').unwrap_or((part, ""));
            let Some(place) = NAMES.iter().position(|name| *name == class.trim()) else {
                return Err(SpecError::new(
                    format!("found '{class}', expected the weights of high, medium and low"),
                    "for example high=4,medium=2,low=1; urgent goes first and has no weight",
                ));
            };
            let weight = whole(NAMES[place], weight.trim(), 256)?;
            refuse_if!(
                weights[place].replace(weight).is_some(),
                "give each once",
                "'{}' is given twice in '{text}'",
                NAMES[place]
            );
        }
        Ok(Self(weights.map(|weight| weight.unwrap_or(1))))
    }
}

/// The size of a part of the drive, or a position in the drive.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Measure {
    Share(f64),
    Bytes(u64),
}

impl Measure {
    fn parse(text: &str) -> Result<Self, SpecError> {
        if let Ok(share) = text.parse::<f64>()
            && (0.0..=1.0).contains(&share)
        {
            return Ok(Self::Share(share));
        }
        let Some(digits) = text.strip_suffix('%') else {
            return size("space", text).map(Self::Bytes);
        };
        match digits.trim().parse::<f64>() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Self::Share(percent / 100.0)),
            _ => Err(SpecError::new(
                format!("space={text} is not a share from 0% to 100%"),
                "for example space=25%",
            )),
        }
    }

    fn pages(self, space: Space) -> f64 {
        match self {
            Self::Share(share) => share * f64::from(space.logical_pages),
            Self::Bytes(bytes) => bytes as f64 / f64::from(space.page_size),
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(share) => write!(f, "{}%", share * 100.0),
            Self::Bytes(bytes) => write!(f, "{}", Quantity::Size.format(*bytes as f64)),
        }
    }
}

/// A part of the drive.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    /// The part of this size after the part of the tenant before.
    Next(Measure),
    /// The part from one position to another.
    Range(Measure, Measure),
}

impl Part {
    fn parse(text: &str) -> Result<Self, SpecError> {
        let part = match text.split_once("..") {
            Some((from, to)) => {
                Self::Range(Measure::parse(from.trim())?, Measure::parse(to.trim())?)
            }
            None => Self::Next(Measure::parse(text)?),
        };
        refuse_if!(
            matches!(part, Self::Next(Measure::Share(0.0) | Measure::Bytes(0))),
            "for example space=25%",
            "space={text} is nothing"
        );
        Ok(part)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Next(measure) => write!(f, "{measure}"),
            Self::Range(from, to) => write!(f, "{from}..{to}"),
        }
    }
}

/// The settings of a tenant, with all checks that need no drive.
#[derive(Clone, Debug, PartialEq)]
pub struct TenantSpec {
    /// The name of the tenant.
    pub name: String,
    /// The spec of its workload, or the path of a trace.
    pub workload: String,
    /// The arrivals of its requests; `None` for the workload's own times.
    pub arrivals: Option<Arrivals>,
    /// The bytes of a request of its generator; `None` for the size of a page of the map.
    pub request_size: Option<u32>,
    /// The largest number of its requests that the drive works on; `None` for the queue depth of
    /// the drive.
    pub queue_depth: Option<u32>,
    /// The priority class.
    pub priority: Priority,
    /// The number of requests that the tenant may send in its turn.
    pub weight: u32,
    space: Option<Part>,
}

impl TenantSpec {
    /// Reads `key=value; key=value` with the keys of [`KEYS`].
    ///
    /// # Errors
    /// A key is unknown or given twice, a value is wrong, or the name or the workload is missing.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let mut given: Vec<(&'static str, &str)> = Vec::new();
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            let Some((key, value)) = part.split_once('=') else {
                return Err(SpecError::new(
                    format!("'{part}' is not key=value"),
                    "a tenant is written \"name=db; workload=zipf; space=50%\"",
                ));
            };
            let (name, value) = (check_key(key.trim(), value.trim())?, value.trim());
            refuse_if!(
                given.iter().any(|(earlier, _)| *earlier == name),
                "give each key once",
                "'{name}' is given twice"
            );
            given.push((name, value));
        }
        let find = |key: &str| given.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
        let needed = |key: &str, form: &str| {
            find(key).map(String::from).ok_or_else(|| {
                let whose =
                    find("name").map_or("a tenant".to_string(), |name| format!("tenant {name}"));
                SpecError::new(format!("{whose} has no {key}"), format!("write {form}"))
            })
        };
        Ok(Self {
            name: needed("name", "name=db")?,
            workload: needed("workload", "workload=zipf:read=0.7")?,
            arrivals: find("arrivals").map(Arrivals::parse).transpose()?,
            request_size: match find("request_size") {
                Some(text) => Some(size("request_size", text)? as u32),
                None => None,
            },
            queue_depth: match find("queue_depth") {
                Some(text) => Some(whole("queue_depth", text, u32::MAX)?),
                None => None,
            },
            priority: find("priority").map(Priority::parse).transpose()?.unwrap_or_default(),
            weight: find("weight").map_or(Ok(1), |text| whole("weight", text, MOST_WEIGHT))?,
            space: find("space").map(Part::parse).transpose()?,
        })
    }

    /// Returns these settings with another workload, whose spec has all parameters.
    #[must_use]
    pub fn with_workload(self, workload: String) -> Self {
        Self { workload, ..self }
    }
}

/// Writes the tenant so that [`TenantSpec::parse`] can read it. Default values are left out.
impl fmt::Display for TenantSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "name={}; workload={}", self.name, self.workload)?;
        if let Some(arrivals) = &self.arrivals {
            write!(f, "; arrivals={arrivals}")?;
        }
        if let Some(size) = self.request_size {
            write!(f, "; request_size={size}B")?;
        }
        if let Some(depth) = self.queue_depth {
            write!(f, "; queue_depth={depth}")?;
        }
        if self.priority != Priority::default() {
            write!(f, "; priority={}", self.priority.name())?;
        }
        if self.weight != 1 {
            write!(f, "; weight={}", self.weight)?;
        }
        self.space.map_or(Ok(()), |space| write!(f, "; space={space}"))
    }
}

/// Checks a key of a tenant and its value. Returns the name of the key as [`KEYS`] has it.
///
/// # Errors
/// The key is unknown or the value is wrong.
pub fn check_key(key: &str, value: &str) -> Result<&'static str, SpecError> {
    let wanted = key.replace('-', "_");
    let Some(known) = KEYS.iter().find(|known| known.name == wanted) else {
        return Err(SpecError::new(
            format!("a tenant has no key '{key}'"),
            suggest(&wanted, KEYS.iter().map(|known| known.name)),
        ));
    };
    if value.contains([';', '\n']) {
        return Err(SpecError::new(
            format!("{}: found '{value}', expected no ; in it", known.name),
            "a ; ends the value: rename the file",
        ));
    }
    (known.check)(value).map(|()| known.name)
}

fn check_name(text: &str) -> Result<(), SpecError> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if (1..=32).contains(&text.len()) && text.chars().all(is_part) {
        return Ok(());
    }
    Err(SpecError::new(
        format!("found '{text}', expected 1 to 32 letters, digits, - and _"),
        "for example name=db",
    ))
}

fn whole(name: &str, text: &str, most: u32) -> Result<u32, SpecError> {
    text.parse::<u32>().ok().filter(|value| (1..=most).contains(value)).ok_or_else(|| {
        SpecError::new(
            format!("{name}={text} is not a whole number from 1 to {most}"),
            format!("for example {name}=2"),
        )
    })
}

fn size(name: &str, text: &str) -> Result<u64, SpecError> {
    let bytes = Quantity::Size.parse(name, text, &format!("for example {name}=64KiB"))?;
    let most = if name == "request_size" { f64::from(u32::MAX) } else { f64::MAX };
    refuse_if!(
        bytes.fract() != 0.0 || bytes > most || (bytes < 1.0 && name == "request_size"),
        format!("for example {name}=64KiB"),
        "{name}={text} is not a whole number of bytes below 4GiB"
    );
    Ok(bytes as u64)
}

/// Returns the part of each tenant, in pages of a drive with the logical space `space`. Tenants
/// without a given part share the rest equally.
///
/// # Errors
/// A part ends beyond the drive, has no page, or overlaps with another part.
pub fn lay_out(specs: &[TenantSpec], space: Space) -> Result<Vec<Range<u32>>, SpecError> {
    let all = f64::from(space.logical_pages);
    let share = |spec: &TenantSpec| match spec.space {
        None => 0.0,
        Some(Part::Next(amount)) => amount.pages(space),
        Some(Part::Range(from, to)) => to.pages(space) - from.pages(space),
    };
    let open = specs.iter().filter(|spec| spec.space.is_none()).count();
    let left = all - specs.iter().map(share).sum::<f64>();
    let (mut parts, mut behind) = (Vec::<Range<u32>>::new(), 0.0);
    for spec in specs {
        let (begin, end) = match spec.space {
            Some(Part::Range(from, to)) => (from.pages(space), to.pages(space)),
            Some(Part::Next(amount)) => (behind, behind + amount.pages(space)),
            None => (behind, behind + left / open as f64),
        };
        behind = end;
        refuse_if!(
            end > all + 0.5,
            "parts of at most 100% in all",
            "tenant {}: its part ends at {} of the {} of the drive",
            spec.name,
            percent(end / all),
            count(u64::from(space.logical_pages), "page")
        );
        // Both ends are rounded, so neighbouring parts neither overlap nor leave a page out.
        let part = begin.round() as u32..(end.round() as u32).min(space.logical_pages);
        refuse_if!(
            part.is_empty(),
            "a larger space for it, or smaller ones for the others",
            "tenant {}: its part of the drive has no page",
            spec.name
        );
        let other = parts.iter().position(|other| part.start < other.end && other.start < part.end);
        if let Some(other) = other {
            return Err(SpecError::new(
                format!("the parts of tenants {} and {} overlap", specs[other].name, spec.name),
                "a part begins behind the one before it: give ranges that do not overlap, or sizes alone",
            ));
        }
        parts.push(part);
    }
    Ok(parts)
}

fn percent(share: f64) -> String {
    format!("{}%", (share * 1e4).round() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<TenantSpec, String> {
        TenantSpec::parse(text).map_err(|error| error.to_string())
    }

    fn parts(spaces: &[&str], pages: u32) -> Result<Vec<Range<u32>>, String> {
        let named = |(number, space): (usize, &&str)| {
            let space = if space.is_empty() { String::new() } else { format!("; space={space}") };
            TenantSpec::parse(&format!("name=t{number}; workload=uniform{space}")).unwrap()
        };
        let specs: Vec<TenantSpec> = spaces.iter().enumerate().map(named).collect();
        let space = Space { logical_pages: pages, page_size: 4096, request_size: 4096 };
        lay_out(&specs, space).map_err(|error| error.to_string())
    }

    #[test]
    fn a_tenant_is_read_and_written_without_its_defaults() {
        let text = "name=db; workload=hotcold:f=0.2,r=0.8; arrivals=poisson:rate=2000; queue-depth=32; \
                    priority=urgent; weight=3; space=25%";
        let spec = parsed(text).unwrap();
        assert_eq!((spec.queue_depth, spec.weight, spec.priority), (Some(32), 3, Priority::Urgent));
        assert_eq!(parsed(&spec.to_string()), Ok(spec));
        let least = parsed("workload=zipf; name=a").unwrap();
        assert_eq!(least.to_string(), "name=a; workload=zipf");
    }

    #[test]
    fn what_is_wrong_is_named_with_a_hint_that_works() {
        for (text, expected) in [
            (
                "name=a; workload=zipf; wieght=3",
                "a tenant has no key 'wieght'; hint: did you mean 'weight'?",
            ),
            ("workload=zipf", "a tenant has no name; hint: write name=db"),
            ("name=a", "tenant a has no workload; hint: write workload=zipf:read=0.7"),
            ("name=a; name=b; workload=zipf", "'name' is given twice; hint: give each key once"),
            (
                "name=a; workload=zipf; weight=0",
                "weight=0 is not a whole number from 1 to 65535; hint: for example weight=2",
            ),
            (
                "name=a; workload=zipf; priority=hihg",
                "found 'hihg', expected urgent, high, medium or low; hint: did you mean 'high'?",
            ),
            (
                "name=a b; workload=zipf",
                "found 'a b', expected 1 to 32 letters, digits, - and _; hint: for example name=db",
            ),
            (
                "db",
                "'db' is not key=value; hint: a tenant is written \"name=db; workload=zipf; space=50%\"",
            ),
        ] {
            assert_eq!(parsed(text).unwrap_err(), expected);
        }
        assert!(parsed("name=a; workload=zpif").unwrap_err().contains("did you mean 'zipf'?"));
    }

    #[test]
    fn parts_follow_each_other_and_fill_the_drive() {
        assert_eq!(parts(&["", "", ""], 100).unwrap(), [0..33, 33..67, 67..100]);
        assert_eq!(parts(&["50%", ""], 101).unwrap(), [0..51, 51..101]);
        assert_eq!(parts(&["40KiB", "", ""], 110).unwrap(), [0..10, 10..60, 60..110]);
        assert_eq!(parts(&["50%..100%", "0..25%"], 100).unwrap(), [50..100, 0..25]);
    }

    #[test]
    fn parts_beyond_the_end_and_on_each_other_are_refused() {
        assert_eq!(
            parts(&["60%", "50%"], 1000).unwrap_err(),
            "tenant t1: its part ends at 110% of the 1000 pages of the drive; hint: parts of at most 100% in all"
        );
        let error = parts(&["60%", "50%..100%"], 1000).unwrap_err();
        assert!(error.starts_with("the parts of tenants t0 and t1 overlap"), "{error}");
        let error = parts(&["100%", ""], 1000).unwrap_err();
        assert!(error.starts_with("tenant t1: its part of the drive has no page"), "{error}");
    }

    #[test]
    fn weights_of_classes_are_those_of_nvme() {
        assert_eq!(ClassWeights::parse("high=4,medium=2,low=1").unwrap().0, [4, 2, 1]);
        assert_eq!(ClassWeights::parse("low=3").unwrap().0, [1, 1, 3]);
        for text in ["urgent=2", "high=0", "high=257", "high=1,high=2", ""] {
            assert!(ClassWeights::parse(text).is_err(), "{text}");
        }
    }
}
