//! Finds the stream of a write to a file system, from the file whose pages it writes.
//!
//! The kernel reports which blocks a file gets before it writes them. So when the drive has to
//! write a page, the page's file is known. Another program says which stream a file has, since the
//! kernel's events have no file names.
//!
//! A block is a page of the drive. A file keeps its stream until its inode is freed. A page keeps
//! its file until its block is freed or allocated to another file.

use std::collections::HashMap;

/// The number that stands for no stream.
pub const NO_STREAM: u8 = u8::MAX;

/// The number that stands for no file in the table of pages.
const NO_FILE: u32 = u32::MAX;

/// A file, identified by the number of its inode and by the number of files that had the inode
/// before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct File {
    /// The number of the inode.
    pub inode: u64,
    /// The number of files that had the inode before, since the file system was followed.
    pub life: u32,
}

/// The numbers of files and faults so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileCounts {
    /// The number of files with a stream.
    pub files: u64,
    /// The number of files whose streams are still unknown although a write has waited for them.
    /// Their pages are written without a stream.
    pub late: u64,
    /// The number of events that the kernel lost. Since then pages may have been written in the
    /// stream of a wrong file.
    pub lost: u64,
}

/// The present knowledge of a file's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// The stream is not known yet.
    NotYet,
    /// A write has waited for the stream, and it did not become known in time.
    Late,
    Stream(u8),
}

/// The files of the pages of a drive.
#[derive(Debug)]
pub struct Files {
    /// For each page, the index of its file in `files`, and the time since which the file has the
    /// page.
    owners: Vec<(u32, u64)>,
    files: Vec<Known>,
    numbers: HashMap<File, u32>,
    /// The number of files that each inode had.
    lives: HashMap<u64, u32>,
    /// `true` if the entry of an inode in `lives` grows when a file is made, `false` if it grows
    /// when a file is gone. With `true`, files that were made before the start have no identity.
    from_making: bool,
    lost: u64,
}

impl Files {
    /// Returns the table for a drive of `pages` pages that have no files yet. With `from_making`,
    /// [`Files::next`] is called when a file is made, as on ext4; otherwise when the file before it
    /// is gone, as on xfs.
    pub fn new(pages: usize, from_making: bool) -> Self {
        Self {
            owners: vec![(NO_FILE, 0); pages],
            files: Vec::new(),
            numbers: HashMap::new(),
            lives: HashMap::new(),
            from_making,
            lost: 0,
        }
    }

    fn number(&mut self, file: File) -> u32 {
        *self.numbers.entry(file).or_insert_with(|| {
            self.files.push(Known::NotYet);
            self.files.len() as u32 - 1
        })
    }

    /// Sets the stream of a file; [`NO_STREAM`] for none.
    pub fn told(&mut self, file: File, stream: u8) {
        let number = self.number(file);
        self.files[number as usize] = Known::Stream(stream);
    }

    /// Notes that the inode number belongs to another file from now on.
    pub fn next(&mut self, inode: u64) {
        *self.lives.entry(inode).or_default() += 1;
    }

    /// Notes that an inode has these blocks since `time`.
    pub fn allocated(&mut self, time: u64, inode: u64, (block, count): (u64, u64)) {
        let lives = self.lives.get(&inode).copied().unwrap_or_default();
        let life = if self.from_making { lives.checked_sub(1) } else { Some(lives) };
        let number = life.map_or(NO_FILE, |life| self.number(File { inode, life }));
        self.give(time, (block, count), number);
    }

    /// Notes that these blocks belong to no file since `time`.
    pub fn freed(&mut self, time: u64, blocks: (u64, u64)) {
        self.give(time, blocks, NO_FILE);
    }

    /// Notes that events were lost.
    pub fn lost(&mut self, events: u64) {
        self.lost += events;
    }

    /// Gives blocks to a file. Events of two CPUs may arrive in the wrong order; the one with the
    /// later time counts.
    fn give(&mut self, time: u64, (block, count): (u64, u64), number: u32) {
        let end = block.saturating_add(count).min(self.owners.len() as u64);
        let blocks = self.owners.get_mut(block.min(end) as usize..end as usize);
        for owner in blocks.into_iter().flatten().filter(|owner| owner.1 <= time) {
            *owner = (number, time);
        }
    }

