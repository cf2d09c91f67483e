use super::*;

fn job(number: u8) -> JobId {
    JobId([number; 16])
}

fn waiting(number: u8, proposer: u8, memory: u64) -> Waiting {
    Waiting {
        job: job(number),
        proposer,
        parties: 3,
        memory: vec![memory; 3],
        wanted: None,
    }
}

/// The same of the first two parties.
fn of_two(number: u8, proposer: u8, memory: u64) -> Waiting {
    Waiting {
        parties: 2,
        memory: vec![memory; 2],
        ..waiting(number, proposer, memory)
    }
}

fn limits(jobs: u64, per_proposer: u64) -> Limits {
    Limits {
        jobs,
        per_proposer,
        memory: 100,
    }
}

fn desk(jobs: u64, per_proposer: u64) -> Desk {
    Desk::new(0, limits(jobs, per_proposer))
}

/// What begins next at this moment, where the others may run so much.
fn led_beside(desk: &mut Desk, now: Instant, others: Limits) -> Option<JobId> {
    let limits = [Some(desk.limits), Some(others), Some(others)];
    desk.next_led(now, &limits).map(|(waiting, _)| waiting.job)
}

fn led_at(desk: &mut Desk, now: Instant) -> Option<JobId> {
    led_beside(desk, now, limits(100, 100))
}

fn led(desk: &mut Desk) -> Option<JobId> {
    led_at(desk, Instant::now())
}

#[test]
fn proposers_take_turns() {
    let mut desk = desk(10, 10);
    for number in 0..4 {
        desk.add(waiting(number, 0, 1));
    }
    desk.add(waiting(10, 1, 1));
    desk.add(waiting(20, 2, 1));
    desk.add(waiting(20, 2, 1));
    let order: Vec<JobId> = std::iter::from_fn(|| led(&mut desk)).collect();
    assert_eq!(order, [10, 20, 0, 1, 2, 3].map(job));
}

#[test]
fn one_proposers_jobs_begin_in_their_order() {
    let mut desk = desk(10, 10);
    for (number, memory) in [(1, 60), (2, 60), (3, 1)] {
        desk.add(waiting(number, 0, memory));
    }
    assert!(desk.refusal(101).is_some_and(|text| text.contains("memory")) && desk.refusal(100).is_none());
    assert_eq!(led(&mut desk), Some(job(1)));
    assert_eq!(led(&mut desk), None);
    desk.done(job(1));
    assert_eq!((led(&mut desk), led(&mut desk)), (Some(job(2)), Some(job(3))));
    assert!(!desk.is_idle());
}

#[test]
fn what_else_takes_memory_counts_like_a_job() {
    let mut desk = desk(10, 10);
    assert!(desk.reserve(60) && !desk.reserve(60) && desk.reserve(10));
    desk.add(waiting(1, 0, 60));
    assert_eq!(led(&mut desk), None);
    desk.release(60);
    assert_eq!(led(&mut desk), Some(job(1)));
    assert!(!desk.reserve(31) && desk.reserve(30));
}

#[test]
fn one_proposer_does_not_take_all_places() {
    let mut desk = desk(3, 2);
    for number in 0..3 {
        desk.add(waiting(number, 1, 1));
    }
    desk.add(waiting(9, 2, 1));
    let order: Vec<JobId> = std::iter::from_fn(|| led(&mut desk)).collect();
    assert_eq!(order, [job(0), job(9), job(1)]);
    desk.done(job(9));
    assert_eq!(led(&mut desk), None);
    // Where the peers run fewer, fewer begin.
    desk.done(job(0));
    for others in [limits(1, 100), limits(100, 1)] {
        assert_eq!(led_beside(&mut desk, Instant::now(), others), None);
    }
    assert_eq!(led(&mut desk), Some(job(2)));
}

#[test]
fn a_called_job_begins_when_it_waits_and_fits() {
    let mut desk = desk(10, 10);
    assert!(desk.call(job(1), None));
    assert!(desk.next_called().is_none());
    desk.add(waiting(1, 0, 90));
    desk.add(waiting(2, 0, 90));
    let (first, _) = desk.next_called().expect("called");
    assert_eq!(first.job, job(1));
    assert!(desk.call(job(2), None));
    assert!(desk.next_called().is_none());
    desk.done(job(1));
    assert!(desk.next_called().is_some());
    desk.remove(job(2));
    desk.close();
    desk.add(waiting(3, 0, 1));
    assert!(led(&mut desk).is_none());

    let mut narrow = super::tests::desk(1, 1);
    for number in [1, 2] {
        narrow.add(waiting(number, 0, 1));
        assert!(narrow.call(job(number), None));
    }
    assert!(
        narrow.next_called().is_some() && narrow.next_called().is_none(),
        "a leader cannot begin more than fit"
    );

    let mut full = super::tests::desk(1, 1);
    for number in 0..EARLY as u32 {
        let mut name = [0; 16];
        name[..4].copy_from_slice(&number.to_le_bytes());
        assert!(full.call(JobId(name), None));
    }
    assert!(!full.call(job(255), None));
}

