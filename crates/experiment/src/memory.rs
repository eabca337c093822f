//! Compares an estimate of the memory that the drives of all runs need with the machine's memory,
//! before any drive is made: the system kills a process that takes too much, without a message.

use std::fs;
use std::path::Path;

use flashgc_base::naming::option;
use flashgc_base::spec::SpecError;

use crate::config::Resolved;

const GIB: f64 = (1u64 << 30) as f64;

/// A group of drives that are in memory together, and the number of threads that may each hold such
/// a group.
struct Group {
    /// The bytes that one thread needs in memory.
    bytes: u64,
    /// The number of threads that may each need `bytes` at the same time.
    threads: u64,
    /// The number of runs whose drives need `bytes`.
    runs: u64,
}

/// Returns the number of threads for which the memory is large enough, at most `threads`. If the
/// available memory is unknown, returns `threads`.
///
/// # Errors
/// Fails if the memory is too small for one thread.
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
        // All runs stay in memory, because they may have to be lengthened together.
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
            let (what, also) = match group.runs {
                1 => ("the drive needs".to_string(), ""),
                runs => (format!("{runs} runs until a precision need"), "fewer runs, "),
            };
            return Err(SpecError::new(
                format!(
                    "{what} about {:.1} GiB of memory, found {:.1} GiB available",
                    needed as f64 / GIB,
                    available as f64 / GIB
                ),
                format!("use {also}a smaller drive, or a part of it with {}", option("scale")),
            ));
        }
    }
    Ok(threads)
}

/// Returns the bytes of memory that are available without swapping, at most the limit of the
/// container; `None` if the system does not tell.
fn available() -> Option<u64> {
    available_below(Path::new("/"))
}

/// Returns the available bytes of memory of the system whose root folder is `root`.
fn available_below(root: &Path) -> Option<u64> {
    let text = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    Some(groups.lines().filter_map(|line| limit(root, line)).fold(kib * 1024, u64::min))
}

/// Returns the smallest memory limit of the control group in `line`, a line of `/proc/self/cgroup`,
/// and of the groups around it. `None` if the line is not about memory, or there is no limit.
///
/// Version 2 of control groups writes `0::/a/b`, version 1 `7:memory:/a/b`. In a container the path
/// may be that of the host. Folders that do not exist have no limit, and the search ends at the
/// container's own folder.
fn limit(root: &Path, line: &str) -> Option<u64> {
    let mut fields = line.splitn(3, ':');
    let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let (mount, file) = if number == "0" && controllers.is_empty() {
        ("sys/fs/cgroup", "memory.max")
    } else if controllers.split(',').any(|controller| controller == "memory") {
        ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
    } else {
        return None;
    };
    let own = Path::new(path.trim_start_matches('/'));
    let read = |group: &Path| {
        let text = fs::read_to_string(root.join(mount).join(group).join(file)).ok()?;
        text.trim().parse::<u64>().ok() // or the word `max`
    };
    own.ancestors().filter_map(read).min()
}

#[cfg(test)]
mod tests {
    use flashgc_base::naming::{Keywords, said};

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
        // The two groups that need the most memory: 60 + 40. Only one thread holds the group of 60.
        assert_eq!(fit(&[(40, 5), (60, 1)], 8).unwrap(), 2);
        assert_eq!(fit(&[(1, 1), (100, 1_000_000_000)], 8).unwrap(), 1);
        assert_eq!(fit(&[], 3).unwrap(), 3);
        let error = fit(&[(1, 1), (u64::MAX, 2)], 8).unwrap_err().to_string();
        assert_eq!(
            said(&error, &Keywords),
            "the drive needs about 17179869184.0 GiB of memory, found 0.0 GiB available; hint: use \
             a smaller drive, or a part of it with scale"
        );
    }

    /// Returns the available bytes of a system with 8 GiB available and with `files`.
    fn available_of(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        let meminfo = "MemTotal: 16777216 kB\nMemAvailable:    8388608 kB\n";
        for (name, text) in [("proc/meminfo", meminfo)].iter().chain(files) {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        available_below(root.path())
    }

    #[test]
    fn the_least_limit_of_all_control_groups_around_the_process_counts() {
        const MIB: u64 = 1 << 20;
        let two = |own: &str, outer: &str, path: &str| {
            available_of(&[
                ("proc/self/cgroup", path),
                ("sys/fs/cgroup/jobs/mine/memory.max", own),
                ("sys/fs/cgroup/jobs/memory.max", outer),
            ])
        };
        assert_eq!(available_of(&[]), Some(8192 * MIB));
        assert_eq!(two("524288000\n", "max\n", "0::/jobs/mine\n"), Some(500 * MIB));
        assert_eq!(two("max\n", "1048576\n", "0::/jobs/mine\n"), Some(MIB));
        assert_eq!(two("max\n", "max\n", "0::/jobs/mine\n"), Some(8192 * MIB));
        // A group beside the process's own does not count, nor does a limit above the available
        // memory.
        assert_eq!(two("1\n", "max\n", "0::/jobs\n"), Some(8192 * MIB));
        assert_eq!(two("max\n", "99999999999\n", "0::/jobs/mine\n"), Some(8192 * MIB));
        // In a container the path is the host's, and the limit lies at the root.
        let container = [
            ("proc/self/cgroup", "0::/docker/12ab\n"),
            ("sys/fs/cgroup/memory.max", "104857600\n"),
        ];
        assert_eq!(available_of(&container), Some(100 * MIB));
    }

    #[test]
    fn the_first_version_of_control_groups_is_read_as_well() {
        let files = [
            ("proc/self/cgroup", "12:cpu,cpuacct:/other\n7:memory:/jobs/mine\n0::/\n"),
            ("sys/fs/cgroup/memory/jobs/mine/memory.limit_in_bytes", "2097152\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/other/memory.limit_in_bytes", "1\n"),
        ];
        assert_eq!(available_of(&files), Some(2 << 20));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_tells_what_is_available() {
        // The result is between 1 MiB and 1 PiB, so that its unit is right.
        assert!(available().is_some_and(|bytes| (1 << 20..1 << 50).contains(&bytes)));
    }
}
