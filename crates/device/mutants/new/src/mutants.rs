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
    /// R2 is left out: a block erased since the last sync is programmed without one.
    ReuseWithoutSync,
    /// R3 is left out: the superblock names a checkpoint that was not synced.
    SuperblockBeforeCheckpoint,
    /// R5 is left out: a page that is read must be intact, and may be another one.
    IdentityNotChecked,
    /// Another page's data are taken for the page's.
    PageNotCompared,
    /// A page programmed before its block was opened is taken for one of this life.
    OpenedNotCompared,
    /// A page of another erase count of its block is taken for one of this life.
    GenerationNotCompared,
    /// In recovery a page with another record's number is taken for the record's.
    StampNotCompared,
    /// The data of a page are not compared with the check sum of their out-of-band record.
    DataSumNotChecked,
    /// In recovery the data of a page are not compared with the check sum of their journal record.
    RecordSumNotChecked,
    /// An out-of-band record counts though its check sum does not match.
    OobSumNotChecked,
    /// An out-of-band record is not signed with its place.
    OobWithoutPlace,
    /// Only the first of the pages that are read at once is verified.
    NeighboursNotVerified,
    /// Pages that are read at once are those behind the first, wherever the map has them.
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
    /// The medium is synced before what waits is written, and not behind it.
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
    /// A failure is reported and not remembered.
    FailureNotRemembered,
    /// A program goes on though the sync that it waited for failed.
    FailedWaitIgnored,
    /// A page whose stripe could not be written is forgotten.
    FailedStripeForgotten,
    /// The out-of-band records of a stripe are not written.
    StripeWithoutRecords,
    /// A change that programs no page leaves the drive as if nothing was to be flushed.
    NoteLeavesClean,
    /// Any number of journal blocks may wait for a sync.
    UnsyncedWithoutBound,
    /// A page that a sync has made durable does not count as durable when blocks are used again.
    BarrierStays,
    /// A page that was written counts as durable when blocks are used again, though it was not synced.
    BarrierAtWriting,
    /// An idle drive does not vouch for what it did.
    NotVouched,
    /// The block with which an idle drive vouches is not synced.
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
    /// Pages of a block that its handle leaves go on waiting for those that will never come.
    LeftPagesWait,
    /// The end of the drive's life is not written to its superblock.
    EndNotRecorded,
    /// The superblock that says that the drive's life is over is not synced.
    EndNotSynced,

    // Collections.

    /// A damaged page that is collected gets a check sum that fits.
    CollectedDamageHidden,
    /// An erase is not noted in the journal.
    EraseNotNoted,
    /// A block's erase count stays when it is erased.
    EraseNotCounted,
    /// A block that was erased counts as programmed.
    EraseKeepsWritten,
    /// A block does not know when it was erased.
    EraseWithoutStamp,
    /// A collection reads what an earlier one had read of another block, or of the same one.
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

    /// The number of a journal block's place is taken modulo one block less than the ring has.
    RingOneShort,
    /// A journal block counts though its check sum does not match.
    BlockSumNotChecked,
    /// A journal block does not say which blocks before it are durable.
    BlockWithoutEvidence,
    /// A journal block says that all before it are durable, though no sync was between.
    BlockVouchesUnsynced,
    /// A journal block is followed by whichever block lies at the next place.
    BlockNumberNotCompared,
    /// A journal block counts though its first record has another number than is expected.
    BlockStampNotCompared,
    /// A journal block has the number of its last record in the place of its first one's.
    BlockStampOfItsEnd,
    /// The last record of a full journal block is lost.
    BlockTakesOneMore,
    /// A block that was not full is written over by the next one.
    PartialBlockWrittenOver,
    /// The records of a block are written again with the next one.
    RecordsWrittenTwice,
    /// A write is answered before the system has it.
    NotHandedOver,
    /// The pages of a write are handed over to the system, and the records that name them stay in memory.
    RecordsNotHandedOver,
    /// A block that was handed over to the system is not written again with the records added since.
    HandedBlockTakenForWhole,
    /// A block that was handed over to the system does not say that records may follow.
    HandedBlockNotOpen,
    /// The journal has room for one block more than its ring.
    RoomOneMore,
    /// The journal has no room kept for what the checkpoint before needs.
    RoomFromStart,
    /// The begin of a checkpoint keeps nothing before it.
    BeginKeepsNothing,
    /// The begin of a checkpoint gives no room back.
    BeginFreesNothing,
    /// The end of a checkpoint does not keep the journal written since its begin.
    EndKeepsNothing,
    /// After a sync, no journal block counts as durable.
    NeverDurable,
    /// Records that were written count as vouched for.
    AlwaysVouched,
    /// Too few journal blocks are reserved for what comes before a checkpoint begins.
    NoReserve,

    // Recovery.

    /// Blocks behind a gap in the journal say nothing of what was durable.
    NoLaterEvidence,
    /// A journal that ends before blocks that were durable is taken for a whole one.
    ShortJournalAccepted,
    /// The superblock's word on what was durable is ignored.
    SuperblockEvidenceIgnored,
    /// One journal block more than was durable counts as durable.
    OneMoreDurable,
    /// A journal block that cannot be read is taken for the journal's end.
    UnreadableBlockEnds,
    /// A damaged checkpoint is not replaced by the one before.
    NoFallback,
    /// The checkpoint before is taken for all that there is, where the drive was closed.
    FallbackWithoutJournal,
    /// A page that could not be read in recovery is taken for one that was never written.
    UnreadablePageLost,
    /// Recovery does not remember which records were lost.
    SkippedForgotten,
    /// Recovery does not remember up to which record the journal went.
    HorizonNotNoted,
    /// Recovery remembers one record more than there was.
    HorizonOneLate,
    /// Recovery does not do the discards of the journal.
    TrimNotReplayed,
    /// Recovery does the discards of the journal without their last page.
    TrimReplayedShort,
    /// Recovery does not do the erases of the journal.
    EraseNotReplayed,
    /// Recovery does erases that the checkpoint knows already.
    EraseReplayedTwice,
    /// Recovery programs blocks that the checkpoint knows to be erased later.
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
    /// Open blocks go on at their last live page.
    SettledOverPage,
    /// An open block without a live page stays as it is.
    EmptyBlockKept,
    /// An open block without a live page is erased, and its erase not counted.
    EmptyBlockNotCounted,
    /// The map of the out-of-band records has of each page the one programmed first.
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
    /// Opening a drive that was closed does not say that it is open.
    OpeningNotSaid,
    /// The word that a drive is open is not synced.
    OpeningNotSynced,
    /// Opening a drive that was closed gives up the journal that the checkpoint before needs.
    OlderJournalNotKept,
    /// A recovery has the epoch of the drive before it.
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
    /// Records that were lost stay on the medium.
    SkippedNotScrubbed,
    /// Records that lie ahead in open blocks stay on the medium.
    AheadNotScrubbed,
    /// Recovery makes no room for collections.
    NoWayMade,
    /// A damaged page that recovery moves gets a check sum that fits.
    MovedDamageHidden,
    /// A page that recovery moves goes over the last live one of a block.
    MovedOverPage,
    /// A page that recovery moves has the erase count of the block that it left.
    MovedWithOldGeneration,
    /// Recovery erases a block without counting that.
    MovedEraseNotCounted,
    /// Recovery writes one checkpoint, and not both.
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
    /// A checkpoint is named with the journal at its end, and not at its begin.
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
    /// Room is given back before the checkpoint behind the erases is written.
    PunchedEarly,
    /// Blocks that are programmed again give their room back.
    UsedBlockPunched,
    /// With a block's room the first page of the next one is given back.
    PunchedOnePageMore,
    /// Media errors are not kept over checkpoints.
    MediaErrorsForgotten,
    /// The counts of the hosts' commands are not kept over checkpoints.
    UsageForgotten,
    /// The last sync of a drive that is closed is left out.
    CloseNotSynced,
    /// A drive that is closed does not say so.
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
    /// A superblock is written over the present one.
    WrittenOverPresent,
    /// After a superblock the next one goes over it.
    PairNotChanged,
    /// A superblock is written to one copy, and not to two.
    OneCopyWritten,
    /// One copy of a superblock makes a drive.
    OneCopyNamesDrive,
    /// A damaged copy of the superblock says nothing of whose it is.
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
    /// before.
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
