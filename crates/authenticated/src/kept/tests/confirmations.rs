//! What an equality test leaves on the disk, when.

use cenote_testkit::kept::copy_folder;

use super::*;

/// What a session without cheaters over a folder says to each party: its bound on the error, and how many warnings.
fn told(folder: &Path, sizes: &Sizes) -> [(f64, usize); 2] {
    let results = session_of(sizes, folder, 0, &Cut::never(), None, &|_| (), |engine| {
        let told = (engine.error_bound(), engine.warnings().len());
        work_and_finish(engine, 1)?;
        Ok(told)
    });
    results.map(Result::unwrap)
}

/// The bound in a folder in which nothing was counted.
fn clean() -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = told(folder.path(), &sizes());
    assert!(first == second && first.1 == 0);
    first.0
}

/// Runs a session that party 0 ends where it would send the first message of a step, after something was done. If that confirms, party 1 has confirmed before.
fn cut_at(folder: &Path, step: Step, before: impl Fn() + Send + 'static) {
    let heard = Gate::new();
    let cut = Cut::never_but_opens(heard.clone(), steps::CONFIRM_EQUALITY);
    let ending = {
        let cut = cut.clone();
        Adversary::with(move |_, _, message: Message| {
            if message.step != step {
                return vec![message];
            }
            before();
            if step == steps::CONFIRM_EQUALITY {
                heard.wait();
            }
            cut.now();
            vec![]
        })
    };
    let results = session(folder, 0, &cut, Some(&ending), |engine| {
        work_and_finish(engine, 2)
    });
    assert!(results.iter().all(Result::is_err), "{results:?}");
}

/// A share tells nothing, so it may be sent before the note, and who has heard none notes nothing.
#[test]
fn a_cut_before_the_confirmation_costs_no_pool() {
    let (folder, clean) = (tempfile::tempdir().unwrap(), clean());
    assert_eq!(told(folder.path(), &sizes()), [(clean, 0); 2]);
    let before = items(folder.path());
    cut_at(folder.path(), steps::PRODUCTS, || ());
    assert_eq!(told(folder.path(), &sizes()), [(clean, 0); 2]);
    assert_eq!(items(folder.path()), before);
    // Party 0 may have heard the other's share before, and noted that.
    cut_at(folder.path(), steps::AGREE_EQUALITY, || ());
    assert_eq!(told(folder.path(), &sizes())[1], (clean, 0));
}

/// What is on the disk when a party's tag leaves it says that the pool must end, whatever happens next.
#[test]
fn a_confirmation_is_sent_after_the_note() {
    let (folder, clean) = (tempfile::tempdir().unwrap(), clean());
    assert_eq!(told(folder.path(), &sizes()), [(clean, 0); 2]);
    let [before, _] = items(folder.path());
    let then = folder.path().join("then");
    let (from, to) = (folder.path().join("0"), then.join("0"));
    cut_at(folder.path(), steps::CONFIRM_EQUALITY, move || {
        copy_folder(&from, &to)
    });
    copy_folder(&folder.path().join("1"), &then.join("1"));
    let [(bound, warnings), _] = told(&then, &sizes());
    assert!(
        (bound - clean - 1.0).abs() < 1e-9 && warnings == 1,
        "{bound} {clean}"
    );
    assert!(items(&then)[0].is_disjoint(&before));
}

/// If there is no room for the note, nothing is confirmed.
#[test]
fn nothing_is_confirmed_without_a_note() {
    let folder = tempfile::tempdir().unwrap();
    whole(folder.path(), 1);
    let sent: Arc<Mutex<Vec<Step>>> = Arc::default();
    let failing = {
        let (sent, folder) = (sent.clone(), folder.path().to_owned());
        Adversary::with(move |_, _, message: Message| {
            sent.lock().unwrap().push(message.step);
            if message.step == steps::AGREE_EQUALITY {
                std::fs::rename(folder.join("0"), folder.join("gone")).unwrap();
            }
            vec![message]
        })
    };
    let [failed, peer] = session(folder.path(), 0, &Cut::never(), Some(&failing), |engine| {
        work_and_finish(engine, 2)
    });
    assert!(matches!(failed, Err(Error::Storage(_))), "{failed:?}");
    assert!(peer.is_err());
    let sent = sent.lock().unwrap();
    assert!(sent.contains(&steps::AGREE_EQUALITY) && !sent.contains(&steps::CONFIRM_EQUALITY));
}

/// Of a wrong tag, or a share that is none, the cheater hears when the honest party has deleted its keys and counted.
#[test]
fn a_wrong_confirmation_ends_the_pool_before_the_peer_hears() {
    for (garbler, step) in [
        (0, steps::CONFIRM_EQUALITY),
        (1, steps::CONFIRM_EQUALITY),
        (0, steps::AGREE_EQUALITY),
        (1, steps::AGREE_EQUALITY),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let whole = |folder: &Path| {
            session(folder, garbler, &Cut::never(), None, |engine| {
                let told = (engine.error_bound(), engine.warnings().len());
                work_and_finish(engine, 1)?;
                Ok(told)
            })
        };
        let [_, first] = whole(folder.path());
        let (clean, _) = first.unwrap();
        let lying = Adversary::with(move |_, _, mut message: Message| {
            if message.step == step {
                message.body.fill(0xff);
            }
            vec![message]
        });
        let then = folder.path().join("then");
        let results = session(folder.path(), garbler, &Cut::never(), Some(&lying), |engine| {
            let me = engine.me();
            let done = work_and_finish(engine, 1);
            if me == PartyId(0) && done.is_err() {
                copy_folder(&folder.path().join("1"), &then.join("1"));
            }
            done
        });
        let check = results[1].as_ref().unwrap_err().check();
        let expected = match step == steps::CONFIRM_EQUALITY {
            true => LEAKY_AND,
            false => cenote_session::MESSAGE_FORM,
        };
        assert_eq!(check, Some(expected));
        let listed = store(&then, PartyId(1)).inventory().unwrap().items;
        assert_eq!(listed.len(), 1);
        assert!(listed[0].item.keys.0.is_empty(), "the keys are gone");
        let [_, after] = whole(folder.path());
        let (bound, warnings) = after.unwrap();
        assert!(
            (bound - clean - 1.0).abs() < 1e-9 && warnings == 1,
            "{bound} {clean}"
        );
    }
}

/// How long leaky ANDs are is a part of what a pool is, and what was counted before is not.
#[test]
fn a_pool_of_another_t_is_given_up_and_its_count_stays() {
    let (folder, clean) = (tempfile::tempdir().unwrap(), clean());
    let longer = Sizes {
        leaky_bits: 56,
        ..sizes()
    };
    assert_ne!(longer.terms(), sizes().terms());
    cut_at(folder.path(), steps::CONFIRM_EQUALITY, || ());
    let [(bound, warnings), _] = told(folder.path(), &longer);
    assert!(
        (bound - clean - 1.0).abs() < 1e-3 && warnings == 1,
        "{bound} {clean}"
    );
    let [of_longer, _] = items(folder.path());
    let [(bound, warnings), _] = told(folder.path(), &sizes());
    assert!(
        (bound - clean - 1.0).abs() < 1e-9 && warnings == 1,
        "{bound} {clean}"
    );
    let [after, _] = items(folder.path());
    assert!(after.is_disjoint(&of_longer) && after.len() == 1);
}
