//! The pages that a TPC-C database reads and writes: nine tables, five transactions, their skew.
//!
//! Transactions follow each other as one stream: 45% New-Order, 43% Payment, 4% each of
//! Order-Status, Delivery and Stock-Level. Warehouses and districts are uniform; customers, items
//! and last names are drawn with NURand(A, x, y) = (((a | b) + C) mod (y - x + 1)) + x, where a is
//! uniform in 0..A, b in x..y and C a constant of the run. For items, P(v) = 3^(one bits among the
//! low 13 of v - C) / (8192 * 100 000), where all these 8192 values exist. Some pages are therefore
//! hot and most are not.
//!
//! A changed row is one write of its page, a row that is only read is one read. These are the
//! requests of a database to its buffer cache. Use `--host-cache buffer-cache`, which reads a page
//! before it changes it; without a host cache every change is a host write. Reads and writes come
//! from the transactions: there is no `read` or `trim`.
//!
//! Tables lie one behind the other, rows by their keys: warehouses, districts, items, customers,
//! stock, orders, new orders, order lines, history. Orders, their lines and new orders are appended
//! in their district, history at its end. Each part starts again at its beginning when it has its
//! initial size, as if the oldest rows were archived. There are no indexes and no log, which is on
//! another disk. `fill` leaves room for them in every page; 72% gives 96 MB a warehouse, as in the
//! paper below.
//!
//! Simplified: no New-Order is rolled back (1% in the benchmark). The customer of an order is drawn
//! again at its delivery, and Order-Status reads any order of the district.
//!
//! # Cost
//!
//! Some 46 page commands a transaction, three random numbers a row. Memory: 8 bytes a district.
//!
//! # Source
//!
//! TPC Benchmark C, revision 5.11: tables and row lengths of clause 1.2, transactions of clause 2,
//! mix of clause 5.2.3, NURand of clause 2.1.6. The workload of Lee et al., IEEE Trans. on
//! Computers 64(4), 2015, section 5.3.

mod nurand;
mod tables;
mod transactions;

use std::sync::Arc;

use flashgc_base::spec::{Param, SpecError, count};

use self::tables::{Tables, WIDEST, largest};
use self::transactions::Transactions;
use super::{ALIGN, Blocks, FROM, Generator, GeneratorInfo, Random, SIZE, STREAM, TO};
use crate::units::Quantity;

const WAREHOUSES: Param = Param::integer("warehouses", (0, 1 << 20), Some("0"))
    .help("warehouses; 0: as many as the drive holds");
const PAGE: Param = Param::text("page", Some("16KiB"))
    .help("size of a database page; it must equal the drive's page size");
const FILL: Param =
    Param::real("fill", (0.01, 1.0), Some("1")).help("share of a page that is filled with rows");

pub(super) const INFO: GeneratorInfo = GeneratorInfo {
    name: "tpcc",
    params: &[WAREHOUSES, PAGE, FILL, STREAM, FROM, TO, SIZE, ALIGN],
    source: include_str!("mod.rs"),
    plan: |params| {
        let form = "write page=16KiB, or another of B, MiB, GiB";
        let page = Quantity::Size.parse("page", params.text("page"), form)?;
        let room = (page * params.real("fill")) as u32;
        if room < WIDEST {
            return Err(SpecError::new(
                format!(
                    "tpcc: rows have {room} bytes of a page, expected at least {WIDEST}, the \
                         longest row"
                ),
                "a larger page, or a larger fill",
            ));
        }
        Ok(Arc::new(Tpcc { warehouses: params.integer("warehouses") as u32, page, room }))
    },
};

#[derive(Debug)]
struct Tpcc {
    warehouses: u32,
    /// The size of a page in bytes.
    page: f64,
    /// The bytes of a page that rows can fill.
    room: u32,
}

impl Generator for Tpcc {
    fn page_size(&self) -> Option<f64> {
        Some(self.page)
    }

    fn open(&self, pages: u32, random: &Random) -> Result<Box<dyn Blocks>, SpecError> {
        let most = largest(pages, self.room);
        if most == 0 || self.warehouses > most {
            let wanted = self.warehouses.max(1);
            let needed = Tables::new(wanted, self.room).pages;
            let hint = match most {
                0 => "a larger drive".to_string(),
                most => format!("a larger drive, or warehouses={most}"),
            };
            return Err(SpecError::new(
                format!(
                    "tpcc: found {1}, expected {needed} pages for {0}",
                    count(wanted.into(), "warehouse"),
                    count(pages.into(), "logical page")
                ),
                hint,
            ));
        }
        let warehouses = if self.warehouses == 0 { most } else { self.warehouses };
        Ok(Box::new(Transactions::new(warehouses, self.room, random)))
    }
}
