//! The notation of single settings of a timed drive: windows, preemption, suspension, power, idle
//! collections, scheduling and units.

use flashgc_base::refuse_if;
use flashgc_base::spec::{SpecError, suggest};
use flashgc_workload::units::Quantity;

use super::notation::{Threshold, parts, time};
use super::settings::{Counted, Preemption, Scheduling, Superblock, Suspend, Unit};

/// The window of time that a timeline shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// A fixed window, in nanoseconds since the start.
    Fixed {
        /// The begin of the window.
        from_ns: u64,
        /// The end of the window.
        to_ns: u64,
    },
    /// The window around the end of the slowest request: nine tenths of it before, one tenth after.
    Worst {
        /// The length of the window, in nanoseconds.
        length_ns: u64,
    },
}

/// The default length of the window around the slowest request, in nanoseconds.
const WORST_NS: u64 = 50_000_000;

/// Reads `0ms:50ms`, `worst` or `worst:50ms`.
///
/// # Errors
/// The text is neither two times in order, nor `worst`, nor `worst` with a length above 0.
pub fn parse_window(text: &str) -> Result<Window, SpecError> {
    let form = "write 0ms:50ms, worst or worst:50ms";
    let read = |text: &str| Ok(Quantity::Time.parse("window", text.trim(), form)?.round() as u64);
    if text.trim() == "worst" {
        return Ok(Window::Worst { length_ns: WORST_NS });
    }
    if let Some(length) = text.trim().strip_prefix("worst:") {
        return match read(length)? {
            0 => Err(SpecError::new(format!("window: '{text}' has no length"), form)),
            length_ns => Ok(Window::Worst { length_ns }),
        };
    }
    let Some((from, to)) = text.split_once(':') else {
        return Err(SpecError::new(format!("window: '{text}' is not two times"), form));
    };
    let (from_ns, to_ns) = (read(from)?, read(to)?);
    refuse_if!(from_ns >= to_ns, form, "window: '{text}' ends before it begins");
    Ok(Window::Fixed { from_ns, to_ns })
}

/// The values of [`parse_preemption`] for help texts.
pub const PREEMPTIONS: [&str; 7] = [
    "none",
    "pgc",
    "pgc+merge",
    "pgc+pipeline",
    "pgc+merge+pipeline",
    "pgc+merge+pipeline+erase-suspend",
    "suspend",
];

/// Reads the rule of preemption. `none`: no preemption. `pgc`: the host goes first between the
/// flash operations of a collection; `+merge`, `+pipeline` and `+erase-suspend` may be added.
/// `suspend`: as `pgc`, and programs and erases are suspended, as today's flash can. Returns the
/// rule, `true` if erases are suspended, and `true` if programs are.
///
/// # Errors
/// A word is unknown, or follows `none` or `suspend`.
pub fn parse_preemption(text: &str) -> Result<(Preemption, bool, bool), SpecError> {
    let fault = |word: &str| {
        let known = ["none", "pgc", "merge", "pipeline", "erase-suspend", "suspend"];
        SpecError::new(
            format!("preemption: found '{word}' in '{text}', expected {}", PREEMPTIONS.join(", ")),
            suggest(word, known),
        )
    };
    let mut words = text.split('+').map(str::trim);
    let semi = |merge, pipeline| Preemption::Semi { merge, pipeline };
    match words.next().unwrap_or_default() {
        "none" => match words.next() {
            None => Ok((Preemption::None, false, false)),
            Some(word) => Err(fault(word)),
        },
        "suspend" => match words.next() {
            None => Ok((semi(false, false), true, true)),
            Some(word) => Err(fault(word)),
        },
        "pgc" => {
            let (mut merge, mut pipeline, mut erase) = (false, false, false);
            for word in words {
                match word {
                    "merge" => merge = true,
                    "pipeline" => pipeline = true,
                    "erase-suspend" => erase = true,
                    _ => return Err(fault(word)),
                }
            }
            Ok((semi(merge, pipeline), erase, false))
        }
        word => Err(fault(word)),
    }
}

const COUNTED: [(&str, Counted); 2] =
    [("suspensions", Counted::Suspensions), ("requests", Counted::Requests)];

/// The default of the longest time for which an operation is suspended, in nanoseconds.
const LONGEST_NS: u64 = 5_000_000;

