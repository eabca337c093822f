//! The model of a fuzzed drive: the versions that each page may have, now and after a crash.

use std::ops::Range;

use super::super::oracle::Version;

/// A version that a page may have, and `true` if its data may be damaged by now.
#[derive(Clone, Copy, Debug)]
struct Held {
    version: Version,
    is_damaged: bool,
}

impl Held {
    fn new(version: Version) -> Self {
        Self { version, is_damaged: false }
    }
}

#[derive(Clone, Debug)]
struct Page {
    /// The versions that the running drive may return: one, or two after a command that failed.
    live: Vec<Held>,
    /// The versions that a crash may leave: the durable one and all later ones.
    kept: Vec<Held>,
    /// The versions that a crash may leave on a damaged medium: the last one that the medium says
    /// to be durable, and all later ones.
    proved: Vec<Held>,
    /// Every version that the page ever had.
    ever: Vec<Version>,
}

/// The model of all pages. Version 0 stands for a page without data.
pub(super) struct Pages {
    pages: Vec<Page>,
    /// `true` if a page was written since the last flush. Then the journal block of the next flush
    /// says that the data of the last flush are durable.
    has_written: bool,
}

impl Pages {
    pub(super) fn new(count: u32) -> Self {
        let empty = Held::new(0);
        let (live, kept, proved) = (vec![empty], vec![empty], vec![empty]);
        let page = Page { live, kept, proved, ever: vec![0] };
        Self { pages: vec![page; count as usize], has_written: false }
    }

    fn part(&mut self, range: Range<u32>) -> &mut [Page] {
        &mut self.pages[range.start as usize..range.end as usize]
    }

    /// Notes that a command gave the pages this version. `durable` is true if the version survives
    /// a crash.
    pub(super) fn wrote(&mut self, range: Range<u32>, version: Version, durable: bool) {
        self.has_written |= version != 0;
        for page in self.part(range.clone()) {
            page.live = vec![Held::new(version)];
            page.kept.push(Held::new(version));
            page.proved.push(Held::new(version));
            page.ever.push(version);
        }
        if durable {
            self.prove_kept();
            self.part(range).iter_mut().for_each(|page| page.kept = vec![Held::new(version)]);
        }
    }

    /// Notes that a flush or a write with FUA has ended. If it wrote a journal block, that block
    /// says that the data of the flush before are durable.
    fn prove_kept(&mut self) {
        if std::mem::take(&mut self.has_written) {
            self.pages.iter_mut().for_each(|page| page.proved.clone_from(&page.kept));
        }
    }

    /// Notes the failure of a command that should have given the pages this version. Each page may
    /// have the version or not.
    pub(super) fn tried(&mut self, range: Range<u32>, version: Version) {
        for page in self.part(range) {
            page.live.push(Held::new(version));
            page.kept.push(Held::new(version));
            page.proved.push(Held::new(version));
            page.ever.push(version);
        }
    }

    /// Notes that all completed commands are durable.
    pub(super) fn flushed(&mut self) {
        self.prove_kept();
        self.pages.iter_mut().for_each(|page| page.kept.clone_from(&page.live));
    }

    /// Notes that the process of the drive has ended, and that the host goes on: all acknowledged
    /// writes must be there.
    pub(super) fn outlived(&mut self) {
        self.pages.iter_mut().for_each(|page| page.kept.clone_from(&page.live));
    }

    /// Notes that all completed commands are durable, and that the medium says so.
    pub(super) fn vouched(&mut self) {
        for page in &mut self.pages {
            page.kept.clone_from(&page.live);
            page.proved.clone_from(&page.live);
        }
        self.has_written = false;
    }

    /// Returns the version of `page`; `None` if it is not certain after a failed command or damage.
    pub(super) fn certain(&self, page: u32) -> Option<Version> {
        match self.pages[page as usize].live[..] {
            [Held { version, is_damaged: false }] => Some(version),
            _ => None,
        }
    }

    /// Notes that any page may be damaged by now.
    pub(super) fn damaged(&mut self) {
        for page in &mut self.pages {
            let all = page.live.iter_mut().chain(&mut page.kept).chain(&mut page.proved);
            all.for_each(|held| held.is_damaged = true);
        }
    }

    /// Checks that the running drive may return this version of `page`; `None` is a media error.
    pub(super) fn judge(&self, page: u32, version: Option<Version>) -> Result<(), String> {
        may(&self.pages[page as usize].live, page, version)
    }

    /// Checks that `page` may have this version after a crash.
    pub(super) fn kept(&self, page: u32, version: Version) -> Result<(), String> {
        may(&self.pages[page as usize].kept, page, Some(version))
    }

    /// Checks that `page` may have this version after a crash of a damaged medium.
    pub(super) fn proved(&self, page: u32, version: Version) -> Result<(), String> {
        may(&self.pages[page as usize].proved, page, Some(version))
    }

    /// Checks that `page` may have this version after a crash (`None` is a media error). It is the
    /// page's version from now on.
    pub(super) fn judge_after_crash(
        &mut self,
        page: u32,
        version: Option<Version>,
    ) -> Result<(), String> {
        may(&self.pages[page as usize].kept, page, version)?;
        self.settle(page, version);
        Ok(())
    }

    /// Sets the version that `page` has from now on.
    pub(super) fn settle(&mut self, page: u32, version: Option<Version>) {
        let page = &mut self.pages[page as usize];
        match version {
            Some(version) => {
                let was = page.proved.iter().rfind(|held| held.version == version);
                let held = was.copied().unwrap_or(Held { version, is_damaged: true });
                page.live = vec![held];
            }
            None => {
                page.live.clone_from(&page.kept);
                page.live.iter_mut().for_each(|held| held.is_damaged = true);
            }
        }
        page.kept.clone_from(&page.live);
        page.proved.clone_from(&page.live);
        self.has_written = false;
    }

    /// Checks that `page` ever had this version.
    pub(super) fn knows(&self, page: u32, version: Version) -> Result<(), String> {
        match self.pages[page as usize].ever.contains(&version) {
            true => Ok(()),
            false => Err(format!("page {page} holds version {version}, which it never had")),
        }
    }
}

fn may(held: &[Held], page: u32, version: Option<Version>) -> Result<(), String> {
    let fits = |held: &Held| version.map_or(held.is_damaged, |version| held.version == version);
    if held.iter().any(fits) {
        return Ok(());
    }
    let expected: Vec<Version> = held.iter().map(|held| held.version).collect();
    match version {
        Some(version) => {
            Err(format!("page {page} holds version {version}, expected one of {expected:?}"))
        }
        None => Err(format!("page {page} is a media error, expected one of {expected:?}")),
    }
}
