//! Windows of host writes, without a division at each write.

/// Tells at which host writes a window ends: at each multiple of its length.
pub(super) struct Windows {
    length: u64,
    /// The number of host writes at which the next window ends.
    next: u64,
}

impl Windows {
    /// Windows of `length` host writes, 1 or more.
    pub(super) fn new(length: u64) -> Self {
        Self { length, next: 0 }
    }

    /// Returns `true` if a window ends when the host has written `writes` pages. Asked for every
    /// number of writes, in order.
    #[inline]
    pub(super) fn ends_at(&mut self, writes: u64) -> bool {
        // `next` is 1 to `length` writes away, unless the drive is new or was set back.
        if self.next.wrapping_sub(writes).wrapping_sub(1) < self.length {
            return false;
        }
        self.next = (writes / self.length + 1) * self.length;
        writes.is_multiple_of(self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_ends_at_each_multiple_wherever_it_begins() {
        for length in [1, 2, 7, 100] {
            let mut window = Windows::new(length);
            for start in [0, 1, 99, 100, 101, 350, 3] {
                for writes in start..start + 300 {
                    assert_eq!(window.ends_at(writes), writes % length == 0, "{length} {writes}");
                }
            }
        }
    }
}
