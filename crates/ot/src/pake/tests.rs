use super::*;

fn hex<const N: usize>(digits: &str) -> [u8; N] {
    let byte = |at: usize| u8::from_str_radix(&digits[2 * at..][..2], 16).unwrap();
    assert_eq!(digits.len(), 2 * N);
    std::array::from_fn(byte)
}

/// `testvectors.md` of draft-irtf-cfrg-cpace, "CPace using group ristretto255 and hash SHA-512".
#[test]
fn vectors_of_the_draft() {
    let sides = hex::<26>("6f630b425f726573706f6e6465720b415f696e69746961746f72");
    let run = hex::<16>("7e4b4791d6a8ef019b936c79fb7f2c57");
    let context = Context {
        run: &run,
        sides: &sides,
        roles: [b"ADa", b"ADb"],
    };
    assert_eq!(
        generator(b"Password", &context).compress().0,
        hex("a6fc82c3b8968fbb2e06fee81ca858586dea50d248f0c7ca6a18b0902a30b36b")
    );
    let secrets = [
        "da3d23700a9e5699258aef94dc060dfda5ebb61f02a5ea77fad53f4ff0976d08",
        "d2316b454718c35362d83d69df6320f38578ed5984651435e2949762d900b80d",
    ];
    let sent = [
        hex("d40fb265a7abeaee7939d91a585fe59f7053f982c296ec413c624c669308f87a"),
        hex("08bcf6e9777a9c313a3db6daa510f2d398403319c2341bd506a92e672eb7e307"),
    ];
    let agreed_on = hex("e22b1ef7788f661478f3cddd4c600774fc0f41e6b711569190ff88fa0e607e09");
    let mut tags = Vec::new();
    for (side, secret) in secrets.into_iter().enumerate() {
        let secret = Scalar::from_canonical_bytes(hex(secret)).unwrap();
        let share = Share::with(b"Password", context, side == 0, Zeroizing::new(secret));
        assert_eq!(*share.bytes(), sent[side]);
        assert_eq!(*agreed(&secret, &sent[1 - side]).unwrap(), agreed_on);
        tags.push(share.tags(&sent[1 - side]).unwrap());
    }
    let of_session = session_key(&context, sent.each_ref(), &agreed_on);
    assert_eq!(
        *of_session,
        hex::<64>(
            "4c5469a16b2364c4b944ebc1a79e51d1674ad47db26e8718154f59faebfaa52d\
             8346f30aa58377117eb20d527f2cbc5c76381f7fd372e89df8239f87f2e02ed1"
        )
    );
    assert!(tags[0].accept(tags[1].own()) && tags[1].accept(tags[0].own()));
    assert!(!tags[0].accept(tags[0].own()) && !tags[1].accept(tags[1].own()));
}

fn context<'a>(run: &'a [u8], sides: &'a [u8]) -> Context<'a> {
    Context {
        run,
        sides,
        roles: [b"garbler", b"evaluator"],
    }
}

/// A run of sides with such passwords and contexts, and whether each accepts.
fn run(passwords: [&[u8]; 2], contexts: [Context<'_>; 2], first: [bool; 2]) -> [bool; 2] {
    let mut entropy = Entropy::for_tests(1);
    let [a, b] = [0, 1].map(|side| Share::new(passwords[side], contexts[side], first[side], &mut entropy));
    let sent = [*a.bytes(), *b.bytes()];
    let (a, b) = (a.tags(&sent[1]).unwrap(), b.tags(&sent[0]).unwrap());
    [a.accept(b.own()), b.accept(a.own())]
}

#[test]
fn other_passwords_runs_sides_and_roles_have_other_tags() {
    let usual = context(b"run", b"sides");
    let roles = [true, false];
    assert_eq!(run([b"same"; 2], [usual; 2], roles), [true; 2]);
    assert_eq!(run([b"same", b"other"], [usual; 2], roles), [false; 2]);
    let others = [
        context(b"other", b"sides"),
        context(b"run", b"other"),
        Context {
            roles: [b"garbler", b"another"],
            ..usual
        },
    ];
    for other in others {
        assert_eq!(run([b"same"; 2], [usual, other], roles), [false; 2], "{other:?}");
    }
    for both in [true, false] {
        assert_eq!(run([b"same"; 2], [usual; 2], [both; 2]), [false; 2]);
    }
    // Where a string ends is part of what is hashed.
    let moved = [context(b"run", b"sides"), context(b"un", b"sidesr")];
    assert_eq!(run([b"same"; 2], moved, roles), [false; 2]);
}

/// A side that sends back what it gets.
#[test]
fn a_reflected_share_and_tag_are_refused() {
    for is_first in [true, false] {
        let usual = context(b"run", b"sides");
        let share = Share::new(b"password", usual, is_first, &mut Entropy::for_tests(1));
        let reflected = *share.bytes();
        let tags = share.tags(&reflected).unwrap();
        assert!(!tags.accept(tags.own()));
    }
}

/// A tag of another run with the same password, and shares that are sent again.
#[test]
fn what_was_sent_before_is_refused() {
    let usual = context(b"run", b"sides");
    let mut entropy = Entropy::for_tests(1);
    let mut share = |is_first| Share::new(b"password", usual, is_first, &mut entropy);
    let (honest, peer) = (share(true), share(false));
    let (sent, before) = (*honest.bytes(), *peer.bytes());
    let told = *peer.tags(&sent).unwrap().own();
    assert!(honest.tags(&before).unwrap().accept(&told));
    assert!(!share(true).tags(&before).unwrap().accept(&told));
}

#[test]
fn shares_that_are_no_points_are_refused() {
    // The encoding of 1 is negative, 2^255 - 19 and 2^255 - 1 are not reduced.
    let mut refused = vec![[0; 32], [0xff; 32]];
    refused.push(std::array::from_fn(|at| u8::from(at == 0)));
    refused.push(std::array::from_fn(|at| match at {
        0 => 0xed,
        31 => 0x7f,
        _ => 0xff,
    }));
    let mut entropy = Entropy::for_tests(2);
    let points = (0..64).filter(|_| {
        let bytes: [u8; 32] = entropy.bytes();
        let is_point = CompressedRistretto(bytes).decompress().is_some();
        if !is_point {
            refused.push(bytes);
        }
        is_point
    });
    assert!(points.count() < 32 && refused.len() > 36);
    for bytes in refused {
        let share = Share::new(
            b"password",
            context(b"run", b"sides"),
            true,
            &mut Entropy::for_tests(1),
        );
        assert!(share.tags(&bytes).is_none(), "{bytes:?}");
    }
}

#[test]
fn lengths_are_encoded_as_in_the_draft() {
    for (bytes, expected) in [
        (0, &[0][..]),
        (5, &[5]),
        (127, &[127]),
        (128, &[128, 1]),
        (300, &[0xac, 2]),
    ] {
        let (encoded, count) = length(bytes);
        assert_eq!(&encoded[..count], expected);
        assert_eq!(prefixed(bytes), bytes + expected.len());
    }
    assert_eq!(
        strings(&[b"1234", b"5", b"", b"678"]),
        b"\x041234\x015\x00\x03678"
    );
}

#[test]
fn secrets_are_not_printed() {
    let share = Share::new(
        b"password",
        context(b"run", b"sides"),
        true,
        &mut Entropy::for_tests(1),
    );
    assert_eq!(format!("{share:?}"), "Share");
    let other = Share::new(
        b"password",
        context(b"run", b"sides"),
        false,
        &mut Entropy::for_tests(2),
    );
    assert_eq!(format!("{:?}", share.tags(other.bytes()).unwrap()), "Tags");
}
