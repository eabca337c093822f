//! Refused combinations of options: each gives one sentence, in every form of writing options, and
//! a hint that works.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use flashgc_drive::source::{Source, TimedSource};
use flashgc_experiment::config::Resolved;
use flashgc_experiment::input::{Experiment, Places, experiment};
use flashgc_experiment::options::{
    Drives, EXCLUDED, Holder, OptionInfo, RunConfig, Value, find, options,
};
use flashgc_experiment::tenants::source::TenantsSource;
use flashgc_experiment::tenants::specs;
use flashgc_ftl::FtlErrorKind;
use flashgc_workload::generate::GeneratorSpec;
use flashgc_workload::requests::Requests;

/// The three ways to give a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Way {
    Typed,
    File,
    Keyword,
}

pub(crate) const WAYS: [Way; 3] = [Way::Typed, Way::File, Way::Keyword];

/// Values of options by key.
pub(crate) type Values = Vec<(&'static str, String)>;

pub(crate) fn option(key: &str) -> &'static OptionInfo {
    find(key).unwrap_or_else(|| panic!("there is no option {key}"))
}

fn name(way: Way, key: &str) -> String {
    match way {
        Way::Typed => format!("--{}", option(key).flag_name()),
        Way::Keyword if key == "source" => "workload".into(),
        _ => key.to_string(),
    }
}

fn line(values: &Values, key: &str) -> Option<String> {
    let at = values.iter().position(|(known, _)| *known == key)?;
    Some(format!("a.toml:{}:1", at + 1))
}

/// Returns `text` in the form `way`: `{!key}` begins the message, `{key}` is a name, and
/// `{key=value}` an option with a value.
pub(crate) fn said(way: Way, values: &Values, text: &str) -> String {
    let mut parts = text.split('{');
    let mut made = parts.next().unwrap().to_string();
    for part in parts {
        let (marked, rest) = part.split_once('}').unwrap();
        made += &match (marked.strip_prefix('!'), marked.split_once('=')) {
            (Some(key), _) => match line(values, key).filter(|_| way == Way::File) {
                Some(line) => format!("{line}: {key}"),
                None => name(way, key),
            },
            (None, Some((key, value))) => {
                let is_number = value.bytes().all(|it| it.is_ascii_digit());
                let quoted = if is_number { value.to_string() } else { format!("\"{value}\"") };
                let quote = if value.contains(' ') { "'" } else { "" };
                match way {
                    Way::Typed => format!("{} {quote}{value}{quote}", name(way, key)),
                    Way::File => {
                        format!("{key} = {quoted} in [{}]", option(key).section.name())
                    }
                    Way::Keyword => format!("{key}={quoted}"),
                }
            }
            (None, None) => name(way, marked),
        };
        made += rest;
    }
    made
}

/// Returns the configuration for these values and their places, or the error.
fn asked(way: Way, values: &Values) -> Result<(RunConfig, Places), String> {
    let (mut sections, mut places): (Vec<(String, Vec<_>)>, _) = (Vec::new(), HashMap::new());
    for (key, value) in values {
        let info = option(key);
        match way {
            Way::Typed => drop(places.insert(info.path(), name(way, key))),
            Way::File => drop(places.insert(info.path(), line(values, key).unwrap())),
            Way::Keyword => {}
        }
        let one = (key.to_string(), Value::Text(value.clone()));
        match sections.iter_mut().find(|(name, _)| name == info.section.name()) {
            Some((_, keys)) => keys.push(one),
            None => sections.push((info.section.name().into(), vec![one])),
        }
    }
    let sections = sections.into_iter().map(|(name, keys)| (name, Value::Table(keys)));
    let (sections, places) = (Value::Table(sections.collect()), Places::new(places));
    let given = experiment(&sections, &places, &Value::Table(Vec::new()));
    let given = given.map_err(|error| error.to_string())?;
    let made = Experiment::new(given, places.clone()).configurations(1, &HashMap::new());
    let made = made.map_err(|error| error.to_string())?;
    let json = serde_json::to_value(&made[0]).unwrap();
    Ok((serde_json::from_value(json).unwrap(), places))
}

