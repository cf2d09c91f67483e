//! Services whose party files call the parties by other names, or by the same in another order.

use std::sync::{Arc, Mutex};

use cenote_service::job::StateName;
use cenote_service::live::{AlarmKind, LinkState, Live};

use super::world::{ALL, World, until};

/// What `me` shows of `peer` where nothing can be done with it.
fn refusal(world: &World, me: u8, peer: u8) -> Option<String> {
    let peers = world.node(me).peers();
    let shown = peers.into_iter().find(|known| known.party == peer)?;
    shown.reason.filter(|_| shown.link == LinkState::Refused)
}

#[test]
fn services_whose_names_differ_do_nothing_with_each_other_and_say_why() {
    let of_one = Arc::new(Mutex::new(None));
    let names = Arc::clone(&of_one);
    let mut world = World::with(3, ALL, move |settings| {
        if let (1, Some(names)) = (settings.me, &*names.lock().expect("no panic")) {
            settings.names = Clone::clone(names);
        }
    });
    // A rule of party 1 for what "party-2" proposes would be one for what party 0 does.
    world.stop(1);
    let swapped = ["party-2", "party-1", "party-0"].map(str::to_owned).to_vec();
    *of_one.lock().expect("no panic") = Some(swapped);
    world.start(1);
    let own = "\"party-0\", \"party-1\", \"party-2\"";
    let other = "\"party-2\", \"party-1\", \"party-0\"";
    for (me, peer) in [(0, 1), (2, 1), (1, 0), (1, 2)] {
        let tells = |text: &str| text.contains(own) && text.contains(other);
        until("both say why", || {
            refusal(&world, me, peer).is_some_and(|reason| tells(&reason))
        });
        until("neither is ready", || {
            world.node(me).ready().is_err_and(|reason| tells(&reason))
        });
        until("an operator is told", || {
            let alarms = world.node(me).alarms();
            let mut lost = alarms.iter().filter(|alarm| alarm.kind == AlarmKind::PeerLost);
            lost.any(|alarm| tells(&alarm.text))
        });
    }
    let id = world.submit(0, "for the same names").proposal.id;
    until("party 2 has it", || world.node(2).jobs().get(id).is_ok());
    assert!(world.node(1).jobs().get(id).is_err());
    world.stop(1);
    *of_one.lock().expect("no panic") = None;
    world.start(1);
    world.wait_ready();
    until("nobody is told any more", || {
        (0..3).all(|party| world.node(party).alarms().is_empty())
    });
    world.wait_for(id, StateName::Done);
}
