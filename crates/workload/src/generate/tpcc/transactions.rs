//! The five transactions of TPC-C (clause 2), as page commands.

use flashgc_base::rng::Stream;
use flashgc_base::snapshot::{Fault, State};

use super::nurand::NuRand;
use super::tables::{
    CUSTOMERS, DISTRICTS, ITEMS, LINES, NAMES, ORDERS, Table, Tables, UNDELIVERED, slot,
};
use crate::Op;
use crate::generate::{BLOCK, Blocks, Random};

#[derive(State)]
#[snapshot(then = check)]
pub(super) struct Transactions {
    #[snapshot(skip)]
    tables: Tables,
    #[snapshot(skip)]
    warehouses: u32,
    #[snapshot(skip)]
    customer: NuRand,
    #[snapshot(skip)]
    item: NuRand,
    #[snapshot(skip)]
    name: NuRand,
    /// For each last name, the customers of a district with that name, in the order of their
    /// numbers.
    #[snapshot(skip)]
    named: Vec<Vec<u32>>,
    /// For each district, the number of its next order and of the next order to deliver, counted
    /// from the first order.
    #[snapshot(table)]
    next: Vec<(u32, u32)>,
    /// The number of rows appended to the history.
    payments: u64,
    random: Stream,
    /// The commands of the current transactions. Those from `used` on were not handed out yet.
    requests: Vec<(u32, Op)>,
    used: usize,
    #[snapshot(table)]
    ops: [Op; BLOCK],
}

impl Transactions {
    pub(super) fn new(warehouses: u32, room: u32, random: &Random) -> Self {
        let mut stream = Stream::new(random.seed, &random.name);
        let name = NuRand::new(255, 0, NAMES - 1, &mut stream);
        let mut named: Vec<Vec<u32>> = (0..NAMES).map(|name| vec![name]).collect();
        // Clause 4.3.3.1: the first thousand customers have each name once; the names of the others
        // are drawn.
        for customer in NAMES..CUSTOMERS {
            named[name.draw(&mut stream) as usize].push(customer);
        }
        Self {
            tables: Tables::new(warehouses, room),
            warehouses,
            customer: NuRand::new(1023, 1, CUSTOMERS, &mut stream),
            item: NuRand::new(8191, 1, ITEMS, &mut stream),
            name,
            named,
            next: vec![(ORDERS, ORDERS - UNDELIVERED); (warehouses * DISTRICTS) as usize],
            payments: 0,
            random: stream,
            requests: Vec::new(),
            used: 0,
            ops: [Op::Write; BLOCK],
        }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.used <= self.requests.len() {
            return Ok(());
        }
        Err(Fault::new("more commands are used than there are"))
    }

    fn ask(&mut self, table: Table, row: u64, op: Op) {
        self.requests.push((table.page(row), op));
    }

    /// Adds a command for each page of the rows `from..from + count` of a table.
    fn ask_rows(&mut self, table: Table, from: u64, count: u64, op: Op) {
        let pages = table.page(from)..=table.page(from + count - 1);
        self.requests.extend(pages.map(|page| (page, op)));
    }

    fn transaction(&mut self) {
        match self.random.below(100) {
            0..45 => self.new_order(),
            45..88 => self.payment(),
            88..92 => self.order_status(),
            92..96 => self.delivery(),
            _ => self.stock_level(),
        }
    }

    fn warehouse(&mut self) -> u32 {
        self.random.below(self.warehouses)
    }

    /// Draws a warehouse and one of its districts. The number of the district counts over all
    /// warehouses.
    fn district(&mut self) -> (u32, u32) {
        let warehouse = self.warehouse();
        (warehouse, warehouse * DISTRICTS + self.random.below(DISTRICTS))
    }

    /// Draws a warehouse other than `home`; `home` if there is only one.
    fn elsewhere(&mut self, home: u32) -> u32 {
        match self.warehouses {
            1 => home,
            all => (home + 1 + self.random.below(all - 1)) % all,
        }
    }

    /// Draws a customer of a district and returns the customer's row. In 60% of the cases the draw
    /// is by last name: all customers with that name are read, and the middle one is chosen.
    /// Otherwise it is by number.
    fn find_customer(&mut self, district: u32) -> u64 {
        if self.random.below(100) >= 60 {
            return row_of_customer(district, self.customer.draw(&mut self.random) - 1);
        }
        let name = self.name.draw(&mut self.random) as usize;
        let rows = self.named[name].iter().map(|&customer| row_of_customer(district, customer));
        let table = self.tables.customer;
        self.requests.extend(rows.map(|row| (table.page(row), Op::Read)));
        let middle = (self.named[name].len() - 1) / 2;
        row_of_customer(district, self.named[name][middle])
    }

