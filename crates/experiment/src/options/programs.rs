//! The option `program`: the flash pages of a word line that are programmed together, at once or in two
//! passes.

use std::fmt;

use flashgc_base::naming::choice;
use flashgc_base::spec::SpecError;

/// The text for programs of single pages.
pub(super) const PAGE: &str = "page";

/// The word for word lines that are programmed at once.
pub(super) const ONE_SHOT: &str = "one-shot";

/// The word for word lines that are programmed twice.
pub(super) const TWO_PASS: &str = "two-pass";

pub(super) fn is_page_alone(program: &str) -> bool {
    program == PAGE
}

/// The most pages of a word line: the bits of a cell.
const MOST_BITS: u32 = 8;

/// The flash pages that are programmed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Programs {
    /// The number of these pages.
    pub pages: u32,
    /// `true` if they are programmed twice.
    pub has_two_passes: bool,
}

impl Default for Programs {
    /// Each page is programmed alone.
    fn default() -> Self {
        Self { pages: 1, has_two_passes: false }
    }
}

/// Writes the text that [`parse_program`] reads.
impl fmt::Display for Programs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pages, has_two_passes } = *self;
        match (pages, has_two_passes) {
            (1, _) => f.write_str(PAGE),
            (_, false) => write!(f, "{ONE_SHOT}:pages={pages}"),
            (_, true) => write!(f, "{TWO_PASS}:pages={pages}"),
        }
    }
}

/// Reads the flash pages that are programmed together: `page`, `one-shot`, `two-pass`, or one of the
/// latter with `:pages=N`.
///
/// # Errors
/// Any other text.
pub fn parse_program(text: &str) -> Result<Programs, SpecError> {
    let (word, pages) = match text.trim().split_once(":pages=") {
        Some((word, pages)) => {
            let pages = pages.parse().ok().filter(|pages| (2..=MOST_BITS).contains(pages));
            (word, pages)
        }
        None => (text.trim(), Some(if text.trim() == TWO_PASS { 4 } else { 3 })),
    };
    let of_word = |has_two_passes| pages.map(|pages| Programs { pages, has_two_passes });
    let programs = match word {
        _ if text.trim() == PAGE => Some(Programs::default()),
        ONE_SHOT => of_word(false),
        TWO_PASS => of_word(true),
        _ => None,
    };
    programs.ok_or_else(|| {
        SpecError::new(
            format!(
                "program: found '{}', expected {PAGE}, {ONE_SHOT}, {TWO_PASS}, or one of the last two with \
                 :pages=2 to {MOST_BITS}",
                text.trim()
            ),
            choice("program", "one-shot:pages=3"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_as_it_is_written_in_full() {
        for (text, full) in [
            ("page", "page"),
            ("one-shot", "one-shot:pages=3"),
            ("two-pass", "two-pass:pages=4"),
            ("two-pass:pages=2", "two-pass:pages=2"),
        ] {
            let programs = parse_program(text).unwrap();
            assert_eq!(programs.to_string(), full);
            assert_eq!(parse_program(full).unwrap(), programs);
        }
        for wrong in ["page:pages=2", "two-pass:pages=1", "two-pass:pages=9", "three-pass", ""] {
            let error = parse_program(wrong).unwrap_err().to_string();
            assert!(error.contains("expected page, one-shot, two-pass, or one"), "{error}");
        }
    }
}
