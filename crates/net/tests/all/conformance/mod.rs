//! What every kind of channel must do alike.

mod ends;
mod messages;
mod waits;

use crate::common::ChannelKind;
use ends::*;
use messages::*;
use waits::*;

macro_rules! conformance {
    ($($name:ident: $kind:expr;)*) => { $(
        mod $name {
            use super::*;
            conformance!(@tests $kind,
                messages_arrive, small_messages_arrive, both_send_first, a_ring_sends_first,
                another_step_or_length_is_refused, silence_times_out, a_full_queue_times_out, a_dropped_peer_is_lost,
                dropping_loses_nothing, closing_waits_for_the_peer, an_abort_ends_a_receive, an_abort_ends_a_send,
                a_stopped_side_does_not_linger, a_closer_ends_waits, an_interrupted_side_has_a_last_word, meters_count, a_flush_is_needed);
        }
    )* };
    (@tests $kind:expr, $($test:ident),*) => { $(
        #[test]
        fn $test() {
            super::$test($kind);
        }
    )* };
}

conformance! {
    memory: ChannelKind::Memory;
    shaped: ChannelKind::Shaped;
    tcp: ChannelKind::Tcp;
    tls: ChannelKind::Tls;
    trunk: ChannelKind::Trunk;
}
