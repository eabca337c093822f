//! Working sets and phases: the members of the set, the length of phases, and the shares of the
//! members.

use std::collections::BTreeSet;

use crate::generate_common::draw;

#[test]
fn phases_last_a_geometric_number_of_commands() {
    // The set is one page that changes in every phase, so a phase is a run of one page.
    let length = 50.0;
    let pages = draw("phases:set=0,length=50,keep=0", 1000, 1, 1_000_000);
    let mut runs: Vec<u64> = vec![1];
    for pair in pages.windows(2) {
        if pair[0] == pair[1] { *runs.last_mut().unwrap() += 1 } else { runs.push(1) }
    }
    let count = runs.len() as f64;
    let mean = runs.iter().sum::<u64>() as f64 / count;
    // The standard deviation of a geometric number with mean m is sqrt(m^2 - m). The mean may
    // differ by five of its standard deviations.
    assert!((mean - length).abs() < 5.0 * (length * length - length).sqrt() / count.sqrt());
    // P(more than 2 m) = (1 - 1/m)^(2 m) = 0.1326.
    let long = runs.iter().filter(|&&run| run > 100).count() as f64 / count;
    assert!((long - 0.98f64.powi(50).powi(2)).abs() < 5.0 * (0.1326f64 * 0.8674 / count).sqrt());
}

#[test]
fn a_phase_keeps_its_share_of_the_set() {
    // 10 of 100 000 pages are in the set, and 5 of them change. Nearly all pages that enter are
    // new, so the distinct pages count the phases: 1000 on average, with standard deviation
    // sqrt(1000).
    let pages = draw("phases:set=0.0001,length=1000,keep=0.5,theta=0", 100_000, 3, 1_000_000);
    let distinct = pages.iter().collect::<BTreeSet<_>>().len() as f64;
    assert!((distinct - 5005.0).abs() < 5.0 * 5.0 * 1000f64.sqrt(), "{distinct}");
    // The set never changes if all members are kept, or if the set has all pages.
    for text in ["phases:set=0.01,length=10,keep=1", "phases:set=1,length=10,keep=0"] {
        let pages = draw(text, 1000, 1, 100_000);
        let set = pages.iter().collect::<BTreeSet<_>>().len();
        assert_eq!(set, if text.contains("set=1,") { 1000 } else { 10 }, "{text}");
    }
}

#[test]
fn members_are_used_as_their_rank_says() {
    // The four pages have the probabilities 1, 1/2, 1/3 and 1/4, divided by their sum, 25/12.
    let n = 200_000;
    let mut uses = std::collections::BTreeMap::new();
    for page in draw("phases:set=0.04,length=1000,keep=1,theta=1", 100, 7, n) {
        *uses.entry(page).or_insert(0u32) += 1;
    }
    let mut found: Vec<f64> = uses.values().map(|&used| f64::from(used)).collect();
    found.sort_by(|a, b| b.total_cmp(a));
    let expected = [1.0, 1.0 / 2.0, 1.0 / 3.0, 1.0 / 4.0].map(|p| p * 12.0 / 25.0 * n as f64);
    let chi: f64 = found.iter().zip(expected).map(|(f, e)| (f - e).powi(2) / e).sum();
    // Chi-square with 3 degrees of freedom; 16.3 is the 0.1% point.
    assert!(found.len() == 4 && chi < 16.3, "{found:?} {expected:?}");
}

#[test]
fn every_page_has_its_turn() {
    let pages = draw("phases:set=0.05,length=100,keep=0.5", 1000, 1, 200_000);
    assert_eq!(pages.iter().collect::<BTreeSet<_>>().len(), 1000);
}
