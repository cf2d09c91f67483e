//! Who is let in.

use std::collections::BTreeSet;

use super::*;
use crate::audit::Actor;
use crate::testing::{World, at, suite};
use crate::{Error, Timestamp};

suite![
    a_token_lets_in_who_has_it,
    a_token_may_do_what_its_scopes_say,
    a_kind_is_not_taken_for_another,
    a_login_token_begins_one_session,
    what_was_made_with_a_token_ends_with_it,
    sessions_of_a_token_have_their_number,
    the_last_use_is_recorded,
    tokens_that_could_do_nothing_are_refused,
    no_two_valid_tokens_have_one_name,
    secrets_are_nowhere,
];

const LATER: u64 = 1000;

fn tokens(world: &World) -> Tokens {
    Tokens::new(world.database())
}

fn admin() -> Actor {
    Actor::Person("admin".into())
}

fn create(tokens: &Tokens, scopes: &[Scope], expires_at: Option<Timestamp>) -> Secret {
    let scopes = scopes.iter().copied().collect();
    let name = match tokens.list().expect("listed").len() {
        0 => "ada".to_owned(),
        others => format!("ada {others}"),
    };
    tokens
        .create(&name, &scopes, expires_at, admin(), at(0))
        .expect("made")
}

fn login(tokens: &Tokens, bearer: &Secret, seconds: u64) -> Secret {
    let principal = tokens
        .authenticate(TokenKind::Bearer, bearer.reveal(), at(seconds))
        .expect("let in");
    tokens.create_login_of(&principal, at(seconds)).expect("made")
}

fn id(secret: &Secret) -> &str {
    secret.reveal().split('_').nth(1).expect("a name")
}

fn a_token_lets_in_who_has_it(mut world: World) {
    let before = tokens(&world);
    let (one, two) = (
        create(&before, &[Scope::Read], Some(at(LATER))),
        create(&before, &[Scope::Read], None),
    );
    assert_ne!(one.reveal(), two.reveal());
    drop(before);
    world.reopen();
    let tokens = tokens(&world);
    let enter = |text: &str, seconds| tokens.authenticate(TokenKind::Bearer, text, at(seconds));
    let principal = enter(one.reveal(), 1).expect("let in");
    assert_eq!(
        (principal.id.as_str(), principal.name.as_str()),
        (id(&one), "ada")
    );
    // Texts that are nearly it.
    let text = one.reveal();
    let mut cases: Vec<String> = vec![
        String::new(),
        "cenote_".into(),
        text[1..].into(),
        text[..text.len() - 1].into(),
        format!("{text}0"),
        text.to_uppercase(),
        text.replace("cenote", "Cenote"),
        format!("cenote_{}_{}", id(&two), &text[24..]),
        format!("cenote_{}_{}", "0".repeat(16), &text[24..]),
        format!("cenote_{}_{}", id(&one), "0".repeat(64)),
        "é".repeat(44),
    ];
    for place in 0..text.len() {
        let mut changed = text.as_bytes().to_vec();
        changed[place] = if changed[place] == b'0' { b'1' } else { b'0' };
        cases.push(String::from_utf8(changed).expect("text"));
    }
    for case in cases {
        assert!(matches!(enter(&case, 1), Err(Error::Token)), "{case}");
    }
    // Its time is over.
    enter(text, LATER - 1).expect("let in");
    assert!(matches!(enter(text, LATER), Err(Error::Token)));
    // It is revoked.
    assert!(tokens.revoke(id(&two), admin(), at(2)).expect("revoked"));
    assert!(!tokens.revoke(id(&two), admin(), at(3)).expect("looked"));
    assert!(!tokens.revoke("unknown", admin(), at(3)).expect("looked"));
    assert!(matches!(enter(two.reveal(), 4), Err(Error::Token)));
    assert_eq!(tokens.list().expect("listed").len(), 2);
    assert_eq!(tokens.sweep(at(LATER)).expect("swept"), 1);
    assert_eq!(tokens.list().expect("listed").len(), 1);
}

fn a_token_may_do_what_its_scopes_say(world: World) {
    let tokens = tokens(&world);
    for given in 1..16_u8 {
        let scopes: Vec<Scope> = (0..4)
            .filter(|bit| given >> bit & 1 == 1)
            .map(|bit| Scope::ALL[bit])
            .collect();
        let secret = create(&tokens, &scopes, None);
        let principal = tokens
            .authenticate(TokenKind::Bearer, secret.reveal(), at(1))
            .expect("let in");
        for scope in Scope::ALL {
            match principal.needs(scope) {
                Ok(()) => assert!(scopes.contains(&scope)),
                Err(Error::Scope(missing)) => assert!(missing == scope && !scopes.contains(&scope)),
                Err(error) => panic!("{error}"),
            }
        }
    }
}

