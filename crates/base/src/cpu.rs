//! The processor time of a thread and of its helper threads.

use std::cell::Cell;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

thread_local! {
    static OF_HELPERS: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Returns the processor time that this thread has used, plus the times of its helpers that were
/// given to [`add_helper`].
pub fn time() -> Duration {
    of_thread() + OF_HELPERS.get()
}

/// Returns the processor time that this thread has used, without the time of its helpers.
pub fn of_thread() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}

/// Adds the processor time of a helper to the total of this thread.
pub fn add_helper(time: Duration) {
    OF_HELPERS.set(OF_HELPERS.get() + time);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_costs_nothing_and_work_and_helpers_do() {
        let before = time();
        std::thread::sleep(Duration::from_millis(50));
        assert!(time() - before < Duration::from_millis(25));
        let begin = std::time::Instant::now();
        while of_thread() < before + Duration::from_millis(20) {
            assert!(begin.elapsed() < Duration::from_secs(60), "work is not counted");
        }
        let before = time();
        add_helper(Duration::from_secs(5));
        assert!(time() - before >= Duration::from_secs(5));
    }
}
