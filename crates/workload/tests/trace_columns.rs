//! Columns stated by the user, layouts in files, and built-in layouts, on inputs made for these
//! tests.

use std::sync::Arc;

use crate::trace_common::{read, reader};
use flashgc_workload::Op;
use flashgc_workload::trace::layout::{Layout, SHIPPED};
use flashgc_workload::trace::{Fault, ReadOptions, Request, TraceError};

/// A request: microseconds, `true` for a read, offset in bytes, size in bytes.
type Row = (u64, bool, u64, u64);

fn rows() -> Vec<Row> {
    let row =
        |i: u64| (500 * i + i * 7 % 300, i % 5 < 2, i * 7919 % 5000 * 4096, (1 + i % 4) * 4096);
    (0..60).map(row).collect()
}

fn lines(line: impl Fn(usize, Row) -> String) -> String {
    rows().into_iter().enumerate().map(|(number, row)| line(number, row)).collect()
}

fn with(columns: &str) -> ReadOptions {
    let layout = Layout::parse(columns).unwrap_or_else(|error| panic!("{columns}: {error:?}"));
    ReadOptions { columns: Some(Arc::new(layout)), ..ReadOptions::default() }
}

fn all(text: &str, options: &ReadOptions) -> Result<Vec<Request>, TraceError> {
    reader(text.as_bytes(), options)?.requests().collect()
}

#[track_caller]
fn assert_right(text: &str, options: &ReadOptions, device: u32) {
    let found = all(text, options).unwrap_or_else(|error| panic!("{error}"));
    let found: Vec<_> =
        found.iter().map(|r| (r.time_ns, r.op, r.offset, r.size, r.device)).collect();
    let right = rows().into_iter().map(|(us, is_read, offset, size)| {
        (us * 1000, if is_read { Op::Read } else { Op::Write }, offset as i64, size, device)
    });
    assert_eq!(found, right.collect::<Vec<_>>());
}

/// Returns lines in the form of xperf's dumper and of Microsoft's published server traces.
fn dumped(cpu: &str, value: &str) -> String {
    let head = |name: &str| {
        format!(
            "  {name},  TimeStamp,     Process Name ( PID),   ThreadID,{cpu}             IrpPtr,   \
             ByteOffset,     IOSize, ElapsedTime,  DiskNum, IrpFlags, FileName\n"
        )
    };
    let body = lines(|_, (us, is_read, offset, size)| {
        let name = if is_read { "DiskRead" } else { "DiskWrite" };
        format!(
            "      {name}Init, {us:10},   sql.exe (1234), 99, 0xff\n      {name}, {us:10},   sql.exe (1234), \
             1500,{value} 0xffffe288b23f1b20, {offset:#012x}, {size:#010x}, 283, 2, 0x060043, \"C:\\a, b\"\n"
        )
    });
    format!(
        "BeginHeader\n{}{}EndHeader\nOS Version: 6\n{body}",
        head("DiskRead"),
        head("DiskWrite")
    )
}

/// Returns an input for a built-in layout, and the number of its device.
fn input(layout: &str) -> (String, u32) {
    let letter = |is_read| if is_read { "R" } else { "W" };
    let seconds = |us: u64| format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
    match layout {
        "microsoft" => (dumped("", ""), 2),
        "xperf" => (dumped(" CPU,", " 1,"), 2),
        "wpa" => {
            let body = lines(|number, (us, is_read, offset, size)| {
                let (op, time) = (if is_read { "Read" } else { "Write" }, seconds(us));
                let size = format!("\"{},{:03}\"", size / 1000, size % 1000);
                let flush = format!("{number},\"a, b\",3,Flush,{time},{time},0,0x0,Normal\n");
                format!(
                    "{number},\"a, b\",3,{op},{time}000,{time}900,{size},0x{offset:X},Normal\n{flush}"
                )
            });
            let names = "Line #,Process,Disk,IO Type,Init Time (s),Complete Time (s),Size (B),Min Offset,Priority";
            (format!("\u{feff}{names}\r\n{}", body.replace('\n', "\r\n")), 3)
        }
        "biosnoop" => {
            let names = "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES   LAT(ms)\n";
            let body = lines(|number, (us, is_read, offset, size)| {
                let name = ["xfsaild/md0", "Web Content"][number % 2];
                let (time, sector, op) = (seconds(us), offset / 512, letter(is_read));
                format!("{time:11} {name:14} 1950   vda1   {op} {sector:10} {size:6}    0.74\n")
            });
            (names.to_owned() + &body, 0)
        }
        "simplessd" => {
            let body = lines(|number, (us, is_read, offset, size)| {
                let line = |action: &str| {
                    format!(
                        "  8,0    0  {number} {}000  400  {action} {}S {} + {} [app x]\n",
                        seconds(us),
                        letter(is_read),
                        offset / 512,
                        size / 512
                    )
                };
                line("Q") + &line("D")
            });
            (body, 0)
        }
        "replayer" => {
            let body = lines(|_, (us, is_read, offset, size)| {
                format!("{}.{:03} 0 {offset} {size} {}\n", us / 1000, us % 1000, u8::from(is_read))
            });
            (body, 0)
        }
        other => panic!("no input for {other}"),
    }
}