    /// Returns the streams of `count` pages from `page` on: an empty list if no page has a stream,
    /// one stream if all pages have the same, otherwise one for each page. Returns `None` if the
    /// stream of one of the files is not known yet.
    pub fn streams(&self, page: u64, count: u64) -> Option<Vec<u8>> {
        let mut streams = Vec::with_capacity(count as usize);
        for at in page..page + count {
            streams.push(match self.known(at) {
                Some(Known::NotYet) => return None,
                Some(Known::Stream(stream)) => stream,
                Some(Known::Late) | None => NO_STREAM,
            });
        }
        match streams.first() {
            Some(&first) if streams.iter().all(|&stream| stream == first) => {
                Some(if first == NO_STREAM { Vec::new() } else { vec![first] })
            }
            _ => Some(streams),
        }
    }

    fn known(&self, page: u64) -> Option<Known> {
        let &(number, _) = self.owners.get(page as usize)?;
        self.files.get(number as usize).copied()
    }

    /// Marks the unknown streams of these pages' files as late, so that writes wait for them no
    /// more. They may still become known.
    pub fn give_up(&mut self, page: u64, count: u64) {
        for at in page..page + count {
            let Some(&(number, _)) = self.owners.get(at as usize) else { continue };
            if let Some(known @ Known::NotYet) = self.files.get_mut(number as usize) {
                *known = Known::Late;
            }
        }
    }

    /// Returns the files and faults so far.
    pub fn found(&self) -> FileCounts {
        let count =
            |is: fn(&Known) -> bool| self.files.iter().filter(|known| is(known)).count() as u64;
        FileCounts {
            files: count(|known| matches!(known, Known::Stream(stream) if *stream != NO_STREAM)),
            late: count(|known| *known == Known::Late),
            lost: self.lost,
        }
    }
}

#[cfg(target_os = "linux")]
pub use live::Live;

#[cfg(target_os = "linux")]
mod live {
    use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
    use std::time::{Duration, Instant};

    use super::{File, FileCounts, Files};
    use crate::allocations::{Event, ExtentFollower, FileSystem};
    use crate::tracing::FollowError;

    /// The longest time that a write waits for the stream of a new file. Only the first write of a
    /// file waits.
    const PATIENCE: Duration = Duration::from_millis(500);

    /// The size of a ring in bytes. A small ring is enough, since the rings are read at every
    /// write. A large one would cost memory that the kernel cannot swap out.
    const RING_BYTES: usize = 256 << 10;

    /// The files of a drive in use, followed through the kernel's events.
    pub struct Live {
        from_making: bool,
        state: Mutex<State>,
        is_known: Condvar,
    }

    struct State {
        follower: ExtentFollower,
        files: Option<Files>,
    }

    impl Live {
        /// Opens the kernel's rings for a file system. They get no events yet.
        ///
        /// # Errors
        /// The kernel refuses, since only root may do this.
        pub fn prepare(kind: FileSystem) -> Result<Self, FollowError> {
            let follower = ExtentFollower::prepare(kind, RING_BYTES)?;
            let state = Mutex::new(State { follower, files: None });
            Ok(Self { from_making: kind == FileSystem::Ext4, state, is_known: Condvar::new() })
        }

        fn lock(&self) -> MutexGuard<'_, State> {
            self.state.lock().unwrap_or_else(PoisonError::into_inner)
        }

        /// Follows the file system on the block device with this number. The device has `pages`
        /// pages, and `head` has its first bytes.
        ///
        /// # Errors
        /// The kernel refuses.
        pub fn follow(&self, number: u64, pages: usize, head: &[u8]) -> Result<(), FollowError> {
            let mut state = self.lock();
            state.files = Some(Files::new(pages, self.from_making));
            state.follower.follow(number, head)
        }

        /// Sets the streams of files.
        pub fn told(&self, files: impl Iterator<Item = (File, u8)>) {
            if let Some(known) = &mut self.lock().files {
                files.for_each(|(file, stream)| known.told(file, stream));
            }
            self.is_known.notify_all();
        }

