//! Options in errors of traces and in warnings of results: they are named as the user writes them,
//! and never as a bare flag.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flashgc_drive::extent::Length;
use flashgc_drive::source::TimedSource;
use flashgc_experiment::config::Resolved;
use flashgc_experiment::input::Places;
use flashgc_experiment::options::{RunConfig, TimedConfig, find};
use flashgc_experiment::result::RunResult;
use flashgc_experiment::simulate::{Control, simulate};
use flashgc_workload::generate::GeneratorSpec;
use flashgc_workload::requests::{Requests, TimedTrace};
use flashgc_workload::trace::{
    Numbering, Paging, PagingOptions, ReadOptions, SourceOptions, TraceError, TraceSource, format,
};

use crate::refused::{Values, WAYS, Way, option, said};

/// Keys of commands and functions that are not options of experiments.
const OTHER_KEYS: [&str; 4] = ["resume", "filter", "native_devices", "leave_out"];

/// Files and folders whose texts only the command line shows, with the reason.
const FLAGS_ALONE: [(&str, &str); 4] = [
    ("device/src", "the commands of flashgc device make, check and record stored drives"),
    ("server/src", "these commands too, and the clock of flashgc device serve is typed"),
    ("experiment/src/input/stored.rs", "the flag is one of flashgc device serve"),
    ("workload/src/trace/format", "a description of a format, which flashgc trace formats shows"),
];

/// Returns the places of one option of each section, given in the form `way`.
fn places(way: Way) -> Places {
    let at = |key: &str, line: usize| {
        let info = option(key);
        let place = match way {
            Way::Typed => format!("--{}", info.flag_name()),
            Way::File => format!("a.toml:{line}:1"),
            Way::Keyword => return None,
        };
        Some((info.path(), place))
    };
    Places::new([at("spare", 1), at("runs", 2)].into_iter().flatten().collect::<HashMap<_, _>>())
}

/// Returns `text` in the form `way`; see [`said`].
fn told(way: Way, text: &str) -> String {
    said(way, &Values::new(), text)
}

/// A trace, the options for reading it, and the expected end of the error.
struct Refused {
    content: &'static [u8],
    read: fn(&Path) -> TraceError,
    said: &'static str,
}

fn load(path: &Path, read: ReadOptions, paging: PagingOptions) -> TraceError {
    let options = SourceOptions { read, paging, ..SourceOptions::default() };
    TraceSource::load(path, options).unwrap_err()
}

fn plain(path: &Path) -> TraceError {
    load(path, ReadOptions::default(), PagingOptions::default())
}

fn given(path: &Path) -> TraceError {
    let numbering = Some(Numbering::Given);
    load(path, ReadOptions::default(), PagingOptions { numbering, ..PagingOptions::default() })
}

fn timed(path: &Path) -> Result<TimedTrace, TraceError> {
    let (read, paging) = (ReadOptions::default(), PagingOptions::default());
    TimedTrace::load(path, &read, paging, |_| true)
}