    fn new_order(&mut self) {
        let (warehouse, district) = self.district();
        let tables = self.tables;
        let customer = self.customer.draw(&mut self.random) - 1;
        self.ask(tables.warehouse, warehouse.into(), Op::Read);
        self.ask(tables.district, district.into(), Op::Write);
        self.ask(tables.customer, row_of_customer(district, customer), Op::Read);
        let order = self.next[district as usize].0;
        self.next[district as usize].0 += 1;
        self.ask(tables.order, slot(district, order), Op::Write);
        self.ask(tables.new_order, slot(district, order), Op::Write);
        let lines = 5 + self.random.below(11);
        for _ in 0..lines {
            let item = u64::from(self.item.draw(&mut self.random) - 1);
            let remote = self.random.below(100) == 0;
            let supply = if remote { self.elsewhere(warehouse) } else { warehouse };
            self.ask(tables.item, item, Op::Read);
            self.ask(tables.stock, u64::from(supply) * u64::from(ITEMS) + item, Op::Write);
        }
        self.lines(district, order, 1, lines, Op::Write);
    }

    /// Adds the pages of `lines` order lines for each of `orders` orders, beginning at `order`.
    fn lines(&mut self, district: u32, order: u32, orders: u32, lines: u32, op: Op) {
        let lines_before = |order| slot(district, order) * u64::from(LINES);
        let from = lines_before(order);
        let end = lines_before(0) + u64::from(ORDERS * LINES);
        let count = u64::from((orders - 1) * LINES + lines).min(end - from);
        self.ask_rows(self.tables.line, from, count, op);
    }

    fn payment(&mut self) {
        let (warehouse, district) = self.district();
        self.ask(self.tables.warehouse, warehouse.into(), Op::Write);
        self.ask(self.tables.district, district.into(), Op::Write);
        let home = if self.random.below(100) < 85 {
            district
        } else {
            self.elsewhere(warehouse) * DISTRICTS + self.random.below(DISTRICTS)
        };
        let customer = self.find_customer(home);
        self.ask(self.tables.customer, customer, Op::Write);
        let row = self.payments % self.tables.history_rows;
        self.payments += 1;
        self.ask(self.tables.history, row, Op::Write);
    }

    fn order_status(&mut self) {
        let (_, district) = self.district();
        let customer = self.find_customer(district);
        self.ask(self.tables.customer, customer, Op::Read);
        let order = self.random.below(ORDERS);
        self.ask(self.tables.order, slot(district, order), Op::Read);
        self.lines(district, order, 1, LINES, Op::Read);
    }

    fn delivery(&mut self) {
        let warehouse = self.warehouse();
        for district in warehouse * DISTRICTS..(warehouse + 1) * DISTRICTS {
            let (next, due) = self.next[district as usize];
            // Orders that were archived before their delivery are skipped.
            let order = due.max(next.saturating_sub(ORDERS));
            if order == next {
                continue;
            }
            self.next[district as usize].1 = order + 1;
            let customer = self.customer.draw(&mut self.random) - 1;
            self.ask(self.tables.new_order, slot(district, order), Op::Write);
            self.ask(self.tables.order, slot(district, order), Op::Write);
            self.lines(district, order, 1, LINES, Op::Write);
            self.ask(self.tables.customer, row_of_customer(district, customer), Op::Write);
        }
    }

    fn stock_level(&mut self) {
        const LAST: u32 = 20;
        let (warehouse, district) = self.district();
        self.ask(self.tables.district, district.into(), Op::Read);
        let next = self.next[district as usize].0;
        self.lines(district, next - LAST, LAST, LINES, Op::Read);
        for _ in 0..LAST * LINES {
            let item = u64::from(self.item.draw(&mut self.random) - 1);
            let row = u64::from(warehouse) * u64::from(ITEMS) + item;
            self.ask(self.tables.stock, row, Op::Read);
        }
    }
}

impl Blocks for Transactions {
    fn block(&mut self, pages: &mut [u32; BLOCK]) {
        for (page, op) in pages.iter_mut().zip(0..) {
            while self.used == self.requests.len() {
                self.requests.clear();
                self.used = 0;
                self.transaction();
            }
            (*page, self.ops[op]) = self.requests[self.used];
            self.used += 1;
        }
    }

    fn ops(&self) -> Option<&[Op; BLOCK]> {
        Some(&self.ops)
    }
}

fn row_of_customer(district: u32, customer: u32) -> u64 {
    u64::from(district) * u64::from(CUSTOMERS) + u64::from(customer)
}
