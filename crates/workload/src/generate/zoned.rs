//! Zones of addresses, one after the other, each with its share of the commands.
//!
//! `shares=50/5:30/15:20/80` sends 50% of the commands to the first 5% of the addresses, 30% to the
//! next 15% and 20% to the last 80%. Both numbers are proportions and need not sum to 100, so
//! `shares=60/20:40/600` are zones of 20 and 600 GiB on a drive of 620 GiB. Every page of a zone is
//! equally likely: P(page) = share of its zone / pages of its zone. A zone with share 0 is never
//! requested. The zones are those of `classes` with `scatter=no`, in the notation of fio.
//!
//! # Cost
//!
//! Two random words and a table access a command. Shares are off by at most 2^-33.
//!
//! # Source
//!
//! fio's `random_distribution=zoned`. The default is the enterprise workload of JEDEC JESD219, as
//! in fio's `examples/jesd219.fio`.

use std::sync::Arc;

use flashgc_base::spec::{Param, SpecError};

use super::classes::Classes;
use super::proportions::Proportions;
use super::{ALIGN, FROM, GeneratorInfo, READ, SIZE, STREAM, TO, TRIM};

const SHARES: Param = Param::text("shares", Some("50/5:30/15:20/80"))
    .help("share of the commands / share of the addresses of each zone, as proportions");

pub(super) const INFO: GeneratorInfo = GeneratorInfo {
    name: "zoned",
    params: &[SHARES, READ, TRIM, STREAM, FROM, TO, SIZE, ALIGN],
    source: include_str!("zoned.rs"),
    plan: |params| {
        let text = params.text(SHARES.name);
        let zones: Option<Vec<_>> = text.split(':').map(|zone| zone.split_once('/')).collect();
        let zones = zones.and_then(|zones| {
            let (shares, pages): (Vec<_>, Vec<_>) = zones.into_iter().unzip();
            Proportions::of(params.owner(), &pages.join("/"), &shares.join("/"))
        });
        let Some(zones) = zones else {
            return Err(SpecError::new(
                format!(
                    "zoned: found shares={text}, expected two numbers from 0 for each zone, as in 50/5, not \
                     all of them 0"
                ),
                format!("{}, for example shares=50/5:30/15:20/80", SHARES.help),
            ));
        };
        Ok(Arc::new(Classes::in_order(zones)))
    },
};