const REFUSED: &[Refused] = &[
    Refused {
        content: b"time_us,op,offset_bytes,size_bytes,dev\n1,W,0,4096,0\nx,W,0,4096,0\n",
        read: plain,
        said: "; hint: {on_bad_line=skip} counts and skips such lines",
    },
    Refused {
        content: b"1,2,3\n",
        read: |path| {
            let format = Some(format::find("msr").unwrap());
            load(path, ReadOptions { format, ..ReadOptions::default() }, PagingOptions::default())
        },
        said: "; hint: leave {format} out, and the file shows it; or {on_bad_line=skip} counts and skips such \
               lines",
    },
    Refused {
        content: b"no trace\n",
        read: plain,
        said: "; hint: say which column is which, for example \
               {columns=time=1:ms,op=5:0=write/1=read,offset=3:sector,size=4:sector,device=2}; or name the \
               format with {format}: FORMATS",
    },
    Refused {
        content: b"26.214\t0\t303574\t8\t0\n26.214\t0\t303574\t16\t0\n",
        read: plain,
        said: "; hint: choose {format=disksim} or {format=flashsim}; flashgc trace formats disksim describes the first",
    },
    Refused {
        content: b"time_us,op,offset_bytes,size_bytes,dev\n1,W,0,4096,3\n2,W,0,4096,9\n",
        read: given,
        said: "; hint: choose one device, as {devices=3}, or {numbering=address}",
    },
    Refused {
        content: b"time_us,op,offset_bytes,size_bytes,dev\n1,W,-4096,4096,0\n",
        read: given,
        said: "; hint: {numbering=address}",
    },
    Refused {
        content: b"time_us,op,offset_bytes,size_bytes,dev\n1,W,0,4096,0\n",
        read: |path| {
            let (numbering, paging) = (Some(Numbering::Given), Paging::Floor);
            let paging = PagingOptions { numbering, paging, ..PagingOptions::default() };
            load(path, ReadOptions::default(), paging)
        },
        said: ": {paging=floor} leaves out the last pages of a trace, and with {numbering=given} the drive has \
               all of them; hint: {paging=covered}, or {numbering=address}",
    },
    Refused {
        content: b"time_us,op,offset_bytes,size_bytes,dev\n1,W,0,4096,0\n",
        read: |path| {
            let read = ReadOptions { blkparse_action: Some('D'), ..ReadOptions::default() };
            load(path, read, PagingOptions::default())
        },
        said: ": {blkparse_action} only applies to blkparse, blktrace, ftrace, found csv; hint: leave \
               {blkparse_action} out",
    },
    Refused {
        content: b"0000",
        read: |path| {
            let format = Some(format::find("srt").unwrap());
            load(path, ReadOptions { format, ..ReadOptions::default() }, PagingOptions::default())
        },
        said: "; hint: fetch the file again, or {on_bad_line=skip} leaves the rest out",
    },
    Refused {
        content: b"time_us,op,offset_bytes,size_bytes,dev\n9,W,0,4096,0\n1,W,0,4096,0\n",
        read: |path| timed(path).unwrap_err(),
        said: "; hint: {disorder=sort} takes it in time's order",
    },
    Refused {
        content: b"time_us,op,offset_bytes,size_bytes,dev\n0,W,0,4096,0\n0,W,0,4096,0\n",
        read: |path| timed(path).unwrap().open(1, None, 1.0, None).err().unwrap(),
        said: "; hint: give {arrivals}, for example {arrivals=poisson:rate=1000}",
    },
    Refused {
        content: b"time_us,op,offset_bytes,size_bytes,dev\n0,W,0,4096,0\n",
        read: |path| timed(path).unwrap().open(0, None, 1.0, None).err().unwrap(),
        said: "; hint: a smaller {pages_per_block}, or a longer trace",
    },
];

#[test]
fn an_error_of_a_trace_names_options_as_its_user_writes_them() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<_> = format::FORMATS.iter().map(|format| format.name).collect();
    for (number, refused) in REFUSED.iter().enumerate() {
        let path = folder.path().join(format!("{number}.trace"));
        fs::write(&path, refused.content).unwrap();
        let error = (refused.read)(&path);
        for way in WAYS {
            let expected = told(way, refused.said).replace("FORMATS", &names.join(", "));
            let found = error.said(&places(way));
            assert!(found.ends_with(&expected), "{way:?}: {found}");
        }
    }
}

fn run(config: &RunConfig) -> RunResult {
    let source: Arc<dyn flashgc_drive::source::Source> = match &config.timed {
        None => Arc::new(GeneratorSpec::parse(&config.workload).unwrap()),
        Some(_) => {
            let requests = Requests::parse(&config.workload).unwrap();
            Arc::new(TimedSource::new(config.workload.clone(), requests))
        }
    };
    let resolved = Resolved::new(config, source, None).unwrap();
    simulate(&[resolved], 1, &Control::default(), &mut || {}, &|_, _| (), None).unwrap().remove(0)
}

fn small(writes: &str, warmup: &str) -> RunConfig {
    let length = Length::Writes(writes.into());
    let (blocks, warmup) = (Some(64), warmup.into());
    RunConfig { blocks, pages_per_block: Some(16), warmup, length, ..RunConfig::default() }
}

