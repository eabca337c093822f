//! Runs the crash campaign: `flashgc-crash-test IMAGES [SEED]`. The same seed makes the same images.

use std::process::ExitCode;

use flashgc_device::campaign::run;

fn main() -> ExitCode {
    let arguments: Vec<Option<u64>> =
        std::env::args().skip(1).map(|argument| argument.parse().ok()).collect();
    let (images, seed) = match arguments[..] {
        [Some(images)] => (images, 1),
        [Some(images), Some(seed)] => (images, seed),
        _ => {
            eprintln!("usage: flashgc-crash-test IMAGES [SEED], both numbers");
            return ExitCode::from(2);
        }
    };
    match run(seed, images) {
        Ok(tally) => {
            println!("seed {seed}: nothing lost, torn, resurrected or invented: {tally:?}");
            ExitCode::SUCCESS
        }
        Err(broken) => {
            println!("{broken}");
            ExitCode::FAILURE
        }
    }
}
