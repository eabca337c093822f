//! The TPC-C generator: the numbers of reads and writes of each table, worked out from the profiles
//! of the transactions, and the skew within the tables, from NURand's closed form.

use crate::generate_common::draw_ops;
use flashgc_workload::Op;
use flashgc_workload::generate::GeneratorSpec;

/// The first page of each table for two warehouses, on pages of 16 KiB. A page has 184, 172, 199,
/// 25, 53, 682, 2048, 303 and 356 rows of the tables in clause 1.2.1 of TPC-C (89, 95, 82, 655,
/// 306, 24, 8, 54 and 46 bytes long).
const FIRST: [(&str, u32); 9] = [
    ("warehouse", 0),
    ("district", 1),
    ("item", 2),
    ("customer", 505),
    ("stock", 2905),
    ("order", 6679),
    ("new-order", 6767),
    ("line", 6797),
    ("history", 8778),
];
const PAGES: u32 = 8947;
const COMMANDS: usize = 3_000_000;

/// Returns the numbers of reads and writes of each table.
fn traffic(pages: &[u32], ops: &[Op]) -> [(f64, f64); 9] {
    let mut counts = [(0.0, 0.0); 9];
    for (&page, op) in pages.iter().zip(ops) {
        let table = FIRST.iter().rposition(|&(_, first)| page >= first).unwrap();
        match op {
            Op::Read => counts[table].0 += 1.0,
            Op::Write => counts[table].1 += 1.0,
            Op::Trim | Op::Dirty | Op::Clean | Op::Flush => panic!("no read or write"),
        }
    }
    counts
}

#[test]
fn tables_are_read_and_written_as_the_transactions_say() {
    let (pages, ops) = draw_ops("tpcc:warehouses=2", 10_000, 3, COMMANDS);
    assert!(pages.iter().all(|&page| page < PAGES), "the rest of the drive is not touched");
    let found = traffic(&pages, &ops);
    // Each row has the reads and the writes of a table per transaction. The types have the shares
    // 0.45, 0.43, 0.04, 0.04 and 0.04, and an order has ten lines. Comments name the types that
    // read; then, after a semicolon, those that write. The reads of customers are tested below:
    // they have no round number.
    let expected: [(Option<f64>, f64); 9] = [
        (Some(0.45), 0.43),                // New-Order; Payment
        (Some(0.04), 0.45 + 0.43),         // Stock-Level; New-Order, Payment
        (Some(0.45 * 10.0), 0.0),          // New-Order, one for each line
        (None, 0.43 + 0.04 * 10.0),        // tested below; Payment, Delivery
        (Some(0.04 * 200.0), 0.45 * 10.0), // Stock-Level; New-Order
        (Some(0.04), 0.45 + 0.4),          // Order-Status; New-Order, Delivery
        (Some(0.0), 0.45 + 0.4),
        (None, f64::NAN),
        (Some(0.0), 0.43),
    ];
    let transactions = found[0].0 + found[0].1;
    let transactions = transactions / 0.88;
    for (index, (reads, writes)) in expected.into_iter().enumerate() {
        let close = |what: &str, found: f64, expected: f64| {
            // Transactions are independent, and each has a limited number of commands: five
            // standard deviations are allowed.
            let most = if FIRST[index].0 == "stock" && what == "read" { 200.0 } else { 15.0 };
            let allowed = 5.0 * (transactions * expected * most).sqrt();
            let expected = transactions * expected;
            let name = FIRST[index].0;
            assert!((found - expected).abs() <= allowed, "{name} {what}: {found} of {expected}");
        };
        if let Some(reads) = reads {
            close("read", found[index].0, reads);
        }
        if !writes.is_nan() {
            close("written", found[index].1, writes);
        }
    }
    // Ten lines are on one page of 303 lines or on two. An order's first line is at a multiple of
    // ten, so in about 9.5 of 303 cases they are on two. The transactions are New-Order and
    // Delivery.
    let lines = found[7].1 / transactions;
    assert!((0.85..0.85 * 1.06).contains(&lines), "{lines}");
    // A last name is drawn in 60% of 0.43 + 0.04 cases, and all customers with it are read: one of
    // the first thousand customers, and each of the other 2000 with the probability P of the name,
    // because their names are drawn in the same way. The constant C only shifts the names.
    let mut chances = vec![0.0; 1000];
    for pair in 0..256_000 {
        chances[((pair / 1000) | (pair % 1000)) % 1000] += 1.0 / 256e3;
    }
    let powers = |power| chances.iter().map(|chance: &f64| chance.powi(power)).sum::<f64>();
    let expected = 1.0 + 2000.0 * powers(2);
    let customers = (found[3].0 / transactions - 0.45 - 0.04) / (0.6 * 0.47);
    // The variance comes from the names that customers get when the table is loaded, a sum of
    // Poisson numbers. The variance from the transactions is much smaller.
    let allowed = 5.0 * (2000.0 * powers(3)).sqrt() + 0.1;
    assert!((customers - expected).abs() < allowed, "{customers} of {expected} ± {allowed}");
}