#[test]
fn a_warning_of_a_result_names_options_as_its_user_writes_them() {
    let times = "read=60us,program=800us,erase=1.5ms,transfer=20us".to_string();
    let clock = |arrivals: &str| RunConfig {
        times: Some(times.clone()),
        length: Length::Requests(2000),
        timed: Some(TimedConfig { arrivals: Some(arrivals.into()), ..TimedConfig::default() }),
        ..small("0", "0")
    };
    for (config, expected) in [
        (small("20", "0"), "; hint: {writes=20x} is twenty drive writes"),
        (small("5x", "1"), "; hint: {warmup=1x} is one drive write"),
        (small("0.02x", "0"), ": too short for a steady state; hint: more {writes}"),
        (clock("poisson:rate=1e6"), ", or {arrivals=closed:threads=8}"),
        (
            RunConfig { length: Length::Requests(3), ..clock("closed:threads=1") },
            "; hint: {warmup=2x} writes the drive full first, or more {requests}",
        ),
    ] {
        let result = run(&config);
        for way in WAYS {
            let mut named = result.clone();
            named.name_options(&places(way));
            let expected = told(way, expected);
            let has = |text: &String| text.ends_with(&expected);
            assert!(named.said().iter().any(has), "{expected}: {:?}", named.said());
        }
    }
}

/// Adds the source files in `folder` and its subfolders to `found`.
fn sources(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
}

fn crates() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

#[test]
fn every_key_in_a_message_is_one_of_an_option() {
    let mut files = Vec::new();
    for name in ["ftl", "host", "workload", "drive", "timed", "experiment", "python"] {
        sources(&crates().join(name).join("src"), &mut files);
    }
    let mut keys = 0;
    let texts = files.iter().map(|(_, text)| before_tests(text));
    for text in texts.filter(|text| text.contains("flashgc_base::naming")) {
        for call in ["option(\"", "subject(\"", "choice(\""] {
            for (at, _) in text.match_indices(call) {
                let key = text[at + call.len()..].split('"').next().unwrap();
                let is_known = find(key).is_some() || OTHER_KEYS.contains(&key);
                assert!(is_known, "{call}{key}\") names no option");
                keys += 1;
            }
        }
    }
    assert!(keys > 100, "{keys}");
}

/// Returns the source of a program without its tests.
fn before_tests(source: &str) -> &str {
    source.split("\n#[cfg(test)]\nmod ").next().unwrap()
}

/// Returns the string literals in the source of a program, without its tests.
fn literals(source: &str) -> Vec<&str> {
    let source = before_tests(source);
    let (mut found, mut at) = (Vec::new(), 0);
    let from = |at: usize| &source[at..];
    while at < source.len() {
        let rest = from(at);
        let step = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("'\"'") {
            3
        } else if rest.starts_with("'\\") {
            4
        } else if let Some(text) = rest.strip_prefix("r#\"") {
            let end = text.find("\"#").unwrap();
            found.push(&text[..end]);
            end + 5
        } else if let Some(text) = rest.strip_prefix('"') {
            let is_end = |&(at, _): &(usize, &str)| {
                text[..at].bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 0
            };
            let (end, _) = text.match_indices('"').find(is_end).unwrap();
            found.push(&text[..end]);
            end + 2
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        at += step;
    }
    found
}

/// Returns `true` if `text` has a flag such as `--gc-low`.
fn has_flag(text: &str) -> bool {
    text.match_indices("--").any(|(at, _)| {
        let begins =
            !text[..at].ends_with(|before: char| before.is_alphanumeric() || before == '-');
        begins && text[at + 2..].starts_with(|first: char| first.is_ascii_lowercase())
    })
}

#[test]
fn no_message_has_a_bare_flag() {
    let text = "a(\"x --gc-low\", 'b', '\"', '\\'', \"\\\"--a\", r#\"--b\"#); // \"--c\"\nd(\"---\", \"a--b\")";
    let found: Vec<_> = literals(text).into_iter().filter(|text| has_flag(text)).collect();
    assert_eq!(found, ["x --gc-low", "\\\"--a", "--b"]);
    let (mut files, mut bare, mut excused) = (Vec::new(), Vec::new(), [false; FLAGS_ALONE.len()]);
    for name in fs::read_dir(crates()).unwrap() {
        sources(&name.unwrap().path().join("src"), &mut files);
    }
    for (path, text) in &files {
        let path = path.strip_prefix(crates()).unwrap();
        for literal in literals(text).into_iter().filter(|text| has_flag(text)) {
            match FLAGS_ALONE.iter().position(|(alone, _)| path.starts_with(alone)) {
                Some(at) => excused[at] = true,
                None => bare.push(format!("{}: {literal}", path.display())),
            }
        }
    }
    assert!(bare.is_empty(), "{bare:#?}: name them with naming::option or naming::choice");
    let idle = FLAGS_ALONE.iter().zip(excused).find(|(_, excused)| !excused);
    assert_eq!(idle, None, "nothing there has a flag any more");
}