        /// Returns the streams of `count` pages from `page` on, as [`Files::streams`] does. It
        /// waits for unknown streams, for at most 500 ms. The files of these pages are known,
        /// since the kernel allocates blocks to a file before it writes them.
        pub fn streams(&self, page: u64, count: u64) -> Vec<u8> {
            let until = Instant::now() + PATIENCE;
            let mut state = self.lock();
            loop {
                let State { follower, files } = &mut *state;
                let Some(files) = files else { return Vec::new() };
                for (time, event) in follower.now() {
                    match event {
                        Event::Next { inode } => files.next(inode),
                        Event::Allocated { inode, block, count, is_data: true } => {
                            files.allocated(time, inode, (block, count));
                        }
                        Event::Allocated { block, count, .. } | Event::Freed { block, count } => {
                            files.freed(time, (block, count));
                        }
                        Event::Lost(events) => files.lost(events),
                    }
                }
                if let Some(streams) = files.streams(page, count) {
                    return streams;
                }
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    files.give_up(page, count);
                    continue;
                }
                let waited = self.is_known.wait_timeout(state, left);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }

        /// Returns the numbers of files and faults so far; `None` while nothing is followed.
        pub fn found(&self) -> Option<FileCounts> {
            self.lock().files.as_ref().map(Files::found)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(inode: u64, life: u32) -> File {
        File { inode, life }
    }

    #[test]
    fn pages_have_the_stream_of_their_file() {
        let mut files = Files::new(20, true);
        assert_eq!(files.streams(0, 20), Some(vec![]));
        files.next(12);
        files.allocated(5, 12, (4, 4));
        assert_eq!(files.streams(0, 4), Some(vec![]));
        assert_eq!(files.streams(3, 2), None, "nobody said which stream the file has");
        files.told(file(12, 0), 3);
        assert_eq!(files.streams(4, 4), Some(vec![3]));
        assert_eq!(files.streams(3, 3), Some(vec![NO_STREAM, 3, 3]));
        files.freed(6, (5, 1));
        assert_eq!(files.streams(4, 3), Some(vec![3, NO_STREAM, 3]));
        // Beyond the drive.
        files.allocated(7, 12, (18, 10));
        assert_eq!(files.streams(19, 3), Some(vec![3, NO_STREAM, NO_STREAM]));
        assert_eq!(files.found(), FileCounts { files: 1, late: 0, lost: 0 });
    }

    #[test]
    fn a_file_that_has_the_inode_of_one_that_is_gone_has_its_own_stream() {
        let mut files = Files::new(20, true);
        files.told(file(12, 0), 1);
        files.told(file(12, 1), 2);
        files.next(12);
        files.allocated(1, 12, (0, 2));
        files.freed(2, (0, 1)); // one block stays until the transaction ends
        files.next(12);
        files.allocated(3, 12, (10, 2));
        assert_eq!(files.streams(1, 1), Some(vec![1]));
        assert_eq!(files.streams(10, 2), Some(vec![2]));
    }

    #[test]
    fn the_later_event_holds_whichever_comes_first() {
        let mut files = Files::new(8, true);
        files.told(file(1, 0), 1);
        files.told(file(2, 0), 2);
        files.next(1);
        files.next(2);
        files.allocated(20, 2, (0, 4));
        files.allocated(10, 1, (0, 8)); // from another CPU
        assert_eq!(files.streams(0, 8), Some(vec![2, 2, 2, 2, 1, 1, 1, 1]));
    }

    #[test]
    fn a_stream_that_does_not_come_is_waited_for_once() {
        let mut files = Files::new(8, true);
        files.next(1);
        files.allocated(1, 1, (0, 8));
        assert_eq!(files.streams(0, 1), None);
        files.give_up(0, 1);
        assert_eq!(files.streams(4, 2), Some(vec![]));
        assert_eq!(files.found(), FileCounts { files: 0, late: 1, lost: 0 });
        files.told(file(1, 0), 7);
        assert_eq!(files.streams(4, 2), Some(vec![7]));
        assert_eq!(files.found(), FileCounts { files: 1, late: 0, lost: 0 });
    }

    /// With `from_making`, files from before the start cannot be identified.
    #[test]
    fn files_from_before_have_no_stream() {
        let mut files = Files::new(8, true);
        files.allocated(1, 9, (0, 8));
        assert_eq!(files.streams(0, 8), Some(vec![]));
    }

    #[test]
    fn an_inode_is_the_next_file_s_when_the_one_before_is_gone() {
        let mut files = Files::new(8, false);
        files.told(file(9, 0), 1);
        files.told(file(9, 1), 2);
        files.allocated(1, 9, (0, 4));
        files.next(9);
        files.allocated(2, 9, (4, 4));
        assert_eq!(files.streams(0, 8), Some(vec![1, 1, 1, 1, 2, 2, 2, 2]));
    }
}
