//! Pages of a device and runs of consecutive pages.

/// The size of a page in bytes.
pub const PAGE: u64 = 4096;

/// A run of consecutive pages: its first page and its length.
pub type Run = (u64, u64);

/// Returns the pages that `length` bytes from `at` on touch.
pub fn touched(at: u64, length: u64) -> std::ops::Range<u64> {
    at / PAGE..(at + length).div_ceil(PAGE)
}

/// The changes of a host's dirty pages since the last query. Runs are in order and do not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Pages that the host will soon write.
    pub dirtied: Vec<Run>,
    /// Pages that were reported as dirtied, but that the host no longer has to write.
    pub cancelled: Vec<Run>,
}

/// Returns `pages` as runs. The pages must come in order.
pub fn runs(pages: impl IntoIterator<Item = u64>) -> Vec<Run> {
    let mut runs: Vec<Run> = vec![];
    for page in pages {
        match runs.last_mut() {
            Some((first, count)) if *first + *count == page => *count += 1,
            _ => runs.push((page, 1)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_become_runs() {
        assert_eq!(runs([]), []);
        assert_eq!(runs([3, 4, 5, 7, 9]), [(3, 3), (7, 1), (9, 1)]);
        assert_eq!(touched(4095, 2), 0..2);
        assert_eq!(touched(8192, 8192), 2..4);
    }
}