/// Reads the rule of suspension: `20us`, or `suspend=20us,resume=0us,most=8,longest=5ms,
/// counted=suspensions,least-erase=700us,least-program=100us`. The fields `erase` and `program`
/// stay `false`. With `counted=requests`, there is no longest time unless it is given.
///
/// # Errors
/// A key is unknown, or a value has no unit or is out of range.
pub fn parse_suspend(text: &str) -> Result<Suspend, SpecError> {
    let known = ["suspend", "resume", "most", "longest", "counted", "least-erase", "least-program"];
    let counted = Counted::Suspensions;
    let mut suspend = Suspend { suspend_ns: 20_000, counted, ..Suspend::NEVER };
    let mut longest_ns = None;
    for (key, value) in parts("suspend", text, "suspend", &known)? {
        match key {
            "suspend" => suspend.suspend_ns = time(key, value)?,
            "resume" => suspend.resume_ns = time(key, value)?,
            "least-erase" => suspend.least_erase_ns = time(key, value)?,
            "least-program" => suspend.least_program_ns = time(key, value)?,
            "longest" => {
                let longest = time(key, value)?;
                refuse_if!(
                    longest == 0,
                    "longest=5ms, or preemption=pgc, which suspends nothing",
                    "suspend: longest={value} lets nothing be suspended"
                );
                longest_ns = Some(longest);
            }
            "counted" => suspend.counted = choose("suspend: counted", value, &COUNTED)?,
            _ => {
                suspend.most = value.parse().ok().filter(|most| *most > 0).ok_or_else(|| {
                    SpecError::new(
                        format!("suspend: most={value} is not a number of at least 1"),
                        "the largest number of suspensions of one operation, for example most=8",
                    )
                })?;
            }
        }
    }
    suspend.longest_ns = longest_ns.unwrap_or(match suspend.counted {
        Counted::Suspensions => LONGEST_NS,
        Counted::Requests => suspend.longest_ns,
    });
    Ok(suspend)
}

/// Reads the rule of idle collections, such as `below=10%,after=1ms`. Returns the threshold, and
/// the idle time in nanoseconds.
///
/// # Errors
/// A key is unknown, the threshold is missing, or the time has no unit.
pub fn parse_idle(text: &str) -> Result<(Threshold, u64), SpecError> {
    let (mut below, mut after) = (None, None);
    for (key, value) in parts("idle", text, "below", &["below", "after"])? {
        match key {
            "below" => below = Some(Threshold::parse("below", value)?),
            _ => after = Some(time("after", value)?),
        }
    }
    let below = below.ok_or_else(|| {
        SpecError::new(format!("idle: 'below' is missing in '{text}'"), "write below=10%,after=1ms")
    })?;
    Ok((below, after.unwrap_or(0)))
}

/// Reads the limit of a drive's power, such as `dies=8`: the largest number of dies that program or
/// erase at a time.
///
/// # Errors
/// A key is unknown, or the value is not a number of at least 1.
pub fn parse_power_limit(text: &str) -> Result<u32, SpecError> {
    let entries = parts("power_limit", text, "dies", &["dies"])?;
    let value = entries.first().map_or("", |&(_, value)| value);
    value.parse().ok().filter(|&dies| dies > 0).ok_or_else(|| {
        let fault = format!("power_limit: dies={value} is not a number of at least 1");
        SpecError::new(fault, "write dies=8")
    })
}

const SCHEDULINGS: [(&str, Scheduling); 2] =
    [("fifo", Scheduling::Fifo), ("reads-first", Scheduling::ReadsFirst)];

/// Returns the words of [`parse_scheduling`].
pub fn scheduling_words() -> Vec<&'static str> {
    words_of(&SCHEDULINGS)
}

/// Reads the order in which a die serves its operations.
///
/// # Errors
/// The word is unknown.
pub fn parse_scheduling(text: &str) -> Result<Scheduling, SpecError> {
    choose("scheduling", text, &SCHEDULINGS)
}

const UNITS: [(&str, Unit); 4] = [
    ("plane", Unit::Plane),
    ("die", Unit::Die),
    ("channel", Unit::Channel),
    ("drive", Unit::Drive),
];

/// Returns the words of [`parse_unit`].
pub fn unit_words() -> Vec<&'static str> {
    words_of(&UNITS)
}

/// Reads the size of a unit, which the options call GC domain.
///
/// # Errors
/// The word is unknown.
pub fn parse_unit(text: &str) -> Result<Unit, SpecError> {
    choose("GC domain", text, &UNITS)
}

const SUPERBLOCKS: [(&str, Superblock); 2] =
    [("plane", Superblock::Plane), ("die", Superblock::Die)];

/// Returns the words of [`parse_superblock`].
pub fn superblock_words() -> Vec<&'static str> {
    words_of(&SUPERBLOCKS)
}

/// The most blocks of a superblock: each has a page at least, and a superblock has 2^24 at most.
const MOST_TOGETHER: u32 = 1 << 23;

