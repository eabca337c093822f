//! The dictionary of a fuzzed drive: what each page may read as, now and after a crash.

use std::ops::Range;

use super::super::oracle::Version;

/// A version that a page may have, and whether its data may be damaged by now.
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
    /// What the running drive may return: one version, or two after a command that failed.
    live: Vec<Held>,
    /// What a crash may leave: the durable version and all since.
    kept: Vec<Held>,
    /// Every version that it was given.
    ever: Vec<Version>,
}

/// See the module's text. Version 0 is a page without data.
pub(super) struct Pages(Vec<Page>);

impl Pages {
    pub(super) fn new(count: u32) -> Self {
        let empty = Held::new(0);
        Self(vec![Page { live: vec![empty], kept: vec![empty], ever: vec![0] }; count as usize])
    }

    fn part(&mut self, range: Range<u32>) -> &mut [Page] {
        &mut self.0[range.start as usize..range.end as usize]
    }

    /// A command gave the pages this version; `durable` if it survives a crash.
    pub(super) fn wrote(&mut self, range: Range<u32>, version: Version, durable: bool) {
        for page in self.part(range) {
            page.live = vec![Held::new(version)];
            page.kept.retain(|_| !durable);
            page.kept.push(Held::new(version));
            page.ever.push(version);
        }
    }

    /// A command that would have done so failed: it may have, page by page.
    pub(super) fn tried(&mut self, range: Range<u32>, version: Version) {
        for page in self.part(range) {
            page.live.push(Held::new(version));
            page.kept.push(Held::new(version));
            page.ever.push(version);
        }
    }

    /// What was completed is durable.
    pub(super) fn flushed(&mut self) {
        self.0.iter_mut().for_each(|page| page.kept.clone_from(&page.live));
    }

    /// Any page may be damaged by now.
    pub(super) fn damaged(&mut self) {
        let all = self.0.iter_mut().flat_map(|page| page.live.iter_mut().chain(&mut page.kept));
        all.for_each(|held| held.is_damaged = true);
    }

    /// Whether the running drive may return this for `page`; `None` is a media error.
    pub(super) fn judge(&self, page: u32, found: Option<Version>) -> Result<(), String> {
        may(&self.0[page as usize].live, page, found)
    }

    /// Whether `page` may have this version after a crash.
    pub(super) fn kept(&self, page: u32, version: Version) -> Result<(), String> {
        may(&self.0[page as usize].kept, page, Some(version))
    }

    /// The same after a crash, or a media error. It is what the page holds from now on.
    pub(super) fn judge_after_crash(
        &mut self,
        page: u32,
        found: Option<Version>,
    ) -> Result<(), String> {
        may(&self.0[page as usize].kept, page, found)?;
        self.settle(page, found);
        Ok(())
    }

    /// From now on `page` holds this.
    pub(super) fn settle(&mut self, page: u32, found: Option<Version>) {
        let page = &mut self.0[page as usize];
        match found {
            Some(version) => {
                let was = page.kept.iter().find(|held| held.version == version);
                let held = was.copied().unwrap_or(Held { version, is_damaged: true });
                page.live = vec![held];
            }
            None => {
                page.live.clone_from(&page.kept);
                page.live.iter_mut().for_each(|held| held.is_damaged = true);
            }
        }
        page.kept.clone_from(&page.live);
    }

    /// Whether `page` ever had this version.
    pub(super) fn knows(&self, page: u32, version: Version) -> Result<(), String> {
        match self.0[page as usize].ever.contains(&version) {
            true => Ok(()),
            false => Err(format!("page {page} holds version {version}, which it never had")),
        }
    }
}

fn may(held: &[Held], page: u32, found: Option<Version>) -> Result<(), String> {
    let fits = |held: &Held| found.map_or(held.is_damaged, |version| held.version == version);
    if held.iter().any(fits) {
        return Ok(());
    }
    let expected: Vec<Version> = held.iter().map(|held| held.version).collect();
    match found {
        Some(version) => {
            Err(format!("page {page} holds version {version}, expected one of {expected:?}"))
        }
        None => Err(format!("page {page} is a media error, expected one of {expected:?}")),
    }
}
