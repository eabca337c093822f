//! Collectors: a victim policy and a placement under the name by which a paper compares them.

/// One collector, as listings need it.
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

impl CollectorInfo {
    const fn of(name: &'static str, victim: &'static str, placement: &'static str) -> Self {
        Self { name, summary: "", victim, placement }
    }

    const fn summary(self, summary: &'static str) -> Self {
        Self { summary, ..self }
    }
}

// DAC has three regions and no threshold (Lee et al. 2015, section 5.1). The zombie-aware
// collectors have the zombie block (Table 1). Those with `-nz` have none (section 5.2.4).
static COLLECTORS: &[CollectorInfo] = &[
    CollectorInfo::of("gc-gd", "greedy", "dac:regions=3")
        .summary("greedy with DAC (Lee et al. 2015, Table 1)"),
    CollectorInfo::of("gc-cb", "cost-benefit", "dac:regions=3")
        .summary("cost-benefit with DAC (Lee et al. 2015, Table 1)"),
    CollectorInfo::of("zgc-gd", "z-greedy", "dac:regions=3,zombie-block=yes")
        .summary("z-greedy with DAC and the zombie block (Lee et al. 2015, Table 1)"),
    CollectorInfo::of("zgc-cb", "z-cost-benefit", "dac:regions=3,zombie-block=yes")
        .summary("z-cost-benefit with DAC and the zombie block (Lee et al. 2015, Table 1)"),
    CollectorInfo::of("zgc-gd-nz", "z-greedy", "dac:regions=3")
        .summary("z-greedy with DAC, no zombie block (Lee et al. 2015, section 5.2.4)"),
    CollectorInfo::of("zgc-cb-nz", "z-cost-benefit", "dac:regions=3")
        .summary("z-cost-benefit with DAC, no zombie block (Lee et al. 2015, section 5.2.4)"),
    CollectorInfo::of("sepbit", "cost-benefit:form=sqrt", "sepbit")
        .summary("SepBIT with the victims of its code, (1-u)/u sqrt(age) (Wang et al. 2022)"),
    CollectorInfo::of("midas", "cost-benefit:form=sqrt", "midas")
        .summary("MiDAS with cost-benefit in the last group (Oh et al. 2024)"),
    CollectorInfo::of("sepbit-cb", "cost-benefit", "sepbit").summary("SepBIT with cost-benefit"),
    CollectorInfo::of("multilog-cb", "cost-benefit", "multilog")
        .summary("MultiLog with cost-benefit"),
    CollectorInfo::of("fadac-cb", "cost-benefit", "fadac").summary("FADaC with cost-benefit"),
    CollectorInfo::of("warcip-cb", "cost-benefit", "warcip").summary("WARCIP with cost-benefit"),
    CollectorInfo::of("intervals-cb", "cost-benefit", "intervals")
        .summary("update-interval quantiles with cost-benefit"),
    CollectorInfo::of("gdt-cb", "cost-benefit", "gdt")
        .summary("grouping by death time with cost-benefit"),
    CollectorInfo::of("sfs-cb", "cost-benefit", "sfs")
        .summary("SFS's groups of hotness with cost-benefit"),
];

/// Every collector, in the order in which listings show them.
pub fn collectors() -> &'static [CollectorInfo] {
    COLLECTORS
}
