//! The meanings of the names that files give their columns.

/// The meaning of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Time,
    Op,
    /// The column is 1 for a read.
    IsRead,
    /// The column is 1 for a write.
    IsWrite,
    Offset,
    Size,
    Device,
    /// The time from the request to its answer.
    Response,
    Host,
    Stream,
}

/// The unit of a column, stated in its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Milliseconds,
    Microseconds,
    Nanoseconds,
    Bytes,
    Kibibytes,
    Sectors,
    Blocks,
    Pages,
}

impl Role {
    /// Returns two names: the word for messages, and the short name that [`column_meaning`]
    /// returns.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Time => ("time", "time"),
            Self::Op => ("operation", "op"),
            Self::IsRead => ("operation", "is_read"),
            Self::IsWrite => ("operation", "is_write"),
            Self::Offset => ("offset", "offset"),
            Self::Size => ("size", "size"),
            Self::Device => ("device", "device"),
            Self::Response => ("time until the answer", "response"),
            Self::Host => ("host", "host"),
            Self::Stream => ("stream", "stream"),
        }
    }

    /// Returns the word for messages.
    pub fn noun(self) -> &'static str {
        self.words().0
    }
}

impl Unit {
    /// Returns two names: the word for messages, and the short name that [`column_meaning`]
    /// returns.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Seconds => ("seconds", "s"),
            Self::Milliseconds => ("milliseconds", "ms"),
            Self::Microseconds => ("microseconds", "us"),
            Self::Nanoseconds => ("nanoseconds", "ns"),
            Self::Bytes => ("bytes", "bytes"),
            Self::Kibibytes => ("KiB", "KiB"),
            Self::Sectors => ("sectors of 512 bytes", "sectors"),
            Self::Blocks => ("blocks", "blocks"),
            Self::Pages => ("pages", "pages"),
        }
    }

    /// Returns the word for messages.
    pub fn plural(self) -> &'static str {
        self.words().0
    }
}

/// Returns the words of a name in lower case. The name is cut at characters other than letters and
/// digits, and before capitals.
fn words(name: &[u8]) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut small = false;
    for &byte in name {
        let cut = !byte.is_ascii_alphanumeric() || (small && byte.is_ascii_uppercase());
        if cut && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let (true, Some(word)) = (byte.is_ascii_alphanumeric(), words.last_mut()) {
            word.push(char::from(byte.to_ascii_lowercase()));
        }
        small = byte.is_ascii_lowercase() || byte.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    // A unit such as "KiB" is one word.
    while let Some(at) = words.windows(2).position(|pair| {
        pair[1] == "b" && ["k", "ki", "m", "mi", "g", "gi"].contains(&pair[0].as_str())
    }) {
        let last = words.remove(at + 1);
        words[at] += &last;
    }
    words
}

/// The words from which the meaning of a column is found. Earlier entries have priority.
const ROLES: [(Role, &[&str]); 8] = [
    (Role::Response, &["response", "latency", "duration", "answer", "elapsed", "service"]),
    (
        Role::Op,
        &[
            "op",
            "opcode",
            "type",
            "iotype",
            "operation",
            "rw",
            "rwbs",
            "cmd",
            "command",
            "action",
            "flags",
        ],
    ),
    (Role::Size, &["size", "length", "len", "nbytes", "nsectors"]),
    (Role::Offset, &["offset", "lba", "lbn", "address", "addr", "blkno", "position", "off"]),
    (
        Role::Device,
        &["dev", "device", "disk", "lun", "volume", "vol", "asu", "drive", "major", "minor"],
    ),
    (Role::Time, &["time", "timestamp", "ts"]),
    (Role::Stream, &["stream", "streams"]),
    (Role::Host, &["host", "hostname", "server"]),
];

