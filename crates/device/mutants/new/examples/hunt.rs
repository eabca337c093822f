//! Hunts for deliberately wrong drives: each must break a promise, or have a reason why it cannot.
//!
//! cargo run --release --example hunt -- [--seconds 10] [--seed 1] [NAME ...]
//!
//! The hunt for a mutant ends after `--seconds` if `mutants.toml` has a reason for it, and
//! otherwise after ten times as long.
//!
//! Without names, it hunts for all mutants. It prints a line for each: the verdict, the seconds,
//! and the broken promise or the reason. The verdict is the level that found the mutant (`images`
//! or `fuzz`). If no level found it and `mutants.toml` has a reason, the verdict is `test` if the
//! reason names a test, and otherwise `justified`. Without a reason it is `open`. The exit code is
//! 1 if a verdict is `open`.

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use flashgc_device::campaign::Pace;
use flashgc_device::campaign::mutants::hunt;
use flashgc_device::mutants::Mutant;

struct Wanted {
    mutants: Vec<Mutant>,
    seconds: f64,
    seed: u64,
}

/// Reads the words of the command line.
///
/// # Errors
/// An unknown name or a wrong number, as a sentence.
fn wanted(mut words: impl Iterator<Item = String>) -> Result<Wanted, String> {
    let mut wanted = Wanted { mutants: Vec::new(), seconds: 10.0, seed: 1 };
    while let Some(word) = words.next() {
        let mut number = || words.next().ok_or(format!("{word}: a number is missing"));
        match word.as_str() {
            "--seconds" => {
                let seconds = number()?.parse().ok().filter(|seconds| (0.1..1e6).contains(seconds));
                wanted.seconds = seconds.ok_or("--seconds: expected 0.1 to a million")?;
            }
            "--seed" => wanted.seed = number()?.parse().map_err(|_| "--seed: expected a number")?,
            name => wanted.mutants.push(
                Mutant::named(name)
                    .ok_or(format!("no wrong drive '{name}'; hint: mutants.rs has all of them"))?,
            ),
        }
    }
    if wanted.mutants.is_empty() {
        wanted.mutants = Mutant::ALL.to_vec();
    }
    Ok(wanted)
}

/// Hunts for a wrong drive. Returns the verdict and the line to print.
fn verdict(mutant: Mutant, wanted: &Wanted) -> (&'static str, String) {
    let began = Instant::now();
    let reason = mutant.justification();
    let times = if reason.is_some() { 1.0 } else { 10.0 };
    let pace = Pace::until(began + Duration::from_secs_f64(times * wanted.seconds));
    let find = hunt(mutant, wanted.seed, &pace).find;
    let (verdict, why) = match (find, reason) {
        (Some(find), _) => (find.level, format!("seed {}: {}", find.seed, find.what)),
        (None, Some(reason)) if mutant.test().is_some() => ("test", reason),
        (None, Some(reason)) => ("justified", reason),
        (None, None) => ("open", mutant.what().to_string()),
    };
    let seconds = began.elapsed().as_secs_f64();
    (verdict, format!("{:38}  {verdict:9}  {seconds:6.1} s  {why}", mutant.name()))
}

fn main() -> ExitCode {
    let wanted = match wanted(std::env::args().skip(1)) {
        Ok(wanted) => wanted,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let (done, lines) = mpsc::channel();
    let verdicts: Vec<&str> = std::thread::scope(|scope| {
        for _ in 0..threads {
            let done = done.clone();
            scope.spawn(|| {
                let done = done;
                while let Some(&mutant) = wanted.mutants.get(next.fetch_add(1, Ordering::Relaxed)) {
                    done.send(verdict(mutant, &wanted)).expect("main takes every line");
                }
            });
        }
        drop(done);
        lines
            .iter()
            .map(|(verdict, line)| {
                println!("{line}");
                verdict
            })
            .collect()
    });
    let count = |verdict: &str| verdicts.iter().filter(|one| **one == verdict).count();
    println!(
        "{} wrong drives: {} found, {} found by a test alone, {} justified, {} open",
        verdicts.len(),
        count("images") + count("fuzz"),
        count("test"),
        count("justified"),
        count("open")
    );
    ExitCode::from(u8::from(count("open") > 0))
}