#[test]
fn items_are_as_skewed_as_nurand_says() {
    // Seven items fit on a page of 655 bytes, after one page of warehouses and two of districts. An
    // item whose low 13 bits (minus C) have n ones is drawn by 3^n of 4^13 pairs. The test compares
    // the share of the quarter of the pages that gets the most.
    let (pages, ops) = draw_ops("tpcc:warehouses=1,page=655B", 200_000, 5, COMMANDS);
    let mut counts = vec![0u32; 100_000_usize.div_ceil(7)];
    for (&page, &op) in pages.iter().zip(&ops) {
        if let (Op::Read, Some(count)) = (op, counts.get_mut((page as usize).wrapping_sub(3)))
            && page >= 3
        {
            *count += 1;
        }
    }
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let all: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    let top: u64 = counts[..counts.len() / 4].iter().map(|&count| u64::from(count)).sum();
    let found = top as f64 / all as f64;
    // Only the 12 whole blocks of 8192 items count. The place at which a page begins in a block
    // hardly matters.
    let weight = |v: u32| 3u64.pow((v & 8191).count_ones());
    let mut exact: Vec<u64> = (0..98_304u32)
        .collect::<Vec<_>>()
        .chunks(7)
        .map(|items| items.iter().map(|&v| weight(v)).sum())
        .collect();
    exact.sort_unstable_by(|a, b| b.cmp(a));
    let quarter: u64 = exact[..exact.len() / 4].iter().sum();
    let expected = quarter as f64 / exact.iter().sum::<u64>() as f64;
    assert!((found - expected).abs() < 0.02, "{found} against {expected}");
    assert!(expected > 0.5, "a quarter of the pages gets more than half: {expected}");
}

#[test]
fn districts_are_alike_and_orders_append() {
    let (pages, ops) = draw_ops("tpcc:warehouses=2,page=655B", 240_000, 1, 400_000);
    // Districts have 6 rows a page: 20 rows on 4 pages, after one page of warehouses.
    let mut counts = [0.0; 4];
    for (&page, op) in pages.iter().zip(&ops) {
        if (1..5).contains(&page) && *op == Op::Write {
            counts[page as usize - 1] += 1.0;
        }
    }
    let all: f64 = counts.iter().sum();
    for (count, rows) in counts.iter().zip([6.0, 6.0, 6.0, 2.0]) {
        assert!((count / all - rows / 20.0).abs() < 5.0 * (0.25 / all).sqrt(), "{counts:?}");
    }
    // History is the last table, with 14 rows a page, after the 1, 4, 14286, 60000, 100000, 2223,
    // 741 and 50000 pages of the other tables.
    let history: Vec<u32> = pages.iter().copied().filter(|&page| page >= 227_255).collect();
    assert!(history.len() > 1000);
    assert!(history.iter().zip(0..).all(|(&page, row)| page == 227_255 + row / 14));
}

#[test]
fn what_does_not_fit_is_said() {
    let open = |text: &str, pages| match GeneratorSpec::parse(text) {
        Ok(spec) => spec.open(pages, 1).err().map(|error| error.to_string()),
        Err(error) => Some(error.to_string()),
    };
    assert_eq!(open("tpcc", 4727), None);
    assert_eq!(
        open("tpcc", 4726).unwrap(),
        "tpcc: found 4726 logical pages, expected 4727 pages for 1 warehouse; hint: a larger drive"
    );
    let found = open("tpcc:warehouses=3", 10_000).unwrap();
    assert!(found.contains("13166 pages") && found.ends_with("or warehouses=2"), "{found}");
    let found = open("tpcc:page=512B", 100_000).unwrap();
    assert!(
        found.starts_with(
            "tpcc: rows have 512 bytes of a page, expected at least 655, the \
                               longest row"
        ),
        "{found}"
    );
    let suits = |text: &str, bytes| {
        let spec = GeneratorSpec::parse(text).unwrap();
        spec.check_page_size(bytes).err().map(|error| error.to_string())
    };
    assert_eq!(suits("tpcc", 16_384), None);
    assert_eq!(suits("0.5*tpcc:page=8KiB + 0.5*uniform", 8192), None);
    assert_eq!(
        suits("0.5*uniform + 0.5*tpcc", 4096).unwrap(),
        "tpcc: found pages of 16384 bytes, expected the drive's 4096 bytes; hint: tpcc:page=4KiB, \
         or page_size=\"16KiB\""
    );
    let found = open("tpcc:read=10%", 100_000).unwrap();
    assert!(found.contains("no parameter 'read'"), "{found}");
}