/// Returns the error for these values; `None` if they are accepted.
fn refused(way: Way, values: &Values) -> Option<String> {
    let (config, places) = match asked(way, values) {
        Ok(made) => made,
        Err(error) => return Some(error),
    };
    let requests = |text: &str| TimedSource::new(text.into(), Requests::parse(text).unwrap());
    let source: Arc<dyn Source> = match &config.timed {
        None => Arc::new(GeneratorSpec::parse(&config.workload).unwrap()),
        Some(timed) if timed.tenants.is_empty() => Arc::new(requests(&config.workload)),
        Some(timed) => {
            let specs = specs(&timed.tenants).unwrap();
            let each = specs.into_iter().map(|it| (it.name, requests(&it.workload)));
            Arc::new(TenantsSource::new(each.collect()))
        }
    };
    let error = Resolved::new(&config, source, None).err()?;
    assert!(matches!(error.kind(), FtlErrorKind::Spec(_)), "{error}");
    Some(error.said(&places))
}

const TIMES: &str = "read=60us,program=800us,erase=1.5ms,transfer=20us";
const SLC_TIMES: &str = "read=25us,program=200us,erase=2ms";

/// Returns the values of a small drive, and the values in `given`. The drive is timed if `given`
/// says so.
fn drive(given: &[(&'static str, &str)], streams: &Path) -> Values {
    let mut made: Values = Vec::new();
    let timed = given.contains(&("kind", "timed"));
    let has = |key: &str| given.iter().any(|(known, _)| *known == key);
    let shape = [("blocks", "256"), ("pages_per_block", "32"), ("spare", "30%")];
    let length = match timed || has("vm_page_cache") {
        true => ("requests", "10"),
        false => ("writes", "10"),
    };
    let times = ("times", TIMES);
    let more = [Some(length), Some(("warmup", "0")), timed.then_some(times)];
    for (key, value) in shape.into_iter().chain(more.into_iter().flatten()) {
        if !has(key) {
            made.push((key, value.into()));
        }
    }
    let lengths = ["writes", "collections", "requests", "passes"];
    if given.iter().any(|(key, _)| lengths.contains(key) || *key == "until") {
        made.retain(|(key, _)| !lengths.contains(key));
    }
    // An empty value leaves an option out.
    let given = given.iter().filter(|(_, value)| !value.is_empty());
    made.extend(given.map(|(key, value)| {
        let is_file = *value == "FILE";
        (*key, if is_file { streams.display().to_string() } else { value.to_string() })
    }));
    made
}

/// A refused combination.
struct Relation {
    given: &'static [(&'static str, &'static str)],
    said: &'static str,
    /// The ways to follow the hint: other values of options, or an empty value to leave an option
    /// out.
    remedies: &'static [&'static [(&'static str, &'static str)]],
}

/// Levelling would mix the pages of isolated handles. It is refused on the counting drive and on
/// the timed drive.
const ISOLATED: Relation = Relation {
    given: &[
        ("frontier", "pool"),
        ("source", "uniform:stream=0"),
        ("placement", "fdp:handles=2,persistent=1"),
        ("wear_levelling", "static:threshold=50,interval=10"),
    ],
    said: "{!placement} fdp:handles=2,persistent=1,groups=1 does not go with {wear_levelling=static}: pages of \
           persistently isolated handles never share a block with others, and levelling moves those of \
           all handles into one; hint: {placement=fdp:handles=2,persistent=0}, or {wear_levelling=none}",
    remedies: &[&[("placement", "fdp:handles=2,persistent=0")], &[("wear_levelling", "none")]],
};

const RELATIONS: &[Relation] = &[
    Relation {
        given: &[("placement", "dac:regions=2")],
        said: "{!placement} dac needs the pool frontier, found {frontier=single}: each of its classes has an \
               open block of its own, from the pool; hint: {frontier=pool}",
        remedies: &[&[("frontier", "pool")]],
    },
    ISOLATED,
    Relation {
        given: &[
            ("kind", "timed"),
            ("source", "uniform:stream=0"),
            ("placement", "fdp:handles=2,persistent=1"),
            ("wear_levelling", "static:threshold=50,interval=10"),
        ],
        ..ISOLATED
    },
    Relation {
        given: &[("endurance", "1000")],
        said: "{!endurance} needs the pool or mixed frontier, found {frontier=single}: without a pool no erased \
               block can replace a bad one; hint: {frontier=pool}",
        remedies: &[&[("frontier", "pool")]],
    },
    Relation {
        given: &[("wear_levelling", "static:threshold=50,interval=10"), ("frontier", "double")],
        said: "{!wear_levelling} static needs the pool or mixed frontier, found {frontier=double}: without a \
               pool no worn block is free for the cold data; hint: {frontier=pool}",
        remedies: &[&[("frontier", "pool")]],
    },
    Relation {
        given: &[("allocation", "sfl")],
        said: "{!allocation} sfl needs the pool or mixed frontier, found {frontier=single}: without a pool the \
               erased victim is used next, so there is no choice; hint: {frontier=pool}",
        remedies: &[&[("frontier", "pool")]],
    },
    Relation {
        given: &[("mapping", "dftl:entries=64,per_page=16")],
        said: "{!mapping} dftl needs a frontier that keeps copies apart, found {frontier=single}: every block \
               would be full of pages whose moves change as much of the map on flash as they free; hint: \
               {frontier=double}, or {frontier=pool}",
        remedies: &[&[("frontier", "double")], &[("frontier", "pool")]],
    },
    Relation {
        given: &[("mapping", "fast:log_blocks=100")],
        said: "{!mapping} fast: 100 log blocks and 1 for merges need 101 spare blocks, found 76 beyond the 180 \
               blocks of data; hint: {spare=39.46%}, or a smaller log_blocks",
        remedies: &[&[("spare", "39.46%")], &[("mapping", "fast:log_blocks=75")]],
    },
    Relation {
        given: &[("mapping", "fast:log_blocks=4"), ("frontier", "pool:low=2")],
        said: "{!frontier} pool:low=2 does not go with {mapping=fast}, which chooses its own blocks; hint: leave \
               it out, or {mapping=page}",
        remedies: &[&[("frontier", "")], &[("mapping", "page")]],
    },
    Relation {
        given: &[("mapping", "bast:log_blocks=4"), ("victim", "greedy")],
        said: "{!victim} greedy does not go with {mapping=bast}, which chooses its own blocks; hint: leave it \
               out, or {mapping=bast:victim=cost}",
        remedies: &[&[("victim", "")], &[("victim", ""), ("mapping", "bast:victim=cost")]],
    },
    Relation {
        given: &[("mapping", "fast:log_blocks=4"), ("placement", "dac")],
        said: "{!placement} dac does not go with {mapping=fast}, which chooses its own blocks; hint: leave it \
               out, or {mapping=page}",
        remedies: &[&[("placement", "")], &[("mapping", "page"), ("frontier", "pool")]],
    },
    Relation {
        given: &[("mapping", "fast:log_blocks=4"), ("fill", "random")],
        said: "{!fill} random does not go with {mapping=fast}, which keeps the pages of a data block in order; \
               hint: {fill=sequential}, or {fill=empty}",
        remedies: &[&[("fill", "sequential")], &[("fill", "empty")]],
    },
    Relation {
        given: &[("mapping", "fast:log_blocks=4"), ("fill", "steady")],
        said: "{!fill} steady does not go with {mapping=fast}, which keeps the pages of a data block in order; \
               hint: {fill=sequential}, or {fill=empty}",
        remedies: &[&[("fill", "sequential")], &[("fill", "empty")]],
    },
    Relation {
        given: &[
            ("mapping", "fast:log_blocks=4"),
            ("wear_levelling", "static:threshold=50,interval=10"),
        ],
        said: "{!wear_levelling} does not go with {mapping=fast}: levelling moves pages to a block of its own, \
               and each page of a data block has its place; hint: {wear_levelling=none}, or {mapping=page}",
        remedies: &[&[("wear_levelling", "none")], &[("mapping", "page"), ("frontier", "pool")]],
    },
    Relation {
        given: &[("mapping", "fast:log_blocks=4"), ("endurance", "1000")],
        said: "{!endurance} does not go with {mapping=fast}, which has no other block in place of a bad one; \
               hint: leave {endurance} out, or {mapping=page}",
        remedies: &[&[("endurance", "")], &[("mapping", "page"), ("frontier", "pool")]],
    },
    Relation {
        given: &[("mapping", "fast:log_blocks=4"), ("mapping_unit", "1KiB")],
        said: "{!mapping_unit} 1KiB does not go with {mapping=fast}, which maps whole flash pages; hint: \
               {mapping_unit=4KiB}, or {mapping=page}",
        remedies: &[&[("mapping_unit", "4KiB")], &[("mapping", "page")]],
    },
    Relation {
        given: &[("mapping", "fast:log_blocks=4"), ("streams", "FILE")],
        said: "{!streams} does not go with {mapping=fast}: its log blocks take the writes of all streams \
               together; hint: {mapping=page}, or leave {streams} out",
        remedies: &[&[("mapping", "page")], &[("streams", "")]],
    },
    Relation {
        given: &[("kind", "timed"), ("mapping", "fast:log_blocks=4")],
        said: "{!mapping} fast only applies to {kind=counting}: its merges are not cut into operations of dies; \
               hint: {mapping=page}, {mapping=dftl}, or {kind=counting}",
        remedies: &[
            &[("mapping", "page")],
            &[("mapping", "dftl")],
            &[("kind", "counting"), ("times", "")],
        ],
    },
    Relation {
        given: &[
            ("mapping", "fast:log_blocks=4"),
            ("host_cache", "page-cache:size=64KiB"),
            ("hints", "perfect"),
        ],
        said: "{!hints} perfect does not go with {mapping=fast}, whose map keeps no hints; hint: {hints=none}, or \
               {mapping=page}",
        remedies: &[&[("hints", "none")], &[("mapping", "page")]],
    },
    Relation {
        given: &[("kind", "timed"), ("host_cache", "page-cache:size=64KiB"), ("hints", "oracle")],
        said: "{!hints} oracle only applies to {kind=counting}: the order of later writes depends on response \
               times; hint: {hints=perfect}, or {kind=counting}",
        remedies: &[&[("hints", "perfect")], &[("kind", "counting")]],
    },
    Relation {
        given: &[("kind", "timed"), ("placement", "oracle")],
        said: "{!placement} oracle does not go with {kind=timed}: the order of later writes depends on response \
               times; hint: another placement, or {kind=counting}",
        remedies: &[&[("placement", "dac")], &[("kind", "counting"), ("frontier", "pool")]],
    },
    Relation {
        given: &[
            ("mapping", "dftl:entries=64,per_page=16"),
            ("frontier", "pool"),
            ("placement", "oracle"),
        ],
        said: "{!placement} oracle does not go with {mapping=dftl}: pages of the map are written between those \
               of the host; hint: another placement, or {mapping=page}",
        remedies: &[&[("placement", "dac")], &[("mapping", "page")]],
    },
    Relation {
        given: &[("vm_page_cache", "64KiB"), ("frontier", "pool"), ("placement", "oracle")],
        said: "{!placement} oracle does not go with {vm_page_cache}: the writes to come depend on the \
               collections, which leave pages to memory; hint: another placement, or leave {vm_page_cache} out",
        remedies: &[&[("placement", "dac")], &[("vm_page_cache", "")]],
    },
    Relation {
        given: &[("placement", "fdp"), ("frontier", "pool")],
        said: "{!placement} fdp needs writes with streams, and the workload has none; hint: {streams=FILE}, a \
               trace with streams, or a generator with stream=0",
        remedies: &[&[("streams", "FILE")], &[("source", "uniform:stream=0")]],
    },
    Relation {
        given: &[("power_protection", "no"), ("frontier", "pool")],
        said: "{!power_protection} no needs {mapping_unit} below {page_size}, or the {write_cache} of a drive \
               with a clock: otherwise no data wait in the drive; hint: {mapping_unit=2KiB}, or \
               {power_protection=yes}",
        remedies: &[&[("mapping_unit", "2KiB")], &[("power_protection", "yes")]],
    },
    Relation {
        given: &[("power_protection", "no"), ("mapping_unit", "1KiB")],
        said: "{!power_protection} no needs the pool or mixed frontier, found {frontier=single}, which erases a \
               block while its data are in memory; hint: {frontier=pool}, or {power_protection=yes}",
        remedies: &[&[("frontier", "pool")], &[("power_protection", "yes")]],
    },
    Relation {
        given: &[
            ("power_protection", "no"),
            ("mapping_unit", "1KiB"),
            ("frontier", "pool"),
            ("placement", "dac"),
        ],
        said: "{!placement} dac does not go with {power_protection=no}: pages are padded before an erase, and \
               padding would take the room that copies of a class need; hint: {placement=none}, or \
               {power_protection=yes}",
        remedies: &[&[("placement", "none")], &[("power_protection", "yes")]],
    },
    Relation {
        given: &[("kind", "timed"), ("flush_after", "1ms")],
        said: "{!flush_after} needs {mapping_unit} below {page_size}: otherwise no page waits for others; hint: \
               {mapping_unit=2KiB}, or leave {flush_after} out",
        remedies: &[&[("mapping_unit", "2KiB")], &[("flush_after", "")]],
    },
    Relation {
        given: &[
            ("kind", "timed"),
            ("mapping_unit", "1KiB"),
            ("flush_after", "1ms"),
            ("placement", "dac:regions=2"),
        ],
        said: "{!flush_after} does not go with {placement=dac:regions=2}: the pages that are programmed early \
               are padded, and padding would take the room that copies of a class need; hint: {placement=none}, \
               or leave {flush_after} out",
        remedies: &[&[("placement", "none")], &[("flush_after", "")]],
    },
    Relation {
        given: &[("kind", "timed"), ("mapping_unit", "1KiB"), ("copy_back", "yes")],
        said: "{!mapping_unit} 1KiB does not go with {copy_back=yes}: a copy inside a die is one of a whole flash \
               page; hint: {mapping_unit=4KiB}, or {copy_back=no}",
        remedies: &[&[("mapping_unit", "4KiB")], &[("copy_back", "no")]],
    },
    Relation {
        given: &[
            ("kind", "timed"),
            ("mapping_unit", "1KiB"),
            ("power_protection", "no"),
            ("copy_back", "yes"),
        ],
        said: "{!mapping_unit} 1KiB does not go with {copy_back=yes}: a copy inside a die is one of a whole flash \
               page; hint: {copy_back=no}",
        remedies: &[&[("copy_back", "no")]],
    },
    Relation {
        given: &[
            ("kind", "timed"),
            ("mapping_unit", "1KiB"),
            ("power_protection", "no"),
            ("preemption", "pgc+merge+pipeline"),
        ],
        said: "{!preemption} pgc+merge+pipeline does not go with {power_protection=no}: merging puts data of the \
               host among copies, where padding would take the room that copies need; hint: \
               {preemption=pgc+pipeline}, or {power_protection=yes}",
        remedies: &[&[("preemption", "pgc+pipeline")], &[("power_protection", "yes")]],
    },
    Relation {
        given: &[
            ("kind", "timed"),
            ("mapping_unit", "1KiB"),
            ("flush_after", "1ms"),
            ("preemption", "pgc+merge"),
        ],
        said: "{!preemption} pgc+merge does not go with {flush_after=1ms}: merging puts data of the host among \
               copies, where padding would take the room that copies need; hint: {preemption=pgc}, or leave \
               {flush_after} out",
        remedies: &[&[("preemption", "pgc")], &[("flush_after", "")]],
    },
    Relation {
        given: &[("kind", "timed"), ("copy_back", "yes"), ("preemption", "pgc+merge")],
        said: "{!copy_back} yes does not go with +merge in {preemption}: merging puts data of the host between \
               pages on the bus, and pages that are copied back do not cross it; hint: {copy_back=no}, or \
               {preemption=pgc}",
        remedies: &[&[("copy_back", "no")], &[("preemption", "pgc")]],
    },
    Relation {
        given: &[("kind", "timed"), ("read_failures", "1e-4")],
        said: "{!read_failures} needs {parity}: without it nothing on the flash can rebuild a page whose read \
               fails; hint: {parity=1/4} and a {superblock} over several dies, or leave {read_failures} out",
        remedies: &[
            &[("dies", "4"), ("superblock", "dies=4,planes=1"), ("parity", "1/4")],
            &[("read_failures", "")],
        ],
    },
    Relation {
        given: &[("kind", "timed"), ("write_pacing", "yes"), ("gc_low", "3")],
        said: "{!write_pacing} needs preemption pgc or suspend, found {preemption=none}: paced writes go between \
               the steps of a collection; hint: {preemption=pgc}, or {write_pacing=no}",
        remedies: &[&[("preemption", "pgc")], &[("write_pacing", "no")]],
    },
    Relation {
        given: &[("kind", "timed"), ("write_pacing", "yes"), ("preemption", "pgc")],
        said: "{!write_pacing} needs collections that begin at 3 erased blocks or more of a plane, found 2: a \
               collection and the host's writes open a block each, and one is in reserve; hint: {gc_low=3}",
        remedies: &[&[("gc_low", "3")]],
    },
    Relation {
        given: &[
            ("kind", "timed"),
            ("write_pacing", "yes"),
            ("preemption", "pgc"),
            ("gc_low", "3"),
            ("gc_domain", "channel"),
        ],
        said: "{!write_pacing} needs the GC domain plane or die, found a channel: a die without a collection of \
               its own would not be paced; hint: {gc_domain=die}, or {write_pacing=no}",
        remedies: &[&[("gc_domain", "die")], &[("write_pacing", "no")]],
    },
    Relation {
        given: &[
            ("kind", "timed"),
            ("slc", "static:blocks=4"),
            ("slc_times", SLC_TIMES),
            ("gc_domain", "die"),
        ],
        said: "{!slc} needs the GC domain plane, found a die: a fold stays inside its plane; hint: \
               {gc_domain=plane}",
        remedies: &[&[("gc_domain", "plane")]],
    },
    Relation {
        given: &[
            ("kind", "timed"),
            ("slc", "static:blocks=4"),
            ("slc_times", SLC_TIMES),
            ("gc_low", "1"),
        ],
        said: "{!slc} needs at least 2 erased blocks a plane: a collection fills one, and a fold another; hint: \
               {gc_low=2}",
        remedies: &[&[("gc_low", "2")]],
    },
    Relation {
        given: &[("kind", "timed"), ("gc_hard", "5")],
        said: "{!gc_hard}: found hard 5, low 2, high 2, expected hard <= low <= high: collections start at low, \
               stop above high, and writes wait below hard; hint: a lower {gc_hard}, or a higher {gc_low}",
        remedies: &[&[("gc_hard", "1")], &[("gc_low", "5")]],
    },
    Relation {
        given: &[("kind", "timed"), ("queue_depth", "0")],
        said: "{!queue_depth} is 0, expected at least 1; hint: {queue_depth=1}",
        remedies: &[&[("queue_depth", "1")]],
    },
    Relation {
        given: &[("kind", "timed"), ("times", "")],
        said: "a drive with a clock needs {times}: every operation takes its time; hint: add \
               {times=read=60us,program=800us,erase=1.5ms,transfer=20us}, or {device=tlc}",
        remedies: &[&[("times", TIMES)]],
    },
    Relation {
        given: &[("vm_page_cache", "64KiB"), ("mapping_unit", "1KiB")],
        said: "{!mapping_unit} 1KiB does not go with {vm_page_cache}, whose pages are flash pages; hint: \
               {mapping_unit=4KiB}, or leave {vm_page_cache} out",
        remedies: &[&[("mapping_unit", "4KiB")], &[("vm_page_cache", "")]],
    },
    Relation {
        given: &[("vm_page_cache", "64KiB"), ("warmup", "2x")],
        said: "{!vm_page_cache} needs a length and a warm-up in references, found page writes: the run of a \
               program is as long as its references to memory; hint: {requests=10000000}, or {passes=1} of a \
               trace, and {warmup=1/3}",
        remedies: &[&[("requests", "10000000"), ("warmup", "1/3")]],
    },
    Relation {
        given: &[("vm_page_cache", "64KiB"), ("vm_scheme", "lda-gc5")],
        said: "{!vm_scheme} lda-gc5 does not go with {mapping=page}: it chooses among log blocks; hint: du-gc, \
               da-gc, ba-gc, lda-gc2 or lda-gc4; or {mapping=fast} or bast",
        remedies: &[&[("vm_scheme", "lda-gc4")], &[("mapping", "fast")]],
    },
    Relation {
        given: &[
            ("vm_page_cache", "64KiB"),
            ("vm_scheme", "da-gc"),
            ("mapping", "dftl:entries=64,per_page=16"),
            ("frontier", "pool"),
        ],
        said: "{!vm_scheme} da-gc needs collections that know what is in the host's memory, and those of this \
               {mapping} do not; hint: {vm_scheme=du-gc}, or {mapping=page}",
        remedies: &[&[("vm_scheme", "du-gc")], &[("mapping", "page")]],
    },
    Relation {
        given: &[("host_cache", "page-cache:size=64KiB"), ("request_size", "1KiB")],
        said: "{!request_size} 1KiB does not go with {host_cache}, which writes whole mapping units of 4KiB; \
               hint: {request_size=4KiB}, or leave {host_cache} out",
        remedies: &[&[("request_size", "4KiB")], &[("host_cache", "")]],
    },
    Relation {
        given: &[("flush_every", "8"), ("frontier", "pool")],
        said: "{!flush_every} only applies with {power_protection=no}: a page buffer that survives a loss of \
               power is never flushed; hint: add {power_protection=no} and {mapping_unit=2KiB}, or leave \
               {flush_every} out",
        remedies: &[
            &[("power_protection", "no"), ("mapping_unit", "2KiB")],
            &[("flush_every", "")],
        ],
    },
    Relation {
        given: &[("passes", "2")],
        said: "{!passes} only applies to traces: a generator has no end; hint: give {writes=20x}",
        remedies: &[&[("passes", ""), ("writes", "20x")]],
    },
    Relation {
        given: &[("kind", "timed"), ("passes", "2")],
        said: "{!passes} only applies to traces: a generator has no end; hint: give {requests=1000000}",
        remedies: &[&[("passes", ""), ("requests", "1000000")]],
    },
    Relation {
        given: &[("until", "first-failure"), ("frontier", "pool"), ("warmup", "")],
        said: "{!until} first-failure needs {endurance}: blocks that bear any number of erases do not fail; \
               hint: add {endurance=1000}",
        remedies: &[&[("endurance", "1000")]],
    },
    Relation {
        given: &[
            ("until", "first-failure"),
            ("frontier", "pool"),
            ("endurance", "1000"),
            ("warmup", "10%"),
        ],
        said: "{!warmup} is a share of the run, and a run with {endurance} until a failure has no fixed length; \
               hint: {warmup=2x}, or leave it out",
        remedies: &[&[("warmup", "2x")], &[("warmup", "")]],
    },
];

#[test]
fn a_refused_combination_has_one_sentence_and_a_hint_that_works() {
    let folder = tempfile::tempdir().unwrap();
    let streams = folder.path().join("streams.csv");
    std::fs::write(&streams, "0, 65536, 1\n").unwrap();
    for relation in RELATIONS {
        let values = drive(relation.given, &streams);
        for way in WAYS {
            let expected = said(way, &values, relation.said);
            assert_eq!(refused(way, &values), Some(expected), "{way:?}");
        }
        let hint = relation.said.split_once("; hint: ").unwrap().1;
        for remedy in relation.remedies {
            let others = relation
                .given
                .iter()
                .filter(|(key, _)| remedy.iter().all(|(other, _)| other != key));
            let mut given: Vec<_> = others.copied().collect();
            given.extend(*remedy);
            assert_eq!(refused(Way::Typed, &drive(&given, &streams)), None, "{hint}: {remedy:?}");
        }
    }
}

/// Returns a value of an option to test with.
fn value(key: &str) -> &'static str {
    let info = option(key);
    match key {
        "tenant" => "name=a; workload=uniform",
        "scheme" => "zgc-gd",
        "arbitration" => "high=1",
        _ if info.example.is_empty() => info.usual().unwrap_or("2"),
        _ => info.example,
    }
}