#[test]
fn one_whose_parties_are_away_holds_up_nobody() {
    let mut desk = desk(10, 10);
    desk.add(waiting(1, 0, 1));
    desk.add(of_two(2, 0, 1));
    let limits = [Some(desk.limits), Some(desk.limits), None];
    let found = desk.next_led(Instant::now(), &limits);
    assert_eq!(found.map(|(waiting, _)| waiting.job), Some(job(2)));
    assert!(desk.flight(job(1)).is_none() && desk.flight(job(2)).is_some());
    assert_eq!(led(&mut desk), Some(job(1)));
}

#[test]
fn small_jobs_of_others_begin_before_a_large_one_for_a_while() {
    let mut desk = desk(10, 10);
    let start = Instant::now();
    for waiting in [waiting(1, 1, 60), waiting(2, 2, 60), waiting(3, 2, 1)] {
        desk.add(waiting);
    }
    assert_eq!(led_at(&mut desk, start), Some(job(1)));
    assert_eq!(led_at(&mut desk, start), None, "its proposer's own wait with it");
    for (number, proposer) in [(10, 0), (11, 1)] {
        desk.add(waiting(number, proposer, 10));
        assert_eq!(led_at(&mut desk, start + PATIENCE / 2), Some(job(number)));
    }
    desk.add(waiting(12, 0, 1));
    desk.add(waiting(13, 1, 1));
    assert_eq!(
        led_at(&mut desk, start + PATIENCE),
        None,
        "it has waited for long enough"
    );
    desk.done(job(1));
    let order: Vec<JobId> = std::iter::from_fn(|| led_at(&mut desk, start + PATIENCE)).collect();
    assert_eq!(order, [2, 12, 13, 3].map(job));
}

#[test]
fn one_proposers_large_jobs_leave_room_for_others_between_them() {
    let mut desk = desk(10, 10);
    let mut now = Instant::now();
    for number in 0..5 {
        desk.add(waiting(number, 0, 95));
    }
    let mut small = 100;
    desk.add(waiting(small, 1, 10));
    assert_eq!(led_at(&mut desk, now), Some(job(small)));
    for large in 0..5 {
        // Small jobs come and go, and the large one waits only for so long.
        now += PATIENCE / 2;
        for _ in 0..3 {
            desk.add(waiting(small + 1, 1, 10));
            assert_eq!(led_at(&mut desk, now), Some(job(small + 1)), "before {large}");
            desk.done(job(small));
            small += 1;
        }
        now += PATIENCE;
        desk.add(waiting(small + 1, 1, 10));
        assert_eq!(led_at(&mut desk, now), None, "before {large}");
        desk.done(job(small));
        assert_eq!(led_at(&mut desk, now), Some(job(large)));
        assert_eq!(led_at(&mut desk, now + 9 * PATIENCE), None);
        // However long it runs, the turn is another's then.
        now += 10 * PATIENCE;
        desk.done(job(large));
        small += 1;
        assert_eq!(led_at(&mut desk, now), Some(job(small)));
        assert_eq!(led_at(&mut desk, now), None);
    }
}

#[test]
fn nobody_waits_for_a_proposer_that_is_in_its_own_way() {
    let mut desk = desk(10, 10);
    let mut now = Instant::now();
    desk.add(waiting(1, 0, 50));
    desk.add(waiting(2, 0, 60));
    assert_eq!(led_at(&mut desk, now), Some(job(1)));
    assert_eq!(led_at(&mut desk, now), None);
    now += 10 * PATIENCE;
    desk.add(waiting(10, 1, 50));
    assert_eq!(led_at(&mut desk, now), Some(job(10)));
    // From here on only the other is.
    desk.done(job(1));
    assert_eq!(led_at(&mut desk, now), None);
    desk.add(waiting(11, 1, 50));
    assert_eq!(led_at(&mut desk, now + PATIENCE / 2), Some(job(11)));
    desk.add(waiting(12, 1, 1));
    desk.done(job(10));
    assert_eq!(led_at(&mut desk, now + PATIENCE), None);
    desk.done(job(11));
    let order: Vec<JobId> = std::iter::from_fn(|| led_at(&mut desk, now + PATIENCE)).collect();
    assert_eq!(order, [2, 12].map(job));
}