fn a_kind_is_not_taken_for_another(world: World) {
    let tokens = tokens(&world);
    let bearer = create(&tokens, &[Scope::Read], None);
    let (spent, login) = (login(&tokens, &bearer, 0), login(&tokens, &bearer, 0));
    let (session, _) = tokens.begin_session(spent.reveal(), at(1)).expect("begun");
    for (secret, right) in [
        (&bearer, TokenKind::Bearer),
        (&login, TokenKind::Login),
        (&session, TokenKind::Session),
    ] {
        for kind in [TokenKind::Bearer, TokenKind::Login, TokenKind::Session] {
            let outcome = tokens.authenticate(kind, secret.reveal(), at(2));
            let let_in = kind == right && kind != TokenKind::Login;
            assert_eq!(outcome.is_ok(), let_in, "{right:?} as {kind:?}");
        }
        if right != TokenKind::Login {
            assert!(matches!(
                tokens.begin_session(secret.reveal(), at(2)),
                Err(Error::Token)
            ));
        }
    }
    tokens.begin_session(login.reveal(), at(2)).expect("begun");
}

fn a_login_token_begins_one_session(world: World) {
    let tokens = tokens(&world);
    let scopes = BTreeSet::from([Scope::Read, Scope::Approve]);
    let bearer = create(&tokens, &[Scope::Read, Scope::Approve], None);
    let first = login(&tokens, &bearer, 0);
    let begun = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| tokens.begin_session(first.reveal(), at(1))))
            .collect();
        threads
            .into_iter()
            .filter_map(|thread| thread.join().ok().and_then(crate::Result::ok))
            .collect::<Vec<_>>()
    });
    assert_eq!(begun.len(), 1);
    let (session, principal) = &begun[0];
    assert_eq!((principal.name.as_str(), &principal.scopes), ("ada", &scopes));
    let enter = |seconds| tokens.authenticate(TokenKind::Session, session.reveal(), at(seconds));
    assert_eq!(&enter(2).expect("let in"), principal);
    enter(12 * 3600).expect("let in");
    assert!(matches!(enter(12 * 3600 + 1), Err(Error::Token)));
    // Too late to begin.
    let late = login(&tokens, &bearer, 0);
    assert!(matches!(
        tokens.begin_session(late.reveal(), at(600)),
        Err(Error::Token)
    ));
    // It can be ended.
    tokens.revoke(&principal.id, admin(), at(3)).expect("revoked");
    assert!(matches!(enter(4), Err(Error::Token)));
}

fn what_was_made_with_a_token_ends_with_it(world: World) {
    let tokens = tokens(&world);
    let bearer = create(&tokens, &[Scope::Read], Some(at(LATER)));
    let principal = tokens
        .authenticate(TokenKind::Bearer, bearer.reveal(), at(1))
        .expect("let in");
    let login = |seconds| tokens.create_login_of(&principal, at(seconds));
    let (first, waiting) = (login(1).expect("made"), login(1).expect("made"));
    let (session, begun) = tokens.begin_session(first.reveal(), at(2)).expect("begun");
    assert_eq!(begun.scopes, principal.scopes);
    let enter = |seconds| tokens.authenticate(TokenKind::Session, session.reveal(), at(seconds));
    enter(LATER - 1).expect("let in");
    // It expires.
    assert!(matches!(enter(LATER), Err(Error::Token)));
    // A few wait to be used at a time.
    let made = (0..20).filter(|_| login(3).is_ok()).count();
    assert_eq!(made, 7);
    assert!(matches!(login(3), Err(Error::TokenText(_))));
    // It is revoked.
    assert!(tokens.revoke(id(&bearer), admin(), at(4)).expect("revoked"));
    assert!(matches!(enter(5), Err(Error::Token)));
    assert!(matches!(
        tokens.begin_session(waiting.reveal(), at(5)),
        Err(Error::Token)
    ));
    assert!(matches!(login(5), Err(Error::Token)));
}

fn sessions_of_a_token_have_their_number(world: World) {
    let tokens = tokens(&world);
    let (one, other) = (
        create(&tokens, &[Scope::Read], None),
        create(&tokens, &[Scope::Read], None),
    );
    let begin = |bearer: &Secret, seconds| {
        let principal = tokens
            .authenticate(TokenKind::Bearer, bearer.reveal(), at(seconds))
            .expect("let in");
        assert_eq!(principal.counted_as(), id(bearer));
        let login = tokens.create_login_of(&principal, at(seconds)).expect("made");
        let (session, begun) = tokens.begin_session(login.reveal(), at(seconds)).expect("begun");
        assert_eq!(begun.counted_as(), id(bearer));
        session
    };
    let enter = |session: &Secret| {
        let entered = tokens.authenticate(TokenKind::Session, session.reveal(), at(100));
        entered.map(|principal| principal.counted_as().to_owned())
    };
    let others = begin(&other, 0);
    let sessions: Vec<Secret> = (0..18).map(|number| begin(&one, number)).collect();
    for (number, session) in sessions.iter().enumerate() {
        match enter(session) {
            Ok(counted) => assert!(number >= 2 && counted == id(&one), "{number}"),
            Err(error) => assert!(number < 2 && matches!(error, Error::Token), "{number}: {error}"),
        }
    }
    assert_eq!(enter(&others).expect("let in"), id(&other));
}

