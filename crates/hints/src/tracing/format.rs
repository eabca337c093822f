//! The kernel's description of a tracepoint: its number, the offsets of its fields, and the values
//! of its flags.

use std::fs;

use super::{FollowError, tracefs};

/// The description of one tracepoint by this kernel.
#[derive(Debug)]
pub(crate) struct Format {
    name: &'static str,
    pub(crate) id: u16,
    text: String,
}

/// The offset and the size of a number in an event, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    offset: usize,
    size: usize,
}

impl Format {
    /// Reads the format of `name`, for example `block/block_dirty_buffer`.
    pub(crate) fn read(name: &'static str) -> Result<Self, FollowError> {
        let text = fs::read_to_string(tracefs::root()?.join("events").join(name).join("format"));
        let text = text.map_err(|source| FollowError::Io {
            what: format!("tracepoint {name}"),
            source,
            hint: "a kernel without the file system has none of its tracepoints",
        })?;
        Self::parse(name, text)
    }

    fn parse(name: &'static str, text: String) -> Result<Self, FollowError> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:")?.trim().parse().ok());
        match id {
            Some(id) => Ok(Self { name, id, text }),
            None => Err(missing(name, "ID")),
        }
    }

    /// Returns the place of the field `field`. It is an error if there is no such field, or if it
    /// is a number of more than 8 bytes. A text such as `rwbs[10]` is named without its length, and
    /// only its first 8 bytes are read.
    pub(crate) fn field(&self, field: &'static str) -> Result<Field, FollowError> {
        let entry = self.text.lines().find_map(|line| {
            let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
            let declared = parts.next()?.rsplit(' ').next()?;
            let is_text = declared.split_once('[').is_some_and(|(name, _)| name == field);
            let number = |part: Option<&str>, key| part?.strip_prefix(key)?.parse::<usize>().ok();
            let (offset, size) = (number(parts.next(), "offset:")?, number(parts.next(), "size:")?);
            let size = if is_text { size.min(8) } else { size };
            (declared == field || is_text).then_some(Field { offset, size })
        });
        entry.filter(|field| field.size <= 8).ok_or_else(|| missing(self.name, field))
    }

    /// Returns the value that the kernel prints as `word`, such as 16 for `{ (1 << 4), "DIRECT" }`.
    pub(crate) fn value(&self, word: &'static str) -> Result<u64, FollowError> {
        let quoted = format!(", \"{word}\" }}");
        let entry = self.text.split_once(&quoted).and_then(|(before, _)| {
            let written = before.rsplit('{').next()?.trim().trim_matches(['(', ')']);
            let (unit, shift) = written.split_once("<<").unwrap_or((written, "0"));
            let unit: u64 = unit.trim().trim_end_matches('U').parse().ok()?;
            Some(unit << shift.trim().parse::<u32>().ok().filter(|&shift| shift < 64)?)
        });
        entry.ok_or_else(|| missing(self.name, word))
    }
}

impl Field {
    /// Returns the field's value in `event`, or 0 if the event is too short.
    pub(crate) fn of(self, event: &[u8]) -> u64 {
        let mut bytes = [0; 8];
        if let Some(entry) = event.get(self.offset..self.offset + self.size) {
            bytes[..self.size].copy_from_slice(entry);
        }
        u64::from_le_bytes(bytes)
    }
}

fn missing(name: &'static str, missing: &'static str) -> FollowError {
    FollowError::Tracepoint {
        name,
        missing,
        hint: "xfs needs Linux 6.15 or later, ext4 any of today",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The description by Linux 6.18, shortened.
    const ITER: &str = "name: iomap_iter\nID: 1136\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:loff_t pos;\toffset:24;\tsize:8;\tsigned:1;\n\
        \tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n\n\
        print fmt: \"%s\", __print_flags(REC->flags, \"|\", { (1 << 0), \"WRITE\" }, { (1U << 4), \
        \"DIRECT\" }), __print_symbolic(REC->type, { 0, \"HOLE\" }, { 2, \"MAPPED\" })";

    #[test]
    fn fields_are_where_the_kernel_says_they_are() {
        let format = Format::parse("iomap/iomap_iter", ITER.into()).unwrap();
        assert_eq!(format.id, 1136);
        let mut event = [0; 32];
        event[4..8].copy_from_slice(&77_u32.to_le_bytes());
        event[24..].copy_from_slice(&0x1234_5678_9abc_u64.to_le_bytes());
        assert_eq!(format.field("common_pid").unwrap().of(&event), 77);
        assert_eq!(format.field("pos").unwrap().of(&event), 0x1234_5678_9abc);
        assert_eq!(format.field("pos").unwrap().of(&event[..30]), 0);
        let mut event = [0; 44];
        event[34..37].copy_from_slice(b"WFS");
        let text = format.field("rwbs").unwrap().of(&event);
        assert_eq!(text.to_le_bytes(), *b"WFS\0\0\0\0\0");
    }

    #[test]
    fn words_have_the_values_that_the_kernel_prints_them_for() {
        let format = Format::parse("iomap/iomap_iter", ITER.into()).unwrap();
        let values = ["WRITE", "DIRECT", "HOLE", "MAPPED"].map(|word| format.value(word).unwrap());
        assert_eq!(values, [1, 16, 0, 2]);
    }

    #[test]
    fn what_a_kernel_lacks_is_named() {
        let format = Format::parse("iomap/iomap_iter", ITER.into()).unwrap();
        let error = format.field("status").unwrap_err().to_string();
        assert!(
            error.starts_with("this kernel's tracepoint iomap/iomap_iter has no status"),
            "{error}"
        );
        assert!(format.value("ZERO").is_err());
        assert!(format.field("rwbs[10]").is_err(), "a text is no number");
        assert!(format.field("rwb").is_err());
    }
}
