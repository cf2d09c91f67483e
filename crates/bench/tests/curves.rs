//! The papers' figures, as data and as SVG.

use cenote_bench::curves;
use cenote_params::lego;
use cenote_params::pool::Request;
use cenote_params::three::{Variant, Workload};

#[test]
fn figures_5a_and_6() {
    let sizes = curves::sizes(1_000, 1_000_000_000, 4);
    assert_eq!(
        (sizes[0], *sizes.last().unwrap(), sizes.len()),
        (1_000, 1_000_000_000, 25)
    );
    let pools = curves::pools(&Request::new(40, 0), &sizes).unwrap();
    assert_eq!(pools.len(), sizes.len());
    for pair in pools.windows(2) {
        // "As n grows, B will never increase", the cost falls, and r_c falls while B stays.
        assert!(pair[1].bucket() <= pair[0].bucket());
        assert!(pair[1].gates_per_and() < pair[0].gates_per_and());
        assert!(pair[1].bucket() < pair[0].bucket() || pair[1].check_rate() < pair[0].check_rate());
    }
    let eight_million = curves::pools(&Request::new(41, 0), &[8_000_000]).unwrap();
    assert!(
        (eight_million[0].gates_per_and() - 4.0).abs() < 0.1,
        "the paper reads off about 4"
    );
    let svg = curves::plot_pool_cost(&[("paper".into(), pools.clone())]).to_svg();
    assert!(svg.contains("pool size n (gadgets)"));
    assert!(
        svg.lines()
            .any(|line| line.starts_with("<polyline") && line.matches(',').count() == 25)
    );
    let svg = curves::plot_pool_parameters(&pools).to_svg();
    assert!(svg.contains("check rate r_c (%)") && svg.contains("bucket size B"));
    assert!(curves::pools(&Request::new(40, 0), &[3, 4]).is_err());
}

#[test]
fn error_against_n() {
    let lines: Vec<_> = Variant::ALL
        .iter()
        .map(|&v| (format!("{v}, B = 3"), curves::errors(v, 3, 7..=24)))
        .collect();
    for (variant, (_, points)) in Variant::ALL.iter().zip(&lines) {
        assert_eq!(points.len(), 18);
        for point in points {
            let expected = -f64::from(variant.exponent(3)) * (point.n as f64).log2();
            assert_eq!(point.theorem.log2(), expected);
            assert!(point.error <= point.theorem);
        }
    }
    let svg = curves::plot_errors(&lines).to_svg();
    assert!(svg.contains("2¹⁰") && svg.contains("on-demand, B = 3"));
}

#[test]
fn cost_against_job_and_gates() {
    let blocks = curves::sizes(1, 10_000_000, 1);
    let points = curves::jobs(Variant::OnDemand, &Workload::default(), &blocks).unwrap();
    assert!(
        points
            .windows(2)
            .all(|pair| pair[1].bits_per_and < pair[0].bits_per_and)
    );
    assert!(
        curves::plot_jobs(&[("on-demand".into(), points)])
            .to_svg()
            .contains("size of the job (blocks of ANDs)")
    );
    let found = curves::legos(
        &lego::Request::new(40, 6928, 256),
        &curves::sizes(1_000, 100_000_000, 1),
    )
    .unwrap();
    assert!(
        found
            .windows(2)
            .all(|pair| pair[1].buckets().beta <= pair[0].buckets().beta)
    );
    assert!(curves::plot_legos(&found).to_svg().contains("bytes per AND gate"));
}

#[test]
fn figure_8() {
    let sizes = curves::sizes(100, 100_000_000, 2);
    let lines = [40, 64, 80].map(|s| (format!("s = {s}"), curves::triple_buckets(s, &sizes).unwrap()));
    for (_, points) in &lines {
        assert!(points.windows(2).all(|pair| pair[1].bucket <= pair[0].bucket));
    }
    assert_eq!(lines[0].1.last().map(|p| p.bucket), Some(3));
    let svg = curves::plot_triple_buckets(&lines).to_svg();
    assert!(svg.contains("s = 64") && svg.contains("bucket size B"));
    assert!(curves::triple_buckets(40, &[1]).is_err());
}
