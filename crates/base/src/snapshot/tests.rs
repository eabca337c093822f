//! Round trips, and bytes that were cut off or changed.

use std::collections::VecDeque;

use super::*;
use crate::rng::Stream;

#[derive(Clone, Debug, PartialEq, Value)]
enum Mood {
    Calm,
    Busy,
}

#[derive(Clone, Debug, PartialEq, Value)]
struct Entry {
    name: String,
    weight: f64,
    mood: Mood,
    pair: (u32, Option<u64>),
}

#[derive(Clone, Copy, Debug, PartialEq, Value)]
enum Order {
    Stop,
    Go(u8),
    Turn(u8, u32),
}

#[derive(Debug, PartialEq, Value)]
#[snapshot(then = complete)]
struct Course {
    orders: Vec<Order>,
    #[snapshot(skip)]
    turns: usize,
    length: u32,
}

impl Course {
    fn complete(&mut self) -> Result<(), Fault> {
        self.turns = self.orders.iter().filter(|order| matches!(order, Order::Turn(..))).count();
        crate::fail_if!(self.length == 0, "a course of no length");
        Ok(())
    }
}

#[derive(Clone, State)]
#[snapshot(named = "part")]
struct Part {
    #[snapshot(skip)]
    capacity: usize,
    #[snapshot(table)]
    table: Vec<u32>,
    queue: VecDeque<u16>,
    entries: Vec<Entry>,
    stream: Stream,
    #[snapshot(state)]
    inner: Option<Box<Part>>,
}

impl Part {
    fn new(capacity: usize) -> Self {
        Self {
            capacity,
            table: vec![0; capacity],
            queue: VecDeque::new(),
            entries: Vec::new(),
            stream: Stream::new(1, "part"),
            inner: (capacity > 2).then(|| Box::new(Self::new(capacity / 2))),
        }
    }

    fn live(&mut self) {
        self.table.iter_mut().for_each(|entry| *entry = self.stream.below(1000));
        self.queue.extend([7, 8, 9]);
        self.queue.pop_front();
        self.entries.push(Entry {
            name: "grün".to_string(),
            weight: -0.5,
            mood: Mood::Busy,
            pair: (3, Some(u64::MAX)),
        });
        if let Some(inner) = &mut self.inner {
            inner.live();
        }
    }
}

fn saved(part: &Part) -> (Vec<u8>, u64) {
    let mut bytes = Vec::new();
    let mut to = Writer::new(&mut bytes);
    part.save(&mut to);
    let (length, digest) = to.finish().unwrap();
    assert_eq!(length, bytes.len() as u64);
    (bytes, digest)
}

fn restored(bytes: &[u8], capacity: usize) -> Result<Part, Fault> {
    let mut part = Part::new(capacity);
    let mut source = bytes;
    let mut from = Reader::new(&mut source, bytes.len() as u64);
    part.restore(&mut from)?;
    from.end()?;
    Ok(part)
}

#[test]
fn what_was_saved_comes_back_and_goes_on_alike() {
    let mut part = Part::new(10_000);
    part.live();
    let (bytes, digest) = saved(&part);
    let mut again = restored(&bytes, 10_000).unwrap();
    assert_eq!(saved(&again), (bytes, digest));
    assert_eq!(again.stream.bits(), part.stream.bits());
    assert_eq!((&again.queue, &again.entries), (&part.queue, &part.entries));
    assert_eq!(again.capacity, 10_000);
}

#[test]
fn a_snapshot_that_ends_anywhere_is_a_fault() {
    let mut part = Part::new(9);
    part.live();
    let (bytes, _) = saved(&part);
    for length in 0..bytes.len() {
        assert!(restored(&bytes[..length], 9).is_err(), "{length} of {}", bytes.len());
    }
    let longer = [bytes.as_slice(), &[0]].concat();
    assert_eq!(restored(&longer, 9).err(), Some(Fault::new("1 bytes are left over")));
}

/// Changed bytes give a fault or another state, and nothing worse.
#[test]
fn no_changed_byte_breaks_the_reader() {
    let mut part = Part::new(9);
    part.live();
    let (bytes, digest) = saved(&part);
    let mut faults = 0;
    for at in 0..bytes.len() {
        for change in [1, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= change;
            match restored(&changed, 9) {
                Ok(part) => assert_ne!(saved(&part).1, digest),
                Err(_) => faults += 1,
            }
        }
    }
    assert!(faults > bytes.len() / 4, "{faults}");
}

#[test]
fn an_object_of_another_configuration_is_a_fault() {
    let (bytes, _) = saved(&Part::new(9));
    assert_eq!(restored(&bytes, 8).err(), Some(Fault::new("a table has 9 entries, expected 8")));
    let mut source = bytes.as_slice();
    let mut from = Reader::new(&mut source, bytes.len() as u64);
    assert_eq!(from.section("whole"), Err(Fault::new("no whole is where one was expected")));
}

#[test]
fn a_number_of_entries_beyond_the_bytes_is_refused_before_room_is_made() {
    let bytes = u64::MAX.to_le_bytes();
    let mut source = bytes.as_slice();
    let taken = Vec::<Entry>::take(&mut Reader::new(&mut source, 8));
    assert!(taken.unwrap_err().to_string().contains("more than it has bytes"));
}

#[test]
fn what_cannot_be_saved_is_said_at_the_end() {
    let mut bytes = Vec::new();
    let mut to = Writer::new(&mut bytes);
    to.refuse(Fault::new("no"));
    7u32.put(&mut to);
    assert_eq!(to.finish().unwrap_err().to_string(), "no");
    assert!(bytes.is_empty());
}

#[test]
fn variants_are_as_long_as_the_longest_and_skipped_fields_are_completed() {
    let bytes_of = |value: &dyn Fn(&mut Writer<'_>)| {
        let mut bytes = Vec::new();
        let mut to = Writer::new(&mut bytes);
        value(&mut to);
        to.finish().unwrap();
        bytes
    };
    let orders = [Order::Go(7), Order::Stop, Order::Turn(8, 9)];
    let by_hand = [(1u8, 7u8, 0u32), (0, 0, 0), (2, 8, 9)];
    for (order, hand) in orders.iter().zip(by_hand) {
        assert_eq!(bytes_of(&|to| order.put(to)), bytes_of(&|to| hand.put(to)));
    }
    let taken = |length: u32| {
        let course = Course { orders: orders.to_vec(), turns: 5, length };
        let bytes = bytes_of(&|to| course.put(to));
        Course::take(&mut Reader::new(&mut &bytes[..], bytes.len() as u64))
    };
    assert_eq!(taken(4).unwrap(), Course { orders: orders.to_vec(), turns: 1, length: 4 });
    assert_eq!(taken(0), Err(Fault::new("a course of no length")));
    let unknown = bytes_of(&|to| (3u8, 0u8, 0u32).put(to));
    let unknown = Order::take(&mut Reader::new(&mut &unknown[..], unknown.len() as u64));
    assert_eq!(unknown, Err(Fault::new("3 names no Order")));
}
