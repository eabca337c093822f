//! Whether the drives of all runs fit the machine's memory, asked before any is made: a process
//! that takes too much is killed without a word. An estimate; it measures nothing.

use flashgc_base::spec::SpecError;

use crate::config::Resolved;

const GIB: f64 = (1u64 << 30) as f64;

/// Drives that are in memory together, and how many of them run side by side at most.
struct Group {
    /// Bytes of all that must be in memory for one thread to go on.
    bytes: u64,
    /// Threads that may each hold so much.
    threads: u64,
    /// Runs that `bytes` are for.
    runs: u64,
}

/// How many of `threads` threads the memory allows; where it cannot be told, all.
///
/// # Errors
/// Not even one.
pub(crate) fn threads_that_fit(
    configurations: &[Resolved],
    threads: usize,
) -> Result<usize, SpecError> {
    let groups: Vec<Group> = configurations.iter().map(group).collect();
    match available() {
        Some(available) => fit(groups, threads, available),
        None => Ok(threads),
    }
}

fn group(resolved: &Resolved) -> Group {
    let bytes = resolved.bytes;
    let runs = u64::from(resolved.config.runs);
    match resolved.config.precision {
        None => Group { bytes, threads: runs, runs: 1 },
        // All runs stay, as they may have to be lengthened together.
        Some(_) => Group { bytes: bytes.saturating_mul(runs), threads: 1, runs },
    }
}

fn fit(mut groups: Vec<Group>, threads: usize, available: u64) -> Result<usize, SpecError> {
    groups.sort_by_key(|group| std::cmp::Reverse(group.bytes));
    let (mut needed, mut fitting) = (0u64, 0);
    for group in groups {
        for _ in 0..group.threads {
            if fitting == threads {
                return Ok(fitting);
            }
            needed = needed.saturating_add(group.bytes);
            if needed <= available {
                fitting += 1;
                continue;
            }
            if fitting > 0 {
                return Ok(fitting);
            }
            let (what, hint) = match group.runs {
                1 => ("the drive needs".to_string(), "use a smaller drive"),
                runs => (
                    format!("{runs} runs until a precision need"),
                    "use fewer runs, or a smaller drive",
                ),
            };
            return Err(SpecError::new(
                format!(
                    "{what} about {:.1} GiB of memory, found {:.1} GiB available",
                    needed as f64 / GIB,
                    available as f64 / GIB
                ),
                hint,
            ));
        }
    }
    Ok(threads)
}

/// Bytes that can be had without swapping, and no more than a container may have; `None` where the
/// system does not tell.
fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let limits = limits.iter().filter_map(|path| {
        std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok() // or the word `max`
    });
    Some(limits.fold(kib * 1024, u64::min))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(groups: &[(u64, u64)]) -> Vec<Group> {
        groups.iter().map(|&(bytes, threads)| Group { bytes, threads, runs: 1 }).collect()
    }

    #[test]
    fn threads_are_fewer_where_memory_is_short_and_none_is_an_error() {
        let fit = |list: &[(u64, u64)], threads| fit(groups(list), threads, 100);
        assert_eq!(fit(&[(10, 3)], 8).unwrap(), 8);
        assert_eq!(fit(&[(40, 3)], 8).unwrap(), 2);
        assert_eq!(fit(&[(40, 3)], 1).unwrap(), 1);
        // The largest together: 60 + 40, not 60 + 60.
        assert_eq!(fit(&[(40, 5), (60, 1)], 8).unwrap(), 2);
        assert_eq!(fit(&[(1, 1), (100, 1_000_000_000)], 8).unwrap(), 1);
        assert_eq!(fit(&[], 3).unwrap(), 3);
        let error = fit(&[(1, 1), (u64::MAX, 2)], 8).unwrap_err().to_string();
        assert_eq!(
            error,
            "the drive needs about 17179869184.0 GiB of memory, found 0.0 GiB available; hint: use \
             a smaller drive"
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_tells_what_is_available() {
        // Between 1 MiB and 1 PiB: no error of unit.
        assert!(available().is_some_and(|bytes| (1 << 20..1 << 50).contains(&bytes)));
    }
}
