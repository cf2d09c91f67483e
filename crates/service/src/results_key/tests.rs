//! Keys that are lost, exchanged and put back.

use std::fs;

use super::*;
use crate::database::examine;
use crate::testing::{World, at, named, suite};

suite![
    a_key_is_made_once,
    a_key_that_is_gone_or_another_is_refused_until_it_is_back,
    a_key_is_looked_at_while_the_service_is_down,
    a_database_that_names_no_key_is_tried,
    what_a_lost_key_has_sealed_is_given_up,
];

/// A result and a kept value of this key.
fn seal(world: &World, key: &ResultKey) {
    let (result, share) = (
        key.seal(named(1), b"result").expect("sealed"),
        key.seal_kept(named(2), "balances", b"share").expect("sealed"),
    );
    world
        .database()
        .write(move |transaction| {
            transaction.run(
                "INSERT INTO result (job, sealed, expires_at) VALUES ($1, $2, 9)",
                &[
                    Value::from(named(1).to_string()),
                    Value::from(result.as_bytes().to_vec()),
                ],
            )?;
            transaction.run(
                "INSERT INTO kept (job, name, kind, bytes, kept_at, expires_at, sealed) VALUES ($1, 'balances', 'u8', 5, 1, 9, $2)",
                &[
                    Value::from(named(2).to_string()),
                    Value::from(share.as_bytes().to_vec()),
                ],
            )
        })
        .expect("written");
}

fn bytes(world: &World) -> Vec<u8> {
    fs::read(path(&world.database())).expect("there")
}

fn refusal(world: &World) -> String {
    let error = ResultKey::of(&world.database()).expect_err("refused");
    assert!(matches!(error, Error::ResultKey { .. }), "{error}");
    error.to_string()
}

fn a_key_is_made_once(mut world: World) {
    ResultKey::of(&world.database()).expect("made");
    let made = bytes(&world);
    world.reopen();
    ResultKey::of(&world.database()).expect("read");
    assert_eq!(bytes(&world), made);
}

fn a_key_that_is_gone_or_another_is_refused_until_it_is_back(world: World) {
    let key = ResultKey::of(&world.database()).expect("made");
    seal(&world, &key);
    let (made, path) = (bytes(&world), path(&world.database()));
    fs::remove_file(&path).expect("removed");
    let text = refusal(&world);
    for part in [
        path.to_str().expect("text"),
        "is missing",
        "1 results and 1 kept values",
        "put it back",
        "cenote serve --give-up-sealed",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!path.exists(), "no key is made in its place");
    fs::write(&path, [7; 32]).expect("written");
    assert!(refusal(&world).contains("is not the key that was here"));
    fs::write(&path, [7; 31]).expect("written");
    let error = ResultKey::of(&world.database()).expect_err("no key");
    assert!(error.to_string().contains("no key of 32 bytes"), "{error}");
    fs::write(&path, made).expect("put back");
    let key = ResultKey::of(&world.database()).expect("back");
    let error = ResultKey::replace(&world.database(), at(3)).expect_err("it is there");
    assert!(error.to_string().contains("nothing was given up"), "{error}");
    let opens = world
        .database()
        .read(move |connection| key.opens_some(connection));
    assert!(opens.expect("read"));
}

fn a_key_is_looked_at_while_the_service_is_down(mut world: World) {
    let key = ResultKey::of(&world.database()).expect("made");
    seal(&world, &key);
    let path = path(&world.database());
    let (folder, address) = (world.path(), world.address.clone());
    world.close();
    let look = || {
        let found = examine(&folder, &address).expect("looked").expect("a record");
        found.log.expect("sound");
        found.key
    };
    look().expect("the right one");
    fs::write(&path, [7; 32]).expect("written");
    let wrong = look().expect_err("another key").to_string();
    assert!(
        wrong.contains("is not the key that was here: 1 results"),
        "{wrong}"
    );
    fs::write(&path, "short").expect("written");
    assert!(matches!(look(), Err(Error::File { .. })));
    fs::remove_file(&path).expect("removed");
    assert!(matches!(
        look(),
        Err(Error::ResultKey {
            what: "is missing",
            ..
        })
    ));
    assert!(!path.exists(), "no key is made in its place");
}

fn a_database_that_names_no_key_is_tried(world: World) {
    let forget = || {
        let sql = "DELETE FROM result_key";
        world
            .database()
            .write(|transaction| transaction.run(sql, &[]))
            .expect("written");
    };
    let key = ResultKey::of(&world.database()).expect("made");
    let (made, path) = (bytes(&world), path(&world.database()));
    forget();
    fs::remove_file(&path).expect("removed");
    // Nothing is lost with it.
    ResultKey::of(&world.database()).expect("made anew");
    assert_ne!(bytes(&world), made);
    fs::write(&path, &made).expect("put back");
    seal(&world, &key);
    forget();
    ResultKey::of(&world.database()).expect("the right one");
    for other in [None, Some([7; 32])] {
        forget();
        match other {
            None => fs::remove_file(&path).expect("removed"),
            Some(other) => fs::write(&path, other).expect("written"),
        }
        refusal(&world);
    }
}

fn what_a_lost_key_has_sealed_is_given_up(world: World) {
    let key = ResultKey::of(&world.database()).expect("made");
    seal(&world, &key);
    let path = path(&world.database());
    fs::write(&path, b"damaged").expect("written");
    let given_up = ResultKey::replace(&world.database(), at(3)).expect("replaced");
    assert_eq!(given_up, SealedValues { results: 1, kept: 1 });
    assert_eq!(
        world.database().read(count).expect("read"),
        SealedValues::default()
    );
    assert_eq!(
        fs::read(path.with_extension("key.old")).expect("kept"),
        b"damaged"
    );
    let new = ResultKey::of(&world.database()).expect("a new one");
    assert_ne!(new.name(), key.name());
    for event in ["expired", "kept-dropped"] {
        assert_eq!(world.log().matches(&format!("\"event\":\"{event}\"")).count(), 1);
    }
}
