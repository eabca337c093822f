//! Deliberately wrong drives (mutants). A campaign that does not notice them proves nothing; the
//! example `hunt` shows which mutants the campaign finds.
//!
//! The drive that people use has none of this code. The patches in `crates/device/mutants` add it
//! to a copy of the sources, which `scripts/wrong_drives.py` compiles. A mutant is chosen for one
//! thread, since tests run side by side, and a drive without front ends uses only one thread. In a
//! program started with `FLASHGC_MUTANT=NAME`, every thread begins with that mutant.

macro_rules! mutants {
    ($($(#[doc = $what:literal])+ $variant:ident,)+) => {
        /// A way in which a drive is wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Mutant {
            $($(#[doc = $what])+ $variant,)+
        }

        impl Mutant {
            /// Every mutant.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Returns the name of the variant and the sentence that describes its fault.
            fn texts(self) -> (&'static str, &'static str) {
                match self {
                    $(Self::$variant => (stringify!($variant), concat!($($what),+)),)+
                }
            }
        }
    };
}

mutants! {
    // Reading a page back.

    /// R1 is left out: a record that was not durable counts though its page does not verify.
    TailNotVerified,
    /// R2 is left out: a block that was erased since the last sync is programmed without another
    /// sync.
    ReuseWithoutSync,
    /// R3 is left out: the superblock names a checkpoint that was not synced.
    SuperblockBeforeCheckpoint,
    /// R5 is left out: a read checks that a page is intact, but not that it is the expected page.
    IdentityNotChecked,
    /// The data of another logical page are accepted as those of the page.
    PageNotCompared,
    /// A page that was programmed before its block was opened is accepted.
    OpenedNotCompared,
    /// A page that was programmed at another erase count of its block is accepted.
    GenerationNotCompared,
    /// In recovery a page that has the number of another journal record is accepted.
    StampNotCompared,
    /// The data of a page are not compared with the check sum of their out-of-band record.
    DataSumNotChecked,
    /// In recovery the data of a page are not compared with the check sum of their journal record.
    RecordSumNotChecked,
    /// An out-of-band record counts though its check sum does not match.
    OobSumNotChecked,
    /// An out-of-band record is not signed with its place.
    OobWithoutPlace,
    /// The check sum of a record is linear, also on a drive with parity.
    ParitySealLinear,
    /// A record with a linear check sum counts although parity gave it.
    PlainRecordRebuilt,
    /// After a crash the parity stays as it is.
    ParityNotRenewed,
    /// After a crash the parity of stripes in the tail of the journal stays as it is.
    ParityOfTailNotRenewed,
    /// After a crash the parity of stripes in which open blocks go on stays as it is.
    ParityOfOpenNotRenewed,
    /// The parity of a stripe to which recovery has moved pages stays as it is.
    ParityOfMovedNotRenewed,
    /// Recovery does not ask parity for programs of the journal's tail that do not verify.
    LostNotTakenBack,
    /// Recovery does not ask parity for damaged pages before it makes that parity anew.
    TouchedNotRebuilt,
    /// After a failed sync, pages without current data that parity covers are not written again.
    CoveredNotRenewed,
    /// A page is rebuilt with places that were not programmed.
    ParityOfUnwritten,
    /// A stripe that goes on after an opening begins with new parity.
    ParityBegunAnew,
    /// The out-of-band record of parity is not written.
    ParityWithoutRecord,
    /// Only the first of the pages that are read at once is verified.
    NeighboursNotVerified,
    /// A read of several pages takes the physical pages behind the first one, wherever the map has
    /// the logical pages.
    NeighboursNotLocated,
    /// Pages that wait to be written are read from the medium when their neighbour is read.
    WaitingNeighboursFromMedium,
    /// A media error is not counted.
    MediaErrorNotCounted,
    /// The buffer of a read that failed keeps what was read.
    FailedReadLeavesData,

    // Programming, syncing and vouching.

    /// The records of the journal are written before the pages that they name.
    RecordsBeforePages,
    /// The medium is synced before the waiting pages and records are written, and not after that.
    SyncBeforeWriting,
    /// A flush syncs without writing the pages that wait.
    FlushWithoutPages,
    /// A flush syncs without writing the journal block that has begun.
    FlushWithoutJournal,
    /// One flush in seven does nothing.
    FlushForgotten,
    /// A write with FUA is not flushed.
    FuaNotFlushed,
    /// A flush of a drive that failed is not refused.
    FailedDriveFlushes,
    /// A drive that failed takes writes.
    FailedDriveWrites,
    /// A failure is reported to the host, but the drive does not remember it.
    FailureNotRemembered,
    /// A program goes on though the sync that it waited for failed.
    FailedWaitIgnored,
    /// A page whose stripe could not be written is forgotten.
    FailedStripeForgotten,
    /// The out-of-band records of a stripe are not written.
    StripeWithoutRecords,
    /// After a change that programs no page, the drive counts as one without anything to flush.
    NoteLeavesClean,
    /// Any number of journal blocks may wait for a sync.
    UnsyncedWithoutBound,
    /// A page that a sync has made durable does not count as durable when blocks are used again.
    BarrierStays,
    /// A page that was written counts as durable when blocks are used again, though it was not synced.
    BarrierAtWriting,
    /// An idle drive does not make its work durable, and does not say in the journal that it is.
    NotVouched,
    /// The journal block by which an idle drive says that its work is durable is not synced.
    VouchNotSynced,
    /// A block's class is always 0.
    ClassForgotten,
    /// A block that is opened keeps the moment at which it was opened before.
    OpenedStays,
    /// Out-of-band records do not say in which life of the block they were written.
    GenerationNotWritten,
    /// A copy's record has the moment of the copy, and not that of the host's write.
    CopyForgetsMoment,
    /// A copy's record has no stream.
    CopyForgetsStream,
    /// After a crash the data of pages have no streams, though the host had named some.
    StreamsNotRecovered,
    /// The waiting pages of a block are not written when its handle leaves the block.
    LeftPagesWait,
    /// The end of the drive's life is not written to its superblock.
    EndNotRecorded,
    /// The superblock that says that the drive's life is over is not synced.
    EndNotSynced,

    // Collections.

    /// A collection gives the copy of a damaged page a check sum that matches the damaged data.
    CollectedDamageHidden,
    /// An erase is not noted in the journal.
    EraseNotNoted,
    /// An erase does not change the block's erase count.
    EraseNotCounted,
    /// A block that was erased counts as programmed.
    EraseKeepsWritten,
    /// A block does not record the number of the journal record of its erase.
    EraseWithoutStamp,
    /// A collection uses pages that an earlier collection of the same block had read.
    WindowStays,
    /// A collection does not advance the checkpoint.
    CollectionWithoutCheckpoint,

    // Commands.

    /// A discard is not noted in the journal.
    TrimNotNoted,
    /// A discard is noted with one page less.
    TrimNotedShort,
    /// A page that is written for the first time does not count as one with data.
    MappedNotAdded,
    /// A page that is discarded counts as one with data.
    MappedNotRemoved,

    // The journal.

    /// The place of a journal block is computed as if the ring had one block less.
    RingOneShort,
    /// A journal block counts though its check sum does not match.
    BlockSumNotChecked,
    /// A journal block does not say which blocks before it are durable.
    BlockWithoutEvidence,
    /// A journal block says that all blocks before it are durable, though the last ones were not
    /// synced.
    BlockVouchesUnsynced,
    /// Recovery accepts the journal block that lies at the next place, whatever its number is.
    BlockNumberNotCompared,
    /// A journal block counts though its first record has another number than is expected.
    BlockStampNotCompared,
    /// A journal block stores the number of the record that follows it in place of the number of
    /// its first record.
    BlockStampOfItsEnd,
    /// The last record of a full journal block is lost.
    BlockTakesOneMore,
    /// A block that was not full is written over by the next one.
    PartialBlockWrittenOver,
    /// The records of a block are written again with the next one.
    RecordsWrittenTwice,
    /// A write is answered before anything of it is handed over to the system.
    NotHandedOver,
    /// The pages of a write are handed over to the system, and the records that name them stay in memory.
    RecordsNotHandedOver,
    /// A block that was handed over to the system is not written again with the records added since.
    HandedBlockTakenForWhole,
    /// A block that was handed over to the system does not say that records may follow.
    HandedBlockNotOpen,
    /// The journal counts one more block of room than its ring has.
    RoomOneMore,
    /// The journal counts blocks as room that only the checkpoint before needs.
    RoomFromStart,
    /// The journal keeps no block before the begin of a checkpoint.
    BeginKeepsNothing,
    /// The journal gains no room when a checkpoint begins.
    BeginFreesNothing,
    /// The end of a checkpoint does not keep the journal written since its begin.
    EndKeepsNothing,
    /// After a sync, no journal block counts as durable.
    NeverDurable,
    /// Written records count as if the medium already said that they are durable.
    AlwaysVouched,
    /// No journal blocks are reserved for the records that are written before a checkpoint begins.
    NoReserve,

    // Recovery.

    /// Recovery ignores what journal blocks behind a gap say about durable blocks.
    NoLaterEvidence,
    /// A journal that ends before a durable block is accepted as whole.
    ShortJournalAccepted,
    /// The superblock's word on what was durable is ignored.
    SuperblockEvidenceIgnored,
    /// One journal block more than was durable counts as durable.
    OneMoreDurable,
    /// A journal block that cannot be read is taken for the journal's end.
    UnreadableBlockEnds,
    /// A damaged checkpoint is not replaced by the one before.
    NoFallback,
    /// If the last checkpoint of a closed drive is damaged, recovery uses the checkpoint before
    /// without its journal.
    FallbackWithoutJournal,
    /// A page that could not be read in recovery is taken for one that was never written.
    UnreadablePageLost,
    /// Recovery does not remember which records were lost.
    SkippedForgotten,
    /// Recovery does not remember up to which record the journal went.
    HorizonNotNoted,
    /// Recovery remembers an end of the journal that is one record too late.
    HorizonOneLate,
    /// Recovery does not replay the discards of the journal.
    TrimNotReplayed,
    /// Recovery replays the discards of the journal without their last page.
    TrimReplayedShort,
    /// Recovery does not replay the erases of the journal.
    EraseNotReplayed,
    /// Recovery replays erases that the checkpoint already includes.
    EraseReplayedTwice,
    /// Recovery replays a program although the checkpoint has a later change of the same block.
    ProgramReplayedLate,
    /// Recovery does not see when a block was opened.
    OpenedNotReplayed,
    /// Recovery does not see a block's class.
    ClassNotReplayed,
    /// Recovery does not see how far a block was programmed.
    NextNotReplayed,
    /// A block that was erased stays erased, though a copy from it was lost.
    EraseNotUndone,
    /// Open blocks are not put back behind their last live page.
    NotSettled,
    /// Open blocks go on at the place of their last live page, and overwrite it.
    SettledOverPage,
    /// An open block without a live page stays as it is.
    EmptyBlockKept,
    /// An open block without a live page is erased, and its erase not counted.
    EmptyBlockNotCounted,
    /// The map built from the out-of-band records takes, for each logical page, the copy that was
    /// programmed first.
    OobMapOfFirst,

    // What opening a drive writes.

    /// The superblock to go on from is not written again.
    NotConfirmed,
    /// The superblock to go on from is written to the other two copies.
    ConfirmedElsewhere,
    /// The superblock to go on from is not synced.
    ConfirmNotSynced,
    /// A superblock that could not be made durable again does not end the drive's work.
    FailedConfirmIgnored,
    /// No superblock is written to say that a closed drive is in use again.
    OpeningNotSaid,
    /// The superblock that says that a drive is in use is not synced.
    OpeningNotSynced,
    /// Opening a drive that was closed gives up the journal that the checkpoint before needs.
    OlderJournalNotKept,
    /// A recovery does not begin a new epoch.
    EpochNotRaised,
    /// Recovery does not write again what it has read.
    NotRenewed,
    /// Recovery does not sync what it has written again before it writes other places.
    RenewNotSynced,
    /// The live pages that the journal's end names are not written again.
    PagesNotRenewed,
    /// The out-of-band records of the live pages that the journal's end names are not written again.
    RecordsNotRenewed,
    /// The journal's end is not written again.
    JournalNotRenewed,
    /// The first block of the journal's end is not written again.
    RenewedFromSecond,
    /// Out-of-band records of programs that a crash has lost stay on the medium.
    SkippedNotScrubbed,
    /// Out-of-band records in the unwritten part of open blocks stay on the medium.
    AheadNotScrubbed,
    /// Recovery makes no room for collections.
    NoWayMade,
    /// Recovery gives a damaged page that it moves a check sum that matches the damaged data.
    MovedDamageHidden,
    /// Recovery moves a page to the place of the last live page of a block.
    MovedOverPage,
    /// The record of a page that recovery moves has the erase count of the block that the page
    /// left.
    MovedWithOldGeneration,
    /// Recovery erases a block without counting that.
    MovedEraseNotCounted,
    /// Recovery writes a checkpoint to one slot, and not to both.
    OneSlotRecovered,
    /// The checkpoints of a drive that did not sync are taken for durable.
    UnsyncedDriveTrusted,
    /// The superblock says that a drive syncs, whether it does or not.
    AlwaysSynced,

    // Checkpoints.

    /// A checkpoint counts though it is not the one that the superblock names.
    CheckpointSumNotChecked,
    /// A chunk of a checkpoint counts though its check sum does not match.
    ChunkSumNotChecked,
    /// A checkpoint is written over the one that counts.
    CheckpointOverPresent,
    /// The superblock names, for a checkpoint, the journal block at its end instead of the one at
    /// its begin.
    CheckpointNamedLate,
    /// A checkpoint begins in the middle of a journal block.
    BeginWithoutWriting,
    /// A checkpoint ends while pages that it names wait to be written.
    EndWithoutWriting,
    /// The journal is reused and blocks are given back before the superblock with the checkpoint is durable.
    SuperblockNotSynced,
    /// The superblock does not name the checkpoint before.
    BeforeNotNamed,
    /// The superblock does not say which journal blocks were durable.
    SuperblockWithoutEvidence,
    /// Erased blocks give their room back before the superblock names a checkpoint that includes
    /// their erases.
    PunchedEarly,
    /// Blocks that are programmed again give their room back.
    UsedBlockPunched,
    /// Together with a block's room, the room of the next block's first page is given back.
    PunchedOnePageMore,
    /// The next checkpoint forgets the media errors that were counted.
    MediaErrorsForgotten,
    /// The next checkpoint forgets the counts of the hosts' commands.
    UsageForgotten,
    /// The last sync of a drive that is closed is left out.
    CloseNotSynced,
    /// The superblock of a closed drive does not say that the drive was closed.
    CloseNotSaid,
    /// A drive that is closed does not say that its life is over.
    CloseForgetsEnd,

    // The superblock.

    /// A superblock counts though its check sum does not match.
    CopySumNotChecked,
    /// The newest superblock counts only while both of its copies are there.
    NewestNeedsBoth,
    /// The generation of a newer superblock that is damaged is used again.
    GenerationUsedAgain,
    /// After an opening, the first new superblock is written over the present one.
    WrittenOverPresent,
    /// Each superblock is written over the superblock before it.
    PairNotChanged,
    /// A superblock is written to one copy, and not to two.
    OneCopyWritten,
    /// One copy of a superblock, without a second one of the same drive, is accepted.
    OneCopyNamesDrive,
    /// The UUID in a damaged copy of the superblock is ignored.
    DamagedCopyNamesNothing,
    /// A copy of the superblock that cannot be read keeps the drive from opening.
    UnreadableCopyEnds,
    /// Openings of a drive that was not closed are not counted.
    UnsafeShutdownNotCounted,

    // The file.

    /// A sync of the file does nothing.
    FileNotSynced,
    /// Two processes may open the same file.
    FileNotLocked,
}

pub use chosen::{choose, chosen, on};

mod chosen {
    use super::Mutant;
    use std::cell::Cell;
    use std::sync::LazyLock;

    /// The mutant with which every thread begins, from `FLASHGC_MUTANT`.
    static FIRST: LazyLock<Option<Mutant>> = LazyLock::new(|| {
        let name = std::env::var("FLASHGC_MUTANT").ok()?;
        Some(Mutant::named(&name).unwrap_or_else(|| panic!("FLASHGC_MUTANT: no mutant '{name}'")))
    });

    thread_local! {
        static CHOSEN: Cell<Option<Mutant>> = Cell::new(*FIRST);
    }

    /// Chooses the mutant of this thread; `None` makes its drives right again. Returns the mutant
    /// that was chosen before.
    pub fn choose(mutant: Option<Mutant>) -> Option<Mutant> {
        CHOSEN.replace(mutant)
    }

    /// Returns the mutant of this thread, if one is chosen.
    pub fn chosen() -> Option<Mutant> {
        CHOSEN.get()
    }

    /// Returns `true` if this thread has chosen `mutant`.
    #[inline]
    pub fn on(mutant: Mutant) -> bool {
        CHOSEN.get() == Some(mutant)
    }
}

impl Mutant {
    /// Returns the name by which the hunt calls the mutant, such as `fua-not-flushed`.
    pub fn name(self) -> String {
        let mut name = String::new();
        for letter in self.texts().0.chars() {
            if letter.is_uppercase() && !name.is_empty() {
                name.push('-');
            }
            name.push(letter.to_ascii_lowercase());
        }
        name
    }

    /// Returns a sentence that says what is wrong.
    pub fn what(self) -> &'static str {
        self.texts().1.trim()
    }

    /// Returns the reason why no campaign can find the mutant, if `mutants.toml` gives one.
    pub fn justification(self) -> Option<String> {
        let reasons = reasons();
        reasons.get(&self.name()).and_then(|reason| reason.as_str()).map(String::from)
    }

    /// Returns the path of the test that fails with this mutant, if the reason names one.
    pub fn test(self) -> Option<String> {
        let reason = self.justification()?;
        let (_, after) = reason.split_once("the test ")?;
        after.split(' ').next().map(String::from)
    }

    /// Returns the mutant of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mutant| mutant.name() == name)
    }
}

/// Returns `mutants.toml`, which has the name of a mutant and a sentence for each reason.
fn reasons() -> toml_edit::DocumentMut {
    include_str!("mutants.toml").parse().expect("mutants.toml is TOML, which a test has read")
}

/// Runs those tests of this program that the reasons name, each with its mutant. Returns the names
/// of the mutants whose test passed although it should fail, and the number of tests.
///
/// # Errors
/// The program cannot start itself again.
pub fn missed_by_their_tests() -> std::io::Result<(Vec<String>, usize)> {
    let run = |arguments: &[&str], mutant: Option<&str>| {
        let mut command = std::process::Command::new(std::env::current_exe()?);
        command.args(arguments).env_remove("FLASHGC_MUTANT");
        command.envs(mutant.map(|name| ("FLASHGC_MUTANT", name))).output()
    };
    let list = run(&["--list"], None)?.stdout;
    let list = String::from_utf8_lossy(&list).into_owned();
    let (mut missed, mut tests) = (Vec::new(), 0);
    for mutant in Mutant::ALL {
        let Some(test) = mutant.test() else { continue };
        if list.lines().any(|line| line.strip_suffix(": test") == Some(&test)) {
            tests += 1;
            if run(&["--exact", &test], Some(&mutant.name()))?.status.success() {
                missed.push(mutant.name());
            }
        }
    }
    Ok((missed, tests))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutants_that_a_test_of_a_part_finds_are_found() {
        let (missed, tests) = missed_by_their_tests().unwrap();
        assert!(missed.is_empty(), "not found: {missed:?}");
        let of_parts = |test: &String| test.contains("::tests::");
        assert_eq!(tests, Mutant::ALL.iter().filter_map(|one| one.test()).filter(of_parts).count());
    }

    #[test]
    fn names_are_told_apart_and_lead_back() {
        for &mutant in Mutant::ALL {
            assert_eq!(Mutant::named(&mutant.name()), Some(mutant));
            assert!(mutant.what().ends_with('.'), "{}", mutant.name());
        }
        assert_eq!(Mutant::TailNotVerified.name(), "tail-not-verified");
    }

    #[test]
    fn each_reason_is_of_a_mutant_and_a_sentence() {
        for (name, reason) in reasons().iter() {
            assert!(Mutant::named(name).is_some(), "{name}");
            let reason = reason.as_str().unwrap_or_default();
            let is_begun = reason.starts_with(|first: char| first.is_uppercase());
            assert!(is_begun && reason.ends_with('.') && reason.len() > 40, "{name}: {reason}");
        }
    }

    #[test]
    fn a_thread_is_wrong_alone() {
        let before = choose(Some(Mutant::FuaNotFlushed));
        assert!(on(Mutant::FuaNotFlushed) && !on(Mutant::FlushForgotten));
        let other = std::thread::spawn(|| on(Mutant::FuaNotFlushed)).join().unwrap();
        assert_eq!(other, before == Some(Mutant::FuaNotFlushed));
        assert_eq!(choose(before), Some(Mutant::FuaNotFlushed));
    }
}
