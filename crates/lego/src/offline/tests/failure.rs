//! What fails stays failed.

use super::*;

#[test]
fn failure_is_final() {
    let world = World::random(2);
    let results = world.run(move |mut context| {
        let mut config = config(&context);
        let mut channel = context.take(PartyId(1 - context.me.0), "main");
        let order = if context.me == GARBLER {
            SMALL
        } else {
            SMALL.times(2)
        };
        let [first, second] = if context.me == GARBLER {
            let mut keys = GarblerKeys::setup(&mut *channel, &mut config)?;
            [(); 2].map(|()| {
                keys.generate(
                    std::slice::from_mut(&mut channel),
                    &mut config,
                    &order,
                    &mut |_| Ok(()),
                )
            })
        } else {
            let mut keys = EvaluatorKeys::setup(&mut *channel, &mut config)?;
            [(); 2].map(|()| {
                keys.generate(
                    std::slice::from_mut(&mut channel),
                    &mut config,
                    &order,
                    &mut |_| Ok(()),
                )
            })
        };
        assert!(matches!(second, Err(Error::Poisoned(_))), "{second:?}");
        first
    });
    match &results[0] {
        Err(Error::Net(cenote_net::Error::Mismatch { field, .. })) => assert_eq!(*field, "order"),
        other => panic!("{:?}", other.as_ref().err()),
    }
    match &results[1] {
        Err(Error::PeerStopped { peer, .. }) => assert_eq!(*peer, GARBLER),
        other => panic!("{:?}", other.as_ref().err()),
    }
}