#[test]
fn layouts_that_ship_read_their_programs_lines() {
    for shipped in &SHIPPED {
        let layout = Layout::open(shipped.name).unwrap();
        assert!(!shipped.value("program").is_empty() && !shipped.value("source").is_empty());
        let options = ReadOptions { columns: Some(Arc::new(layout)), ..ReadOptions::default() };
        let (text, device) = input(shipped.name);
        assert_right(&text, &options, device);
    }
}

#[test]
fn a_file_of_such_a_program_is_refused_with_the_layout_that_reads_it() {
    for shipped in &SHIPPED {
        let (text, _) = input(shipped.name);
        match shipped.name {
            // The lines of blkparse are read by their own format.
            "simplessd" => assert_eq!(read(text.as_bytes()).unwrap().len(), 60),
            name => {
                let error = read(text.as_bytes()).unwrap_err().to_string();
                assert!(error.contains(&format!("layout=\"{name}\"")), "{error}");
            }
        }
    }
}

#[test]
fn stated_columns_are_read_with_their_units_values_and_separators() {
    let csv = lines(|number, (us, is_read, offset, size)| {
        let (ms, op) = (format!("{}.{:03}", us / 1000, us % 1000), u8::from(is_read));
        format!("{number},x,{ms},y,{},z,{},3,{op},w\n", offset / 512, size / 512)
    });
    let named = "index,a,when,b,where,c,howmuch,who,What,d\n".to_owned() + &csv;
    let numbered = "time=3:ms,op=9:0=write/1=read,offset=5:sector,size=7:sector,device=8";
    let by_name =
        "time=when:ms,op=what:0=write/1=read,offset=where:sector,size=howmuch:512,device=who";
    assert_right(&csv, &with(numbered), 3);
    assert_right(&named, &with(numbered), 3);
    assert_right(&named, &with(by_name), 3);
    // Joined files repeat the line of names, and comments begin with the stated sign.
    assert_right(&named, &with(&format!("{numbered},header=1,separator=comma")), 3);
    let joined =
        named.replacen("\n30,", "\nindex,a,when,b,where,c,howmuch,who,What,d\n% old\n30,", 1);
    assert_right(&joined, &with(&format!("{numbered},comment=%")), 3);
    assert_right(&joined, &with(&format!("{by_name},comment=%")), 3);
    for (separator, name) in [(";", "semicolon"), ("\t", "tab"), ("|", "bar"), ("  ", "blank")] {
        let text = csv.replace(',', separator);
        assert_right(&text, &with(&format!("{numbered},separator={name}")), 3);
        if name != "bar" {
            assert_right(&text, &with(numbered), 3);
        }
    }
    let hexadecimal = lines(|_, (us, is_read, offset, size)| {
        let op = if is_read { "rd" } else { "WR" };
        format!("{} sdb {:x} {:x} {op} {} note\n", us * 10, offset >> 10, size >> 10, "f".repeat(3))
    });
    let from_the_end =
        "time=1:100ns,op=-3:rd=read/wr=write,offset=3:KiB,size=4:1024,base=16,device=2:name";
    assert_right(&hexadecimal, &with(from_the_end), 0);
}