/// Like a full disk.
#[test]
fn a_use_that_cannot_be_recorded_keeps_nobody_out() {
    let world = World::embedded();
    let tokens = tokens(&world);
    let secret = create(&tokens, &[Scope::Read], None);
    let refuse = "CREATE TRIGGER refuse BEFORE UPDATE ON token BEGIN SELECT RAISE(ABORT, 'full'); END";
    world
        .database()
        .write(move |transaction| transaction.run(refuse, &[]))
        .expect("made");
    assert!(tokens.revoke(id(&secret), admin(), at(1)).is_err());
    tokens
        .authenticate(TokenKind::Bearer, secret.reveal(), at(2))
        .expect("let in");
    wait_for_writes(&world);
    assert_eq!(tokens.list().expect("listed")[0].used_at, None);
}

/// What was asked for before is done.
fn wait_for_writes(world: &World) {
    world.database().audit_head().expect("read");
}

fn the_last_use_is_recorded(world: World) {
    let tokens = tokens(&world);
    let secret = create(&tokens, &[Scope::Read], None);
    let used = || {
        wait_for_writes(&world);
        tokens.list().expect("listed")[0].used_at
    };
    assert_eq!(used(), None);
    for (seconds, recorded) in [(10, 10), (69, 10), (70, 70), (40, 70), (500, 500)] {
        tokens
            .authenticate(TokenKind::Bearer, secret.reveal(), at(seconds))
            .expect("let in");
        assert_eq!(used(), Some(at(recorded)), "at {seconds}");
    }
    // A refused call is no use.
    assert!(matches!(
        tokens.authenticate(TokenKind::Session, secret.reveal(), at(900)),
        Err(Error::Token)
    ));
    assert_eq!(used(), Some(at(500)));
}

fn tokens_that_could_do_nothing_are_refused(world: World) {
    let tokens = tokens(&world);
    let make = |name: &str, scopes: &[Scope]| {
        let scopes = scopes.iter().copied().collect();
        tokens.create(name, &scopes, None, admin(), at(0))
    };
    for (name, scopes) in [("ada", &[][..]), ("", &[Scope::Read]), ("a\nb", &[Scope::Read])] {
        assert!(matches!(make(name, scopes), Err(Error::TokenText(_))), "{name}");
    }
    assert!(matches!(
        make(&"a".repeat(65), &[Scope::Read]),
        Err(Error::TokenText(_))
    ));
    assert_eq!(tokens.list().expect("listed"), []);
}

fn no_two_valid_tokens_have_one_name(world: World) {
    let tokens = tokens(&world);
    let scopes = BTreeSet::from([Scope::Read]);
    let make =
        |until: Option<u64>, seconds| tokens.create("bob", &scopes, until.map(at), admin(), at(seconds));
    let is_valid = |secret: &Secret, seconds| {
        let entered = tokens.authenticate(TokenKind::Bearer, secret.reveal(), at(seconds));
        entered.is_ok()
    };
    let first = make(Some(LATER), 0).expect("made");
    let refused = make(None, LATER - 1).expect_err("the name is taken").to_string();
    assert!(refused.contains("a valid token has this name"), "{refused}");
    // It has expired, or was revoked.
    let second = make(None, LATER).expect("made");
    assert!(make(None, LATER).is_err());
    assert!(tokens.revoke(id(&second), admin(), at(LATER)).expect("revoked"));
    let third = make(None, LATER).expect("made");
    let session = login(&tokens, &third, LATER);
    let fourth = tokens
        .replace("bob", &scopes, Actor::Service, at(LATER))
        .expect("made");
    let valid = [&first, &second, &third, &fourth].map(|secret| is_valid(secret, LATER));
    assert_eq!(valid, [false, false, false, true]);
    assert!(tokens.begin_session(session.reveal(), at(LATER)).is_err());
    let revoked = world.log().matches("\"event\":\"token-revoked\"").count();
    assert_eq!(revoked, 2);
}

fn secrets_are_nowhere(mut world: World) {
    let tokens = tokens(&world);
    let bearer = create(&tokens, &[Scope::Admin], None);
    let login = login(&tokens, &bearer, 0);
    let (session, _) = tokens.begin_session(login.reveal(), at(1)).expect("begun");
    tokens
        .authenticate(TokenKind::Bearer, bearer.reveal(), at(2))
        .expect("let in");
    assert_eq!(format!("{bearer:?}"), "Secret");
    drop(tokens);
    let look = |world: &World| {
        for file in std::fs::read_dir(world.path()).expect("readable") {
            let bytes = std::fs::read(file.expect("a file").path()).expect("readable");
            for secret in [&bearer, &login, &session] {
                let text = &secret.reveal().as_bytes()[24..];
                assert!(!bytes.windows(text.len()).any(|part| part == text));
            }
        }
    };
    look(&world);
    world.close();
    look(&world);
    assert!(world.log().contains(id(&bearer)));
}
