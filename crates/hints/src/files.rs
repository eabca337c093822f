//! The streams of writes to a file system, by the files whose pages they write.
//!
//! The kernel says which blocks a file gets before it writes them, so whoever is asked to write a page can know
//! its file. Somebody else says which stream a file has, since names are not among the kernel's events here.
//!
//! A block is a page of the drive. A file keeps its stream as long as its inode lives; pages keep their file until
//! their blocks are freed or given to another one.

use std::collections::HashMap;

/// Stands for no stream.
pub const NO_STREAM: u8 = u8::MAX;

/// Stands for no file in the table of pages.
const NO_FILE: u32 = u32::MAX;

/// A file: the number of its inode, and how many files had that inode before, since this was followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct File {
    /// The number of the inode.
    pub inode: u64,
    /// The number of files that had the inode before.
    pub life: u32,
}

/// The files and faults so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileCounts {
    /// The files with a stream.
    pub files: u64,
    /// The files whose streams were not told in time. Their pages were written without one until they were.
    pub late: u64,
    /// The events that the kernel lost. Pages may have had the stream of another file since.
    pub lost: u64,
}

/// The knowledge of a file's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// It was not told yet.
    NotYet,
    /// It was waited for and did not come.
    Late,
    Stream(u8),
}

/// The files of the pages of a drive.
#[derive(Debug)]
pub struct Files {
    /// The file of each page by its number in `files`, and the time since when it has the page.
    owners: Vec<(u32, u64)>,
    files: Vec<Known>,
    numbers: HashMap<File, u32>,
    /// The number of files that each inode had.
    lives: HashMap<u64, u32>,
    /// `true` if files are followed from the moment when they are made. Then older ones are known to nobody.
    from_making: bool,
    lost: u64,
}

impl Files {
    /// Returns those of a drive of `pages` pages, none of which has a file. With `from_making` an inode's number
    /// [goes on](Self::next) when a file is made, as on ext4, and otherwise when the one before is gone, as on xfs.
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

    /// Notes the stream of a file; [`NO_STREAM`] is none.
    pub fn told(&mut self, file: File, stream: u8) {
        let number = self.number(file);
        self.files[number as usize] = Known::Stream(stream);
    }

    /// The number of an inode belongs to the next file from now on.
    pub fn next(&mut self, inode: u64) {
        *self.lives.entry(inode).or_default() += 1;
    }

    /// An inode has these blocks since `time`.
    pub fn allocated(&mut self, time: u64, inode: u64, (block, count): (u64, u64)) {
        let lives = self.lives.get(&inode).copied().unwrap_or_default();
        let life = if self.from_making { lives.checked_sub(1) } else { Some(lives) };
        let number = life.map_or(NO_FILE, |life| self.number(File { inode, life }));
        self.give(time, (block, count), number);
    }

    /// These blocks are no file's since `time`.
    pub fn freed(&mut self, time: u64, blocks: (u64, u64)) {
        self.give(time, blocks, NO_FILE);
    }

    /// Events were lost.
    pub fn lost(&mut self, events: u64) {
        self.lost += events;
    }

    /// Events of two CPUs may come in the wrong order: the later one holds.
    fn give(&mut self, time: u64, (block, count): (u64, u64), number: u32) {
        let end = block.saturating_add(count).min(self.owners.len() as u64);
        let blocks = self.owners.get_mut(block.min(end) as usize..end as usize);
        for owner in blocks.into_iter().flatten().filter(|owner| owner.1 <= time) {
            *owner = (number, time);
        }
    }

    /// Returns the streams of `count` pages from `page` on: none if no page has one, one if it is that of all
    /// pages, or that of each. `None` if the stream of a file among them was not told yet.
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

    /// Waits no longer for the streams of these pages' files. They may still be told.
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

    /// The longest time that a write waits for the stream of a new file. It is waited for once a file.
    const PATIENCE: Duration = Duration::from_millis(500);

    /// The bytes of a ring. Rings are read with every write, and the kernel locks their memory.
    const RING_BYTES: usize = 256 << 10;

    /// The files of a drive in use, as the kernel's events say.
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
        /// Opens the kernel's rings for a file system, to which nothing comes yet.
        ///
        /// # Errors
        /// The kernel refuses: it wants root.
        pub fn prepare(kind: FileSystem) -> Result<Self, FollowError> {
            let follower = ExtentFollower::prepare(kind, RING_BYTES)?;
            let state = Mutex::new(State { follower, files: None });
            Ok(Self { from_making: kind == FileSystem::Ext4, state, is_known: Condvar::new() })
        }

        fn lock(&self) -> MutexGuard<'_, State> {
            self.state.lock().unwrap_or_else(PoisonError::into_inner)
        }

        /// Follows the file system on the block device with this number, whose drive has `pages` pages and begins
        /// with the bytes `head`.
        ///
        /// # Errors
        /// The kernel refuses.
        pub fn follow(&self, number: u64, pages: usize, head: &[u8]) -> Result<(), FollowError> {
            let mut state = self.lock();
            state.files = Some(Files::new(pages, self.from_making));
            state.follower.follow(number, head)
        }

        /// Notes the streams of files.
        pub fn told(&self, files: impl Iterator<Item = (File, u8)>) {
            if let Some(known) = &mut self.lock().files {
                files.for_each(|(file, stream)| known.told(file, stream));
            }
            self.is_known.notify_all();
        }

        /// Returns the streams of `count` pages from `page` on, as [`Files::streams`] does. The blocks of these
        /// pages were given to their files before this is called.
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

        /// Returns the files and faults so far; `None` while nothing is followed.
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

    /// Files that were there before have no life that anybody could name, where files are followed from their making.
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
