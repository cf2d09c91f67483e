//! The errors and the work that a session states are those that the parameters give for what it made.

use crate::common::start;
use cenote_lego::{Config, Order, estimate};
use cenote_params::lego::{Soundness, soundness};
use cenote_session::{Engine, Result};
use cenote_testkit::World;

/// What is made at a time.
const ORDER: Order = Order {
    ands: 3000,
    garbler_inputs: 100,
    evaluator_inputs: 200,
    anchors: 50,
    masks: 300,
    ports: 300,
};

/// What a session states after each of so many times.
fn stated(times: usize) -> Vec<(Soundness, f64, f64)> {
    let results = World::new(2, 5).run(move |mut context| -> Result<_> {
        let mut engine = start(&mut context, 40)?;
        assert_eq!(engine.soundness(), None);
        assert_eq!(engine.error_bound(), f64::NEG_INFINITY);
        assert_eq!(engine.computational_bits(), f64::INFINITY);
        let mut stated = Vec::new();
        for _ in 0..times {
            engine.generate(ORDER)?;
            let soundness = engine.soundness().expect("material was made");
            stated.push((soundness, engine.error_bound(), engine.computational_bits()));
        }
        engine.finish()?;
        Ok(stated)
    });
    let mut results = results.into_iter().map(|result| result.unwrap());
    let (garbler, evaluator) = (results.next().unwrap(), results.next().unwrap());
    assert_eq!(garbler, evaluator);
    garbler
}

#[test]
fn every_term_of_the_parameters_is_in_the_sum() {
    let epochs = estimate(&ORDER, &Config::new("")).unwrap();
    let parameters = epochs[0].parameters.as_ref().unwrap();
    let expected = soundness(40, parameters);
    let stated = stated(2);
    let (once, error, bits) = &stated[0];
    assert_eq!(once.terms.len(), expected.terms.len());
    assert!((error - expected.garbler.log2()).abs() < 1e-9, "{error}");
    assert!((once.evaluator.log2() - expected.evaluator.log2()).abs() < 1e-9);
    // More than Theorem 2's bounds alone.
    assert!(*error > parameters.errors().sum().log2() + 0.3, "{error}");
    assert!((117.0..118.0).contains(bits), "{bits}");

    // Made again: Theorem 2's bounds count twice, those of set-up do not.
    let (twice, error, _) = &stated[1];
    let more = twice.garbler.probability() - once.garbler.probability();
    let of_material = parameters.errors().sum().probability();
    assert!((more / of_material - 1.0).abs() < 1e-6, "{more}, {of_material}");
    assert_eq!(*error, twice.garbler.log2());
}
