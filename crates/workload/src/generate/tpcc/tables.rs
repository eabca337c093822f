//! The places of the rows of TPC-C's tables (clause 1.2.1 has the number and the length of rows).

/// The number of districts of a warehouse.
pub(super) const DISTRICTS: u32 = 10;
/// The number of customers of a district.
pub(super) const CUSTOMERS: u32 = 3000;
/// The number of orders of a district.
pub(super) const ORDERS: u32 = 3000;
/// The number of items in the catalogue.
pub(super) const ITEMS: u32 = 100_000;
/// The average number of lines of an order. The table of order lines has room for this average.
pub(super) const LINES: u32 = 10;
/// The number of orders of a district that wait for delivery at the start.
pub(super) const UNDELIVERED: u32 = 900;
/// The number of last names.
pub(super) const NAMES: u32 = 1000;
/// The length in bytes of the longest row, which is a customer's.
pub(super) const WIDEST: u32 = 655;

/// The place of a table: rows of the same length, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    first_page: u32,
    rows_per_page: u32,
}

impl Table {
    pub(super) fn page(self, row: u64) -> u32 {
        self.first_page + (row / u64::from(self.rows_per_page)) as u32
    }
}

/// The places of all tables, in their order on the drive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables {
    pub(super) warehouse: Table,
    pub(super) district: Table,
    pub(super) item: Table,
    pub(super) customer: Table,
    pub(super) stock: Table,
    pub(super) order: Table,
    /// The table of new orders. It has room for every order of a district, with 8 bytes each: more
    /// than the 900 of the standard.
    pub(super) new_order: Table,
    pub(super) line: Table,
    pub(super) history: Table,
    pub(super) history_rows: u64,
    /// The number of pages of all tables together.
    pub(super) pages: u64,
}

impl Tables {
    /// Places the tables of `warehouses` warehouses on pages with `room` bytes for rows.
    pub(super) fn new(warehouses: u32, room: u32) -> Self {
        let mut pages = 0;
        let mut place = |rows: u64, bytes: u32| {
            let rows_per_page = room / bytes;
            let table = Table { first_page: pages as u32, rows_per_page };
            pages += rows.div_ceil(u64::from(rows_per_page));
            table
        };
        let warehouses = u64::from(warehouses);
        let districts = warehouses * u64::from(DISTRICTS);
        let orders = districts * u64::from(ORDERS);
        let customers = districts * u64::from(CUSTOMERS);
        Self {
            warehouse: place(warehouses, 89),
            district: place(districts, 95),
            item: place(ITEMS.into(), 82),
            customer: place(customers, WIDEST),
            stock: place(warehouses * u64::from(ITEMS), 306),
            order: place(orders, 24),
            new_order: place(orders, 8),
            line: place(orders * u64::from(LINES), 54),
            history: place(customers, 46),
            history_rows: customers,
            pages,
        }
    }
}

/// Returns the largest number of warehouses that fit on `pages` pages; 0 if none fits.
pub(super) fn largest(pages: u32, room: u32) -> u32 {
    let fits = |warehouses: u32| Tables::new(warehouses, room).pages <= u64::from(pages);
    // The number of pages grows with the number of warehouses, so a bisection finds it.
    let (mut low, mut high) = (0u32, 1 << 20);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    low
}

/// Returns the row of an order in the table of all orders. `order` counts the orders of the
/// district from its first one.
pub(super) fn slot(district: u32, order: u32) -> u64 {
    u64::from(district) * u64::from(ORDERS) + u64::from(order % ORDERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_lie_one_behind_the_other() {
        // One warehouse on pages of 16 KiB has 184, 172, 199, 25, 53, 682, 2048, 303 and 356 rows a
        // page, so the tables have 1, 1, 503, 1200, 1887, 44, 15, 991 and 85 pages.
        let tables = Tables::new(1, 16384);
        let first = [
            tables.warehouse,
            tables.district,
            tables.item,
            tables.customer,
            tables.stock,
            tables.order,
            tables.new_order,
            tables.line,
            tables.history,
        ]
        .map(|table| table.first_page);
        assert_eq!(first, [0, 1, 2, 505, 1705, 3592, 3636, 3651, 4642]);
        assert_eq!(tables.pages, 4727);
        assert_eq!(tables.history.page(29_999), 4726);
    }

    #[test]
    fn as_many_warehouses_as_fit_are_the_most() {
        for pages in [4726, 4727, 9000, 1_900_000] {
            let most = largest(pages, 16384);
            assert!(most == 0 || Tables::new(most, 16384).pages <= pages.into());
            assert!(Tables::new(most + 1, 16384).pages > pages.into());
        }
        // If rows fill 72% of a page, a warehouse needs 96 MB, and 300 warehouses need the 28.8 GB
        // of TPC-C1 in the paper.
        let bytes = Tables::new(300, 11796).pages * 16384;
        assert!((28.7e9..28.9e9).contains(&(bytes as f64)), "{bytes}");
    }
}
