//! The mean field under uniform writes against the paper, closed forms and itself.

use flashgc_model::Drive;
use flashgc_model::meanfield::{Selection, Ties, uniform};

fn wa(b: u32, spare: f64, d: u32, c: u32) -> f64 {
    let selection = Selection::d_choices(d, c).unwrap();
    uniform::solve(&Drive::new(b, spare).unwrap(), &selection).unwrap().write_amplification
}

fn greedy(b: u32, spare: f64) -> f64 {
    let selection = Selection::Greedy { ties: Ties::Random };
    uniform::solve(&Drive::new(b, spare).unwrap(), &selection).unwrap().write_amplification
}

#[test]
fn table_1_of_van_houdt_2013() {
    let rows = [
        (64, 0.08, 5, 2, 6.2461),
        (64, 0.12, 6, 24, 4.2408),
        (64, 0.17, 8, 8, 3.0596),
        (32, 0.07, 6, 5, 6.4146),
        (32, 0.11, 20, 3, 4.2113),
        (32, 0.16, 15, 19, 3.0668),
        (16, 0.06, 10, 1, 6.1340),
        (16, 0.10, 4, 10, 4.5355),
        (16, 0.15, 2, 3, 3.9448),
    ];
    for (b, spare, d, c, published) in rows {
        let found = wa(b, spare, d, c);
        println!("{b} {spare} {d} {c}: {found:.6} published {published}");
        assert!((found / published - 1.0).abs() < 2e-4, "{b} {spare} {d} {c}: {found}");
    }
}

#[test]
fn known_values_for_64_pages_a_block_and_a_tenth_spare() {
    // These figures come from another program, which takes small steps by Euler's method. With d =
    // 1 the figure is 1 / S_f.
    let by_d = [
        (1, 10.0000),
        (2, 6.8516),
        (5, 5.3426),
        (10, 5.0002),
        (20, 4.8845),
        (50, 4.8392),
        (100, 4.8278),
        (2000, 4.8214),
    ];
    for (d, known) in by_d {
        assert!((wa(64, 0.1, d, 0) - known).abs() < 6e-5, "{d}: {}", wa(64, 0.1, d, 0));
    }
    let by_c = [(1, 4.9264), (2, 4.9126), (5, 4.9040), (10, 4.9010), (20, 4.8996), (50, 4.8990)];
    for (c, known) in by_c {
        assert!((wa(64, 0.1, 10, c) - known).abs() < 6e-5, "{c}: {}", wa(64, 0.1, 10, c));
    }
}

#[test]
fn greedy_is_the_limit_of_many_choices() {
    for (b, spare) in [(16, 0.05), (64, 0.1), (64, 0.3), (256, 0.07)] {
        let (greedy, many) = (greedy(b, spare), wa(b, spare, 10_000, 0));
        assert!((many / greedy - 1.0).abs() < 1e-4, "{b} {spare}: {many} {greedy}");
    }
    assert!((greedy(64, 0.1) - 4.8213).abs() < 5e-5);
    assert!((wa(64, 0.1, 2000, 0) / greedy(64, 0.1) - 1.0).abs() < 1e-4);
}
