//! Hints that name a moment: a hint does nothing on a page written since, and holds for all other
//! pages.

use std::collections::VecDeque;

use crate::common::{commands, compare, new_medium, open, page_of, settings, work};
use flashgc_base::rng::Stream;
use flashgc_device::{Backend, DeviceError, Drive, PAGE};
use flashgc_ftl::Translation;

/// The counting drive, which gets only hints that hold, and the moment at which each page was last
/// written.
struct Model {
    counting: Box<dyn Translation>,
    written: Vec<u64>,
    now: u64,
    late: u64,
}

impl Model {
    fn write(&mut self, commands: &[(u64, bool)]) {
        for &(page, is_trim) in commands {
            if is_trim {
                self.counting.trim(&[page as u32]).unwrap();
                self.written[page as usize] = 0;
            } else {
                self.counting.write(&[page as u32]).unwrap();
                self.now += 1;
                self.written[page as usize] = self.now;
            }
        }
    }

    /// Gives a hint. Returns the number of its pages that were written since `moment`.
    fn hint(&mut self, first: u64, count: u64, moment: u64) -> u64 {
        let (late, good): (Vec<u32>, Vec<u32>) = (first as u32..(first + count) as u32)
            .partition(|&page| self.written[page as usize] > moment);
        self.counting.hints().unwrap().hint(&good).unwrap();
        self.late += late.len() as u64;
        late.len() as u64
    }
}

/// Between the write of a page and its hint, collections move the page, and the drive is closed and
/// opened.
#[test]
fn a_hint_holds_for_pages_that_were_not_written_since() {
    let settings = settings("z-greedy", "none", "fifo");
    let media = new_medium(&settings);
    let pages = u64::from(settings.layout.geometry.logical_pages());
    let mut model = Model {
        counting: settings.victim.build(settings.layout.clone()).unwrap(),
        written: vec![0; pages as usize],
        now: 0,
        late: 0,
    };
    let mut held = vec![None; pages as usize];
    let mut moments = VecDeque::new();
    let mut rng = Stream::new(5, "hints");
    let mut told = 0;
    for round in 0..4 {
        let mut drive = open(media.clone(), &settings);
        let before = model.late;
        for step in 0..300 {
            assert_eq!(drive.moment(), model.now);
            moments.push_back(drive.moment());
            if moments.len() > 20 {
                moments.pop_front();
            }
            let moment = moments[rng.below(moments.len() as u32) as usize];
            let first = u64::from(rng.below(pages as u32 - 30));
            let late = drive.hint(first, 30, Some(moment)).unwrap().late;
            assert_eq!(late, model.hint(first, 30, moment), "round {round}, step {step}");
            told += 30;
            let commands = commands(20, pages, round * 1000 + step);
            work(&mut drive, &mut held, &commands, (round * 1000 + step) * 100);
            model.write(&commands);
        }
        let stat = drive.stat();
        assert_eq!(stat.decisions, model.counting.decisions(), "round {round}");
        assert_eq!(stat.opened.late_hints, model.late - before);
        drive.audit().unwrap();
        compare(&mut drive, &held);
        drive.close().unwrap();
    }
    let zombies = model.counting.counts().zombies.unwrap();
    assert!(zombies.copied > 100 && zombies.overwritten > 100, "{zombies:?}");
    assert!(model.late > told / 10 && model.late < told / 2, "{} of {told} late", model.late);
}

fn drive(victim: &str) -> Drive {
    let settings = settings(victim, "none", "fifo");
    open(new_medium(&settings), &settings)
}

#[test]
fn a_moment_that_has_not_come_is_refused() {
    let mut drive = drive("z-greedy");
    drive.write(3, &page_of(1), false).unwrap();
    assert_eq!(drive.moment(), 1);
    assert_eq!(drive.hint(3, 1, Some(1)).unwrap().late, 0);
    assert_eq!(drive.hint(3, 1, Some(0)).unwrap().late, 1);
    let refused = drive.hint(3, 1, Some(2)).unwrap_err();
    assert!(matches!(refused, DeviceError::Moment { moment: 2, now: 1 }), "{refused}");
    // Each page of a write has its own moment: here 2, 3 and 4. So a hint of moment 2 is late for
    // two of them.
    drive.write(8, &[page_of(2), page_of(3), page_of(4)].concat(), false).unwrap();
    assert_eq!(drive.hint(0, 20, Some(2)).unwrap().late, 2);
}

#[test]
fn trimmed_pages_are_neither_hinted_nor_late() {
    let mut drive = drive("z-greedy");
    let moment = drive.moment();
    drive.write(0, &vec![1; 10 * PAGE], false).unwrap();
    drive.trim(0, 4).unwrap();
    assert_eq!(drive.hint(0, 20, Some(moment)).unwrap().late, 6);
    assert_eq!(drive.stat().opened.late_hints, 6);
}

#[test]
fn a_policy_without_hints_takes_them_and_does_nothing() {
    let mut drive = drive("greedy");
    drive.write(0, &page_of(1), false).unwrap();
    assert_eq!(drive.hint(0, 1, Some(0)).unwrap().late, 0);
    assert!(matches!(drive.hint(0, 1, Some(7)), Err(DeviceError::Moment { .. })));
}
