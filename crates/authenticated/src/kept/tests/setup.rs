//! Parties that cheat while a pool is set up.

use cenote_session::WarningKind;

use super::*;

/// A garbler that opens another share of the coin while a pool is set up has had a try each time, although no pool came of it.
#[test]
fn lies_while_a_pool_is_set_up_are_counted() {
    let told = |folder: &Path| {
        let told = |engine: &mut AuthenticatedEngine| Ok((engine.error_bound(), engine.warnings()));
        let [_, told] = session(folder, 0, &Cut::never(), None, told);
        told.unwrap()
    };
    let (clean, none) = told(tempfile::tempdir().unwrap().path());
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..4 {
        let mut seen = 0;
        let lying = Adversary::with(move |_, _, mut message: Message| {
            seen += usize::from(message.step == steps::START);
            if message.step == steps::START && seen == 2 {
                message.body[0] ^= 1;
            }
            vec![message]
        });
        let [_, evaluator] = session(folder.path(), 0, &Cut::never(), Some(&lying), |engine| {
            work_and_finish(engine, 1)
        });
        assert_eq!(evaluator.unwrap_err().check(), Some(COIN));
    }
    let (now, warnings) = told(folder.path());
    assert!((now - clean - 5f64.log2()).abs() < 1e-9, "{now} {clean}");
    assert_eq!(none, []);
    let kinds: Vec<WarningKind> = warnings.iter().map(|warning| warning.kind).collect();
    assert_eq!(kinds, [WarningKind::ChecksCutOff]);
}