#[test]
fn flushes_and_other_lines_have_their_meaning() {
    let text = "1,w,0,8\n2,f,0,0\n3,x,no,no\n4,t,8,8\n";
    let columns = "time=1:s,op=2:w=write/f=flush/t=trim/*=other,offset=3:sector,size=4:sector";
    let options = ReadOptions { keep_flushes: true, ..with(columns) };
    let found = all(text, &options).unwrap();
    assert_eq!(found.iter().map(|r| r.op).collect::<Vec<_>>(), [Op::Write, Op::Flush, Op::Trim]);
    let only = with("time=1:s,op=3,offset=4,size=5,only=2:D");
    assert_eq!(all("1 Q W 0 8\n1 D W 0 8\n2 C W 0 8\n", &only).unwrap().len(), 1);
}

#[test]
fn a_bad_line_is_shown_as_it_was_cut() {
    let csv = "0,0.1,me,1,8,8\n1,0.2,me,7,16,8\n";
    let options = with("time=2:ms,op=4:0=write/1=read,offset=5:sector,size=6:sector");
    let error = all(csv, &options).unwrap_err();
    assert_eq!(error.fault, Fault::BadRecord);
    let text = error.to_string();
    for part in [
        ":2:10: found '7' in column 4, expected one of 0, 1",
        "cut at each comma, the line has 6 columns: 1 '1', 2 '0.2', 3 'me', 4 '7', 5 '16', 6 '8'",
        "hint: say which column is which, for example columns=\"time=1:ms,op=5",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let options = with("time=2:ms,op=8,offset=5,size=6");
    let text = all(csv, &options).unwrap_err().to_string();
    assert!(text.contains("no line has 8 columns"), "{text}");
    let options = with("time=2:ms,op=kind,offset=5,size=6");
    let text = all(csv, &options).unwrap_err().to_string();
    assert!(text.contains("no line of the start has columns named 'kind'"), "{text}");
}

#[test]
fn a_wrong_statement_is_refused_with_the_right_one() {
    for (text, part) in [
        ("time=1,op=2,offset=3,size=4", "no unit, and flashgc does not guess one"),
        ("time=1:h,op=2,offset=3,size=4", "unknown unit of time 'h'"),
        ("time=1:s,op=2,offset=3", "size is missing"),
        ("time=1:s,op=2,offset=0,size=4", "found column 0 for offset"),
        ("time=1:s,op=2:0=wirte,offset=3,size=4", "unknown operation 'wirte'"),
        ("time=1:s,op=2,offset=3:sectr,size=4", "unknown unit 'sectr'"),
        ("time=1:s,time=2:s,op=2,offset=3,size=4", "time is there twice"),
        ("tme=1:s", "unknown key 'tme'"),
        ("time", "expected KEY=COLUMN"),
        ("time=1:s,op=2,offset=3,size=4,separator=dot", "unknown separator 'dot'"),
        ("time=1:s,op=2,offset=3,size=4,base=7", "expected 10 or 16"),
        ("time=1:s,op=2,offset=3,size=4,only=2", "only has no value"),
    ] {
        let error = Layout::parse(text).unwrap_err();
        assert!(error.message.contains(part), "{text}: {error:?}");
    }
}

#[test]
fn a_layout_in_a_file_is_that_of_its_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.toml");
    let toml = "# ours\nprogram = \"ours\"\ntime = \"1:ms\" # ms\nop = \"5:0=write/1=read\"\n\
                offset = \"3:sector\"\nsize = \"4:sector\"\n\ndevice = 2\n";
    std::fs::write(&path, toml).unwrap();
    let layout = Layout::open(path.to_str().unwrap()).unwrap();
    assert_eq!(
        layout.text(),
        "time=1:ms,op=5:0=write/1=read,offset=3:sector,size=4:sector,device=2"
    );
    assert_eq!(layout, Layout::parse(layout.text()).unwrap());
    std::fs::write(&path, "time = 1:ms\n").unwrap();
    let error = Layout::open(path.to_str().unwrap()).unwrap_err().to_string();
    assert!(
        error.contains("own.toml:1:1: found 'time = 1:ms', expected KEY = \"VALUE\""),
        "{error}"
    );
    let error = Layout::open("nowhere.toml").unwrap_err().to_string();
    assert!(error.contains("a layout that ships: microsoft, xperf"), "{error}");
}