const UNITS: [(Unit, &[&str]); 9] = [
    (Unit::Seconds, &["s", "sec", "secs", "second", "seconds"]),
    (Unit::Milliseconds, &["ms", "msec", "millisecond", "milliseconds"]),
    (Unit::Microseconds, &["us", "usec", "microsecond", "microseconds"]),
    (Unit::Nanoseconds, &["ns", "nsec", "nanosecond", "nanoseconds"]),
    (Unit::Bytes, &["b", "byte", "bytes", "nbytes"]),
    (Unit::Kibibytes, &["kib", "kibibytes"]),
    (Unit::Sectors, &["sector", "sectors", "nsectors"]),
    (Unit::Blocks, &["block", "blocks"]),
    (Unit::Pages, &["page", "pages"]),
];

/// Returns the meaning and the unit that a column's name states.
pub(crate) fn meaning(name: &[u8]) -> Option<(Role, Option<Unit>)> {
    let words = words(name);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let mut units = UNITS.iter().filter(|(_, known)| has(known)).map(|(unit, _)| *unit);
    // If the name has a number, as in "512 B blocks", or a second unit, the unit is not clear.
    let number = words.iter().any(|word| word.starts_with(|letter: char| letter.is_ascii_digit()));
    let unit = units.next().filter(|_| !number && units.next().is_none());
    if has(&["is"]) || words.len() == 1 {
        for (role, known) in
            [(Role::IsRead, ["read", "isread"]), (Role::IsWrite, ["write", "iswrite"])]
        {
            if has(&known) {
                return Some((role, None));
            }
        }
    }
    if let Some((role, _)) = ROLES.iter().find(|(_, known)| has(known)) {
        return Some((*role, unit));
    }
    match words.as_slice() {
        [word] if matches!(word.as_str(), "sector" | "block") => Some((Role::Offset, unit)),
        [word] if matches!(word.as_str(), "sectors" | "blocks" | "bytes" | "pages") => {
            Some((Role::Size, unit))
        }
        _ => None,
    }
}

/// Returns the meaning and the unit that a column's name states, as texts:
/// `("offset", Some("bytes"))`.
pub fn column_meaning(name: &str) -> Option<(&'static str, Option<&'static str>)> {
    let (role, unit) = meaning(name.as_bytes())?;
    Some((role.words().1, unit.map(|unit| unit.words().1)))
}

/// Returns a field without the blanks, quotes and comment sign around it.
pub(crate) fn bare(field: &[u8]) -> &[u8] {
    let field = field.trim_ascii();
    let field = field.strip_prefix(b"#").map_or(field, <[u8]>::trim_ascii);
    let inside = field.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\""));
    inside.unwrap_or(field).trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_subject_and_a_unit_in_any_spelling() {
        let cases: [(&str, Role, Option<Unit>); 18] = [
            ("Offset [KiB]", Role::Offset, Some(Unit::Kibibytes)),
            ("Size (MB)", Role::Size, None),
            ("offset_512B_blocks", Role::Offset, None),
            ("offset (bytes or sectors)", Role::Offset, None),
            ("time_us", Role::Time, Some(Unit::Microseconds)),
            ("Time (ms)", Role::Time, Some(Unit::Milliseconds)),
            ("Timestamp", Role::Time, None),
            ("ResponseTime", Role::Response, None),
            ("offset_bytes", Role::Offset, Some(Unit::Bytes)),
            ("Sector", Role::Offset, Some(Unit::Sectors)),
            ("sectors", Role::Size, Some(Unit::Sectors)),
            ("size [sectors]", Role::Size, Some(Unit::Sectors)),
            ("IOType", Role::Op, None),
            ("is_read", Role::IsRead, None),
            ("IsWrite", Role::IsWrite, None),
            ("DiskNumber", Role::Device, None),
            ("VolumeID", Role::Device, None),
            ("LUN", Role::Device, None),
        ];
        for (name, role, unit) in cases {
            assert_eq!(meaning(name.as_bytes()), Some((role, unit)), "{name}");
        }
        assert_eq!(meaning(b"fruit"), None);
    }
}
