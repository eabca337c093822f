//! A crew: threads that simulate channels in parallel.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// The time for which a thread polls for a new round before it sleeps. It is longer than the usual
/// time between two rounds.
const WATCHES: Duration = Duration::from_micros(50);
/// The longest time for which a thread sleeps before it checks for a new round.
const SLEEPS: Duration = Duration::from_millis(5);

/// The shared state of a crew. Each round has the same number of jobs, and any thread may take any
/// job. A thread begins with the same jobs in every round, as their data may still be in its
/// processor's cache.
pub struct Crew {
    members: usize,
    /// The number of the present round.
    round: AtomicU64,
    /// `true` if no further round comes.
    is_over: AtomicBool,
    /// The last round in which a thread took each job.
    taken: Box<[AtomicU64]>,
    /// The number of jobs of the round that are not done.
    left: AtomicUsize,
    /// The number of members that sleep now.
    asleep: AtomicUsize,
}

impl Crew {
    /// Returns a crew of `members` threads, including the leading one, for `jobs` jobs in each
    /// round.
    pub fn new(members: usize, jobs: usize) -> Self {
        Self {
            members,
            round: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            taken: (0..jobs).map(|_| AtomicU64::new(0)).collect(),
            left: AtomicUsize::new(0),
            asleep: AtomicUsize::new(0),
        }
    }

    /// Runs every job once. Only the leading thread calls this. `others` are the threads of the
    /// other members.
    pub fn round(&self, others: &[Thread], job: &(impl Fn(usize) + Sync)) {
        self.left.store(self.taken.len(), Ordering::Relaxed);
        let round = self.round.fetch_add(1, Ordering::SeqCst) + 1;
        if self.asleep.load(Ordering::SeqCst) > 0 {
            others.iter().for_each(Thread::unpark);
        }
        self.work(0, round, job);
        let mut looks = 0_u32;
        while self.left.load(Ordering::Acquire) > 0 {
            pause(&mut looks);
        }
    }

    /// Takes part in all rounds as member `member`, which is not the leading one. Returns after the
    /// last round.
    pub fn follow(&self, member: usize, job: &(impl Fn(usize) + Sync)) {
        let mut done = 0;
        loop {
            let Some(round) = self.next_round(done) else { return };
            self.work(member, round, job);
            done = round;
        }
    }

    /// Returns a guard that ends all rounds when it is dropped, also by a panic.
    pub fn dismissed_in_the_end<'a>(&'a self, others: &'a [Thread]) -> impl Drop + 'a {
        struct Dismissed<'a>(&'a Crew, &'a [Thread]);
        impl Drop for Dismissed<'_> {
            fn drop(&mut self) {
                self.0.is_over.store(true, Ordering::SeqCst);
                self.1.iter().for_each(Thread::unpark);
            }
        }
        Dismissed(self, others)
    }

    fn work(&self, member: usize, round: u64, job: &impl Fn(usize)) {
        let jobs = self.taken.len();
        let own = (0..jobs).filter(|it| it % self.members == member);
        let of_others = (0..jobs).rev().filter(|it| it % self.members != member);
        for it in own.chain(of_others) {
            let taken = &self.taken[it];
            let is_free = taken.load(Ordering::Relaxed) < round
                && taken
                    .compare_exchange(round - 1, round, Ordering::AcqRel, Ordering::Relaxed)
                    .is_ok();
            if is_free {
                let _counted = Counted(&self.left);
                job(it);
            }
        }
    }

    /// Waits for a round after `done`. Returns `None` if there will be none.
    fn next_round(&self, done: u64) -> Option<u64> {
        let (mut since, mut looks) = (None, 0_u32);
        loop {
            let round = self.round.load(Ordering::SeqCst);
            if round > done {
                return Some(round);
            }
            if self.is_over.load(Ordering::SeqCst) {
                return None;
            }
            pause(&mut looks);
            if looks.is_multiple_of(256)
                && since.get_or_insert_with(Instant::now).elapsed() > WATCHES
            {
                self.asleep.fetch_add(1, Ordering::SeqCst);
                if self.round.load(Ordering::SeqCst) == round
                    && !self.is_over.load(Ordering::SeqCst)
                {
                    std::thread::park_timeout(SLEEPS);
                }
                self.asleep.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }
}

/// Counts a job as done when it is dropped, also by a panic. Otherwise the leading thread would
/// wait for ever.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Pauses between two polls, and now and then gives the core to other threads.
fn pause(looks: &mut u32) {
    *looks += 1;
    match looks.is_multiple_of(64) {
        true => std::thread::yield_now(),
        false => std::hint::spin_loop(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_is_done_once_a_round_by_any_number_of_members() {
        for (members, jobs) in [(1, 3), (2, 8), (3, 2), (5, 9)] {
            let crew = Crew::new(members, jobs);
            let counts: Vec<AtomicUsize> = (0..jobs).map(|_| AtomicUsize::new(0)).collect();
            let job = |it: usize| {
                counts[it].fetch_add(1, Ordering::Relaxed);
            };
            std::thread::scope(|scope| {
                let others: Vec<Thread> = (1..members)
                    .map(|member| {
                        let (crew, job) = (&crew, &job);
                        scope.spawn(move || crew.follow(member, job)).thread().clone()
                    })
                    .collect();
                let _dismissed = crew.dismissed_in_the_end(&others);
                for round in 1..=200 {
                    crew.round(&others, &job);
                    assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == round));
                    if round % 50 == 0 {
                        std::thread::sleep(Duration::from_millis(1)); // they fall asleep
                    }
                }
            });
        }
    }
}