#[test]
fn a_job_begins_when_it_fits_at_every_party() {
    let mut desk = desk(10, 10);
    let now = Instant::now();
    let narrow = |number, proposer| Waiting {
        memory: vec![1, 1, 60],
        ..waiting(number, proposer, 1)
    };
    for number in 1..4 {
        desk.add(narrow(number, number % 2));
    }
    assert_eq!(led_at(&mut desk, now), Some(job(1)));
    assert_eq!(led_at(&mut desk, now), None);
    // Those that leave out the party without room go on, however long the others wait.
    desk.add(of_two(10, 2, 1));
    assert_eq!(led_at(&mut desk, now + PATIENCE), Some(job(10)));
    desk.add(waiting(11, 2, 1));
    desk.add(of_two(12, 2, 1));
    assert_eq!(led_at(&mut desk, now + PATIENCE), Some(job(12)));
    assert_eq!(led_at(&mut desk, now + PATIENCE), None);
    desk.done(job(1));
    assert_eq!(led_at(&mut desk, now + PATIENCE), Some(job(2)));
    assert_eq!(led_at(&mut desk, now + PATIENCE), Some(job(11)));
    // A party that says that nothing fits there gets one job at a time.
    desk.done(job(2));
    desk.done(job(11));
    let none = Limits {
        memory: 0,
        ..limits(100, 100)
    };
    desk.add(waiting(4, 2, 1));
    let limits = [Some(desk.limits), Some(desk.limits), Some(none)];
    assert!(desk.next_led(now, &limits).is_some() && desk.next_led(now, &limits).is_none());
}

/// Jobs that leave out the party without room do not let others past one that has waited for long.
#[test]
fn a_job_that_waits_for_one_party_is_not_passed_over_in_turns() {
    let mut desk = desk(10, 10);
    let start = Instant::now();
    let narrow = |number, proposer, memory| Waiting {
        memory: vec![1, 1, memory],
        ..waiting(number, proposer, 1)
    };
    desk.add(narrow(2, 0, 60));
    assert_eq!(led_at(&mut desk, start), Some(job(2)));
    desk.add(narrow(1, 2, 60));
    assert_eq!(led_at(&mut desk, start), None);
    let late = start + PATIENCE;
    for number in 10..20 {
        desk.add(of_two(number, 1, 1));
        desk.add(narrow(number + 10, 0, 1));
        assert_eq!(led_at(&mut desk, late), Some(job(number)));
        assert_eq!(led_at(&mut desk, late), None);
        desk.done(job(number));
    }
    desk.done(job(2));
    assert_eq!(led_at(&mut desk, late), Some(job(1)));
}

/// What a party has no room for holds up those jobs only that it takes part in, also of the same proposer.
#[test]
fn a_party_without_room_holds_up_its_own_jobs_only() {
    let mut desk = desk(10, 10);
    let now = Instant::now();
    for number in [1, 2] {
        desk.add(waiting(number, 0, 1));
    }
    desk.add(of_two(3, 0, 1));
    let none = Limits {
        memory: 0,
        ..limits(100, 100)
    };
    let limits = [Some(desk.limits), Some(desk.limits), Some(none)];
    let mut led = || desk.next_led(now, &limits).map(|(waiting, _)| waiting.job);
    assert_eq!((led(), led(), led()), (Some(job(1)), Some(job(3)), None));
}

/// How long a job has waited does not depend on whether another's party is there, and is not counted while its own is away.
#[test]
fn each_job_has_its_own_patience() {
    let mut desk = desk(10, 10);
    let start = Instant::now();
    let away = [Some(desk.limits), Some(desk.limits), None];
    desk.add(of_two(1, 1, 60));
    assert_eq!(led_at(&mut desk, start), Some(job(1)));
    desk.add(waiting(2, 0, 60));
    desk.add(of_two(3, 0, 60));
    for seconds in 0..3 {
        let now = start + Duration::from_secs(seconds);
        assert_eq!(led_at(&mut desk, now), None);
        assert!(desk.next_led(now, &away).is_none());
    }
    assert_eq!(desk.passed.keys().collect::<Vec<_>>(), [&job(3)]);
    desk.add(of_two(4, 1, 1));
    assert_eq!(led_at(&mut desk, start + PATIENCE / 2), Some(job(4)));
    desk.add(of_two(5, 1, 1));
    assert!(desk.next_led(start + PATIENCE, &away).is_none());
    assert_eq!(desk.passed.keys().collect::<Vec<_>>(), [&job(3)]);
}