/// Reads the size of a superblock: a word, or `dies=16,planes=4`.
///
/// # Errors
/// The word is unknown, or a number is 0 or too large.
pub fn parse_superblock(text: &str) -> Result<Superblock, SpecError> {
    if !text.contains('=') {
        return choose("superblock", text, &SUPERBLOCKS);
    }
    let (mut dies, mut planes) = (1, 1);
    for (key, value) in parts("superblock", text, "dies", &["dies", "planes"])? {
        let number = value.parse().ok().filter(|number| (1..=MOST_TOGETHER).contains(number));
        let number = number.ok_or_else(|| {
            SpecError::new(
                format!("superblock: {key}={value}, expected 1 to {MOST_TOGETHER}"),
                "write superblock=dies=16,planes=4",
            )
        })?;
        *(if key == "dies" { &mut dies } else { &mut planes }) = number;
    }
    Ok(Superblock::Of { dies, planes })
}

fn words_of<T>(words: &[(&'static str, T)]) -> Vec<&'static str> {
    words.iter().map(|(word, _)| *word).collect()
}

fn choose<T: Copy>(what: &str, text: &str, words: &[(&'static str, T)]) -> Result<T, SpecError> {
    let entry = words.iter().find(|(word, _)| *word == text);
    entry.map(|(_, value)| *value).ok_or_else(|| {
        let known = words_of(words);
        let message = format!("{what}: found '{text}', expected {}", known.join(", "));
        SpecError::new(message, suggest(text, known))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preemption_is_read_word_by_word() {
        let semi = |merge, pipeline| Preemption::Semi { merge, pipeline };
        let read = |text| parse_preemption(text).unwrap();
        assert_eq!(read("none"), (Preemption::None, false, false));
        assert_eq!(read("pgc"), (semi(false, false), false, false));
        assert_eq!(read("pgc+merge"), (semi(true, false), false, false));
        assert_eq!(read("pgc+pipeline+merge"), (semi(true, true), false, false));
        assert_eq!(read("pgc+erase-suspend"), (semi(false, false), true, false));
        assert_eq!(read("suspend"), (semi(false, false), true, true));
        assert!(PREEMPTIONS.iter().all(|text| parse_preemption(text).is_ok()));
        for text in ["", "npgc", "none+merge", "pgc+mrege", "suspend+merge"] {
            let error = parse_preemption(text).unwrap_err().to_string();
            assert!(error.contains("expected none, pgc, pgc+merge"), "{error}");
        }
        let error = parse_preemption("pgc+mrege").unwrap_err().to_string();
        assert!(error.ends_with("did you mean 'merge'?"), "{error}");
    }

    #[test]
    fn suspending_takes_what_is_written() {
        let read = parse_suspend("30us,most=3,least-erase=700us").unwrap();
        let expected =
            Suspend { suspend_ns: 30_000, most: 3, least_erase_ns: 700_000, ..Suspend::NEVER };
        let of_time = Suspend { longest_ns: 5_000_000, counted: Counted::Suspensions, ..expected };
        assert_eq!(read, of_time);
        assert_eq!(parse_suspend("20us,longest=1ms").unwrap().longest_ns, 1_000_000);
        let refused = parse_suspend("20us,longest=0us").unwrap_err().to_string();
        assert!(refused.contains("lets nothing be suspended"), "{refused}");
        let earlier = parse_suspend("30us,most=3,least-erase=700us,counted=requests").unwrap();
        assert_eq!(earlier, expected);
        let earlier = parse_suspend("30us,counted=requests,longest=2ms").unwrap();
        assert_eq!((earlier.counted, earlier.longest_ns), (Counted::Requests, 2_000_000));
        let error = |text| parse_suspend(text).unwrap_err().to_string();
        assert!(error("20us,mots=3").ends_with("did you mean 'most'?"));
        assert!(error("20us,most=0").contains("most=0 is not a number of at least 1"));
        assert!(error("20").contains("suspend=20 has no unit"));
    }

    #[test]
    fn windows_are_two_times() {
        let fixed = Window::Fixed { from_ns: 1_000_000, to_ns: 2_500_000 };
        assert_eq!(parse_window("1ms:2.5ms"), Ok(fixed));
        assert_eq!(parse_window("worst"), Ok(Window::Worst { length_ns: 50_000_000 }));
        assert_eq!(parse_window("worst:2us"), Ok(Window::Worst { length_ns: 2000 }));
        assert!(parse_window("worst:0s").unwrap_err().to_string().contains("has no length"));
        assert!(parse_window("5ms:1ms").unwrap_err().to_string().contains("ends before it begins"));
        assert!(parse_window("5ms").unwrap_err().to_string().contains("is not two times"));
    }
}
