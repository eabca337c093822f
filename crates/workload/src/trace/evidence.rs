//! Figures that show that a unit or a column of a trace is wrong.

use flashgc_base::spec::count;
use rustc_hash::FxHashSet;

use super::Request;
use super::format::Format;
use crate::Op;

/// The formats of plain columns, for which other programs write other columns or units. Each entry
/// has the name of the format and the number of bytes in one unit of its sizes.
const PLAIN: [(&str, u64); 18] = [
    ("fiu", 512),
    ("diskmon", 512),
    ("fio2", 1),
    ("fio3", 1),
    ("columns", 1),
    ("cloudphysics", 1),
    ("msr", 1),
    ("alibaba", 1),
    ("systor", 1),
    ("fio1", 1),
    ("spc", 1),
    ("tencent", 512),
    ("disksim", 512),
    ("ssdsim", 512),
    ("flashsim", 4096),
    ("wiscsee", 1),
    ("biotracer", 512),
    ("rmem", 4096),
];

/// The formats with columns that are ignored. If the columns of a file are shifted or exchanged, a
/// column that is read may be one of these.
const OTHERS: [&str; 4] = ["fiu", "spc", "cloudphysics", "diskmon"];

/// The smallest number of requests whose figures count as evidence.
const FEWEST: usize = 4;

/// Returns the reads and writes among requests, and the number of bytes in one unit of the format's
/// sizes; `None` if there are too few requests or the format is not in the table.
fn data<'a>(format: &Format, requests: &'a [Request]) -> Option<(Vec<&'a Request>, u64)> {
    let (_, unit) = PLAIN.iter().find(|(name, _)| *name == format.name)?;
    let moves = |request: &&Request| matches!(request.op, Op::Read | Op::Write);
    let data: Vec<&Request> = requests.iter().filter(moves).collect();
    (data.len() >= FEWEST).then_some((data, *unit))
}

/// Returns the figures of requests that are evidence against the units of a format. No part of a
/// right file has such figures.
pub(crate) fn against_units(format: &Format, requests: &[Request]) -> Vec<String> {
    let Some((data, unit)) = data(format, requests) else { return Vec::new() };
    let number = data.len() as u64;
    let mut figures = Vec::new();
    let mean =
        data.iter().map(|request| u128::from(request.size)).sum::<u128>() / u128::from(number);
    if !(512..=4 << 20).contains(&mean) {
        figures.push(format!("requests have {mean} bytes on average"));
    }
    let sectors = 512 * 512;
    let in_sectors = unit > 1 || ["spc", "cloudphysics"].contains(&format.name);
    let coarse = data.iter().all(|request| request.size % sectors == 0);
    let as_bytes = data.iter().all(|request| request.size % (512 * unit) == 0);
    let is_long = number >= 16 && data.iter().any(|request| request.offset != data[0].offset);
    if in_sectors
        && data.iter().all(|request| request.offset % sectors as i64 == 0)
        && (unit > 1 && as_bytes || is_long && !coarse)
    {
        figures.push("all sectors are multiples of 512, as if they were bytes".to_owned());
    }
    figures
}

/// Returns the figures of requests that are evidence against this format.
pub(crate) fn against(format: &Format, requests: &[Request]) -> Vec<String> {
    let Some((data, unit)) = data(format, requests) else { return Vec::new() };
    let number = data.len() as u64;
    let mut figures = against_units(format, requests);
    let sizes: FxHashSet<u64> = data.iter().map(|request| request.size).collect();
    let offsets: FxHashSet<i64> = data.iter().map(|request| request.offset).collect();
    let empty = data.iter().filter(|request| request.size == 0).count() as u64;
    if empty > number / 2 {
        figures.push(format!("{empty} of {} have 0 bytes", count(number, "request")));
    }
    let odd = data.iter().filter(|request| request.size % 512 != 0).count() as u64;
    if unit == 1 && odd > number / 2 {
        figures.push(format!("{odd} of {} are no multiples of 512 bytes", count(number, "size")));
    }
    let uneven = data.iter().filter(|request| request.offset % 512 != 0).count() as u64;
    if uneven > number / 2 {
        figures
            .push(format!("{uneven} of {} are no multiples of 512 bytes", count(number, "offset")));
    }
    if number >= 16 {
        if sizes.len() as u64 > number / 2 || (sizes.len() > offsets.len() && sizes.len() > 8) {
            let (sizes, offsets) = (sizes.len(), offsets.len());
            figures.push(format!(
                "{} have {sizes} sizes and {offsets} offsets",
                count(number, "request")
            ));
        }
        if offsets.len() <= 2 && sizes.len() > offsets.len() {
            figures.push("all requests have one or two offsets".to_owned());
        }
        if sizes.len() == 1 && !data[0].size.is_power_of_two() {
            figures.push(format!("all requests have {} bytes", data[0].size));
        }
        let devices: FxHashSet<u32> = data.iter().map(|request| request.device).collect();
        // Also in right files all times can be equal: in files of one moment, or without a clock.
        // If there are also many devices, or the format has no devices or has ignored columns, the
        // column of times is probably another column. fio 1 has no times.
        let is_timed = !["fio1", "fio2", "tencent", "msr"].contains(&format.name);
        let is_still = data.iter().all(|request| request.time_ns == data[0].time_ns);
        let has_others = format.single_device || OTHERS.contains(&format.name);
        if is_timed && is_still && (has_others || devices.len() as u64 > number / 4) {
            figures.push("all times are the same".to_owned());
        }
        let steps = |step: &dyn Fn(&Request, &Request) -> bool| {
            data.windows(2).all(|pair| step(pair[0], pair[1]))
        };
        let longer = data.iter().any(|request| request.size > unit);
        if longer
            && steps(&|before, next| [unit as i64, 512].contains(&(next.offset - before.offset)))
        {
            figures.push("offsets count up by one, as line numbers do".to_owned());
        }
        if OTHERS.contains(&format.name)
            && steps(&|before, next| [1, 1000].contains(&next.time_ns.wrapping_sub(before.time_ns)))
        {
            figures.push("times count up by one, as line numbers do".to_owned());
        }
        if devices.len() as u64 > number / 10 * 9 {
            let devices = devices.len();
            figures.push(format!("{} are of {devices} devices", count(number, "request")));
        }
        let back = data.windows(2).filter(|pair| pair[1].time_ns < pair[0].time_ns).count() as u64;
        let times: FxHashSet<u64> = data.iter().map(|request| request.time_ns).collect();
        let few = times.len() as u64 <= number / 4;
        let grow = data.windows(2).all(|pair| pair[1].offset >= pair[0].offset);
        if back > number / 3 || (few || grow) && back > number / 8 {
            figures.push(format!("times go back {back} times in {}", count(number, "request")));
        }
        // Sizes are mostly whole pages of 4 KiB: multiples of 8 sectors, or any number if the unit
        // is a page.
        let pages = if unit == 4096 { 1 } else { 8 };
        let is_like_a_size =
            |request: &&&Request| request.device > 0 && request.device.is_multiple_of(pages);
        let like_sizes = data.iter().filter(is_like_a_size).count() as u64;
        if devices.len() > sizes.len() && devices.len() > 2 && like_sizes > number / 2 {
            let (devices, sizes) = (devices.len(), sizes.len());
            figures.push(format!("devices are as sizes are: {devices} devices, and {sizes} sizes"));
        }
        if offsets.len() > 2 && data.iter().all(|request| (0..4096).contains(&request.offset)) {
            figures.push("all requests begin in the first 4096 bytes".to_owned());
        }
    }
    figures
}
