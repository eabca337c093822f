//! Collectors: a victim policy and a placement under the name by which a paper compares them.

/// One collector.
pub struct CollectorInfo {
    /// The name people type.
    pub name: &'static str,
    /// A summary of one line, with its source.
    pub summary: &'static str,
    /// The spec of its victim policy.
    pub victim: &'static str,
    /// The spec of its placement, on the pool frontier.
    pub placement: &'static str,
}

// DAC with three regions, without a threshold: Lee et al. 2015, section 5.1; with the zombie block
// for the zombie-aware ones, Table 1; without it the `-nz` of section 5.2.4.
static COLLECTORS: &[CollectorInfo] = &[
    CollectorInfo {
        name: "gc-gd",
        summary: "greedy with DAC (Lee et al. 2015, Table 1)",
        victim: "greedy",
        placement: "dac:regions=3",
    },
    CollectorInfo {
        name: "gc-cb",
        summary: "cost-benefit with DAC (Lee et al. 2015, Table 1)",
        victim: "cost-benefit",
        placement: "dac:regions=3",
    },
    CollectorInfo {
        name: "zgc-gd",
        summary: "z-greedy with DAC and the zombie block (Lee et al. 2015, Table 1)",
        victim: "z-greedy",
        placement: "dac:regions=3,zombie-block=yes",
    },
    CollectorInfo {
        name: "zgc-cb",
        summary: "z-cost-benefit with DAC and the zombie block (Lee et al. 2015, Table 1)",
        victim: "z-cost-benefit",
        placement: "dac:regions=3,zombie-block=yes",
    },
    CollectorInfo {
        name: "zgc-gd-nz",
        summary: "z-greedy with DAC, no zombie block (Lee et al. 2015, section 5.2.4)",
        victim: "z-greedy",
        placement: "dac:regions=3",
    },
    CollectorInfo {
        name: "zgc-cb-nz",
        summary: "z-cost-benefit with DAC, no zombie block (Lee et al. 2015, section 5.2.4)",
        victim: "z-cost-benefit",
        placement: "dac:regions=3",
    },
    CollectorInfo {
        name: "sepbit",
        summary: "SepBIT with the victims of its code, (1-u)/u sqrt(age) (Wang et al. 2022)",
        victim: "cost-benefit:form=sqrt",
        placement: "sepbit",
    },
    CollectorInfo {
        name: "sepbit-cb",
        summary: "SepBIT with cost-benefit",
        victim: "cost-benefit",
        placement: "sepbit",
    },
    CollectorInfo {
        name: "multilog-cb",
        summary: "MultiLog with cost-benefit",
        victim: "cost-benefit",
        placement: "multilog",
    },
    CollectorInfo {
        name: "fadac-cb",
        summary: "FADaC with cost-benefit",
        victim: "cost-benefit",
        placement: "fadac",
    },
    CollectorInfo {
        name: "warcip-cb",
        summary: "WARCIP with cost-benefit",
        victim: "cost-benefit",
        placement: "warcip",
    },
    CollectorInfo {
        name: "intervals-cb",
        summary: "update-interval quantiles with cost-benefit",
        victim: "cost-benefit",
        placement: "intervals",
    },
    CollectorInfo {
        name: "gdt-cb",
        summary: "grouping by death time with cost-benefit",
        victim: "cost-benefit",
        placement: "gdt",
    },
    CollectorInfo {
        name: "sfs-cb",
        summary: "SFS's groups of hotness with cost-benefit",
        victim: "cost-benefit",
        placement: "sfs",
    },
];

/// Every collector, in the order in which listings show them.
pub fn collectors() -> &'static [CollectorInfo] {
    COLLECTORS
}
