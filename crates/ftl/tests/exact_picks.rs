//! The kinetic tournament picks what a plain scan over all blocks picks, decision by decision.

use crate::hinting::Hinting;
use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError};
use flashgc_ftl::track::{Kinetic, Score};
use flashgc_ftl::victim::{
    bsgc::Bsgc, cat::Cat, cost_benefit::CostBenefit, eigc::Eigc, mdc::Mdc, sagc::Sagc,
    scata::Scata, wear_aware::WearAware, z_cost_benefit::ZCostBenefit,
};
use flashgc_ftl::{
    Allocation, BlockId, BlockTable, Fill, Frontier, Geometry, Layer, Layout, PageMap, Translation,
    VictimPolicy, VictimSpec,
};

/// A policy whose every pick is compared with a scan of all blocks.
#[derive(State)]
struct Checked<P>(#[snapshot(state)] P);

impl<P: VictimPolicy<Tracker = Kinetic<P>> + Score> VictimPolicy for Checked<P> {
    type Tracker = Kinetic<P>;
    const NAME: &'static str = P::NAME;
    const PARAMS: &'static [Param] = P::PARAMS;
    const DRAWS: bool = false;

    fn new(params: &Params, blocks: &BlockTable, rng: &mut Stream) -> Result<Self, SpecError> {
        P::new(params, blocks, rng).map(Self)
    }

    fn bytes(&self, shape: &Geometry) -> u64 {
        VictimPolicy::bytes(&self.0, shape)
    }

    fn tracker(&self, blocks: &BlockTable) -> Kinetic<P> {
        self.0.tracker(blocks)
    }

    fn pick(
        &mut self,
        blocks: &BlockTable,
        tracker: &Kinetic<P>,
        rng: &mut Stream,
    ) -> Option<BlockId> {
        let pick = self.0.pick(blocks, tracker, rng);
        assert_eq!(pick, tracker.scan(blocks), "{} at clock {}", P::NAME, blocks.clock());
        pick
    }
}

/// Runs the policy under mixed writes and TRIMs until it made `decisions` picks, on drives of
/// several shapes; returns how many it made.
fn drive<P>(spec: &str, decisions: u64) -> u64
where
    P: VictimPolicy<Tracker = Kinetic<P>> + Score,
{
    let params = VictimSpec::parse(spec).unwrap().params().clone();
    let shapes = [
        (Frontier::Single, Fill::Sequential, 300, 16),
        (Frontier::Double, Fill::Random, 270, 48),
        (Frontier::Compact, Fill::Random, 260, 16),
        (Frontier::Pool { low: 3 }, Fill::Empty, 257, 8),
    ];
    let mut made = 0;
    for (frontier, fill, blocks, b) in shapes {
        let geometry = Geometry::with_spare(blocks, b, 0.15).unwrap();
        let allocation = Allocation::default();
        let layout = Layout { frontier, allocation, fill, seed: 5, ..Layout::new(geometry) };
        let mut layer = PageMap::<Checked<P>>::with_policy(layout, |blocks, rng| {
            Ok(Checked::<P>::new(&params, blocks, rng)?)
        })
        .unwrap();
        let pages = geometry.logical_pages();
        let mut stream = Stream::new(17, spec);
        let mut next = 0;
        while layer.counters().collections * 3 < decisions {
            let kind = stream.below(8);
            let length = 1 + stream.below(3 * b);
            let batch: Vec<u32> = (0..length)
                .map(|_| match kind {
                    0 => {
                        next = (next + 1) % pages; // sequential
                        next
                    }
                    1..4 => stream.below(pages),   // uniform
                    _ => stream.below(pages / 10), // hot
                })
                .collect();
            match stream.below(12) {
                0 | 1 => layer.trim(&batch).unwrap(),
                // Few policies use hints; the others ignore them.
                2..6 => layer.hints().hint(&batch).unwrap(),
                6 => layer.hints().cancel(&batch).unwrap(),
                7 if stream.below(50) == 0 => layer.hints().power_loss(),
                _ => layer.write(&batch).unwrap(),
            }
        }
        layer.audit().unwrap_or_else(|why| panic!("{spec} {frontier}: {why}"));
        made += layer.counters().collections;
    }
    made
}

fn all(decisions_each: u64) -> u64 {
    [
        drive::<CostBenefit>("cost-benefit", decisions_each),
        drive::<CostBenefit>("cost-benefit:form=lfs", decisions_each),
        drive::<CostBenefit>("cost-benefit:form=sqrt", decisions_each),
        drive::<CostBenefit>("cost-benefit:age=last_invalidate", decisions_each),
        drive::<CostBenefit>("cost-benefit:form=lfs,age=last_invalidate", decisions_each),
        drive::<Mdc>("mdc", decisions_each),
        drive::<Cat>("cat", decisions_each),
        drive::<Cat>("cat:age=last_invalidate", decisions_each),
        drive::<CostBenefit>("cost-benefit:age=last_collection", decisions_each),
        drive::<Cat>("cat:age=last_collection", decisions_each),
        drive::<Sagc>("sagc", decisions_each),
        drive::<Sagc>("sagc:weight=ratio", decisions_each),
        drive::<Scata>("scata", decisions_each),
        drive::<Eigc>("eigc", decisions_each),
        drive::<Eigc>("eigc:ratio=average", decisions_each),
        drive::<Bsgc>("bsgc", decisions_each),
        drive::<Bsgc>("bsgc:reading=literal", decisions_each),
        drive::<Bsgc>("bsgc:first=sample", decisions_each),
        drive::<Bsgc>("bsgc:ratio=live", decisions_each),
        drive::<Bsgc>("bsgc:reading=since_erase,wear=absolute", decisions_each),
        drive::<CostBenefit>("cost-benefit:weigh=log", decisions_each),
        drive::<CostBenefit>("cost-benefit:age=last_invalidate,weigh=log", decisions_each),
        drive::<Cat>("cat:weigh=log", decisions_each),
        drive::<Cat>("cat:age=last_collection,weigh=log", decisions_each),
        drive::<WearAware>("wear-aware", decisions_each),
        drive::<WearAware>("wear-aware:lambda=0.7", decisions_each),
        drive::<ZCostBenefit>("z-cost-benefit", decisions_each),
        drive::<ZCostBenefit>("z-cost-benefit:age=last_invalidate", decisions_each),
        drive::<ZCostBenefit>("z-cost-benefit:age=last_collection", decisions_each),
    ]
    .iter()
    .sum()
}

#[test]
fn fast_picks_equal_a_scan() {
    assert!(all(6_000) > 100_000);
}

#[test]
#[ignore = "millions of decisions: some ten seconds; run with --ignored"]
fn fast_picks_equal_a_scan_millions_of_times() {
    assert!(all(250_000) > 4_000_000);
}