#[test]
fn pairs_that_exclude_each_other_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    for pair in EXCLUDED {
        let timed = [pair.key, pair.with].map(|key| option(key).drives).contains(&Drives::Timed);
        let kind = if timed { "timed" } else { "counting" };
        let given = [("kind", kind), (pair.key, value(pair.key)), (pair.with, value(pair.with))];
        let values = drive(&given, folder.path());
        let hint = match pair.hint {
            "" => format!("leave out {{{}}} or {{{}}}", pair.key, pair.with),
            hint => hint.to_string(),
        };
        let text = format!(
            "{{!{}}} does not go with {{{}}}: {}; hint: {hint}",
            pair.key, pair.with, pair.why
        );
        for way in WAYS {
            assert_eq!(asked(way, &values).err(), Some(said(way, &values, &text)), "{way:?}");
        }
        for out in [pair.key, pair.with] {
            let left: Vec<_> = given.into_iter().filter(|(key, _)| *key != out).collect();
            // The remaining option may need the option that was left out. That gives another error.
            let error = asked(Way::Typed, &drive(&left, folder.path())).err();
            assert!(!error.is_some_and(|error| error.contains("does not go with")), "{left:?}");
        }
    }
}

#[test]
fn options_that_need_another_one_or_another_drive_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let (mut with, mut of_drives) = (0, 0);
    for info in options().iter().filter(|info| info.key != "device") {
        let timed = match info.drives {
            Drives::Timed => "timed",
            _ => "counting",
        };
        let one = (info.key, value(info.key));
        let needs = info.holder != Holder::Trace;
        if let Some(others) = info.only_with.filter(|_| needs) {
            let values = drive(&[("kind", timed), one], folder.path());
            let other = others.others[0];
            let text = format!(
                "{{!{}}} only applies with {{{other}}}: {}; hint: add {{{other}={}}}",
                info.key, others.why, others.example
            );
            for way in WAYS {
                let expected = said(way, &values, &text);
                assert_eq!(asked(way, &values).err(), Some(expected), "{way:?}");
            }
            let mut given = vec![("kind", timed), one, (other, others.example)];
            if let Some(more) = option(other).only_with.filter(|it| it.others[0] != info.key) {
                given.push((more.others[0], more.example));
            }
            let made = asked(Way::Typed, &drive(&given, folder.path()));
            assert!(made.is_ok(), "{}: {:?}", info.key, made.err());
            with += 1;
        }
        if info.drives != Drives::All {
            let other = if timed == "timed" { "counting" } else { "timed" };
            let values = drive(&[("kind", other), one], folder.path());
            for way in WAYS {
                let text = format!(
                    "{{!{}}} only applies to {{kind={timed}}}: {}",
                    info.key, info.why_drives
                );
                let error = asked(way, &values).err().unwrap();
                let (told, _) = error.split_once("; hint: ").unwrap();
                assert_eq!(told, said(way, &values, &text), "{way:?}");
            }
            assert!(!info.why_drives.is_empty(), "{}", info.key);
            of_drives += 1;
        }
    }
    assert!(with > 6 && of_drives > 30, "{with} {of_drives}");
}
