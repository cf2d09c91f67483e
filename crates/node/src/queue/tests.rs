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
        in_shards: false,
        stands: false,
        runs: 0,
        not_before: None,
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

fn queue(jobs: u64, per_proposer: u64) -> Queue {
    Queue::new(0, limits(jobs, per_proposer))
}

/// What begins next at this moment, where the others may run so much.
fn led_beside(queue: &mut Queue, now: Instant, others: Limits) -> Option<JobId> {
    let limits = [Some(queue.limits), Some(others), Some(others)];
    queue.next_led(now, &limits).map(|(waiting, _)| waiting.job)
}

fn led_at(queue: &mut Queue, now: Instant) -> Option<JobId> {
    led_beside(queue, now, limits(100, 100))
}

fn led(queue: &mut Queue) -> Option<JobId> {
    led_at(queue, Instant::now())
}

#[test]
fn proposers_take_turns() {
    let mut queue = queue(10, 10);
    for number in 0..4 {
        queue.add(waiting(number, 0, 1));
    }
    queue.add(waiting(10, 1, 1));
    queue.add(waiting(20, 2, 1));
    queue.add(waiting(20, 2, 1));
    let order: Vec<JobId> = std::iter::from_fn(|| led(&mut queue)).collect();
    assert_eq!(order, [10, 20, 0, 1, 2, 3].map(job));
}

#[test]
fn jobs_that_stand_leave_places_for_those_of_other_proposers() {
    let mut queue = queue(1, 1);
    for (proposer, first) in [(0, 0), (1, 20), (2, 40)] {
        for number in first..first + 10 {
            queue.add(Waiting {
                stands: true,
                ..waiting(number, proposer, 1)
            });
        }
    }
    let order: Vec<JobId> = std::iter::from_fn(|| led(&mut queue)).collect();
    let of = |range: std::ops::Range<u8>| {
        order
            .iter()
            .filter(|id| range.clone().any(|number| job(number) == **id))
            .count()
    };
    assert_eq!(order.len(), STANDING);
    assert!(
        [of(0..10), of(20..30), of(40..50)]
            .into_iter()
            .all(|own| (5..=6).contains(&own))
    );
    for number in 0..10 {
        queue.done(job(20 + number));
        queue.done(job(40 + number));
    }
    queue.lines.retain(|proposer, _| *proposer == 0);
    let more = std::iter::from_fn(|| led(&mut queue)).count();
    assert_eq!(of(0..10) + more, STANDING_OF_ONE);
    // Those that have an end have places of their own.
    queue.add(waiting(60, 0, 1));
    assert_eq!(led(&mut queue), Some(job(60)));
}

#[test]
fn one_proposers_jobs_begin_in_their_order() {
    let mut queue = queue(10, 10);
    for (number, memory) in [(1, 60), (2, 60), (3, 1)] {
        queue.add(waiting(number, 0, memory));
    }
    assert!(queue.refusal(101).is_some_and(|text| text.contains("memory")) && queue.refusal(100).is_none());
    assert_eq!(led(&mut queue), Some(job(1)));
    assert_eq!(led(&mut queue), None);
    queue.done(job(1));
    assert_eq!((led(&mut queue), led(&mut queue)), (Some(job(2)), Some(job(3))));
    assert!(!queue.is_idle(|_| true));
}

#[test]
fn what_else_takes_memory_counts_like_a_job() {
    let mut queue = queue(10, 10);
    assert!(queue.reserve(60) && !queue.reserve(60) && queue.reserve(10));
    queue.add(waiting(1, 0, 60));
    assert_eq!(led(&mut queue), None);
    queue.release(60);
    assert_eq!(led(&mut queue), Some(job(1)));
    assert!(!queue.reserve(31) && queue.reserve(30));
}

#[test]
fn one_proposer_does_not_take_all_places() {
    let mut queue = queue(3, 2);
    for number in 0..3 {
        queue.add(waiting(number, 1, 1));
    }
    queue.add(waiting(9, 2, 1));
    let order: Vec<JobId> = std::iter::from_fn(|| led(&mut queue)).collect();
    assert_eq!(order, [job(0), job(9), job(1)]);
    queue.done(job(9));
    assert_eq!(led(&mut queue), None);
    // Where the peers run fewer, fewer begin.
    queue.done(job(0));
    for others in [limits(1, 100), limits(100, 1)] {
        assert_eq!(led_beside(&mut queue, Instant::now(), others), None);
    }
    assert_eq!(led(&mut queue), Some(job(2)));
}

#[test]
fn a_called_job_begins_when_it_waits_and_fits() {
    let mut queue = queue(10, 10);
    assert!(queue.call(job(1), Call::default()));
    assert!(queue.next_called(Instant::now(), |_| true).is_none());
    queue.add(waiting(1, 0, 90));
    queue.add(waiting(2, 0, 90));
    let (first, _) = queue.next_called(Instant::now(), |_| true).expect("called");
    assert_eq!(first.job, job(1));
    assert!(queue.call(job(2), Call::default()));
    assert!(queue.next_called(Instant::now(), |_| true).is_none());
    queue.done(job(1));
    assert!(queue.next_called(Instant::now(), |_| true).is_some());
    queue.remove(job(2));
    queue.close();
    queue.add(waiting(3, 0, 1));
    assert!(led(&mut queue).is_none());

    let mut narrow = super::tests::queue(1, 1);
    for number in [1, 2] {
        narrow.add(waiting(number, 0, 1));
        assert!(narrow.call(job(number), Call::default()));
    }
    assert!(
        narrow.next_called(Instant::now(), |_| true).is_some()
            && narrow.next_called(Instant::now(), |_| true).is_none(),
        "a leader cannot begin more than fit"
    );

    let mut full = super::tests::queue(1, 1);
    for number in 0..EARLY as u32 {
        let mut name = [0; 16];
        name[..4].copy_from_slice(&number.to_le_bytes());
        assert!(full.call(JobId(name), Call::default()));
    }
    assert!(!full.call(job(255), Call::default()));
}

#[test]
fn one_whose_parties_are_away_holds_up_nobody() {
    let mut queue = queue(10, 10);
    queue.add(waiting(1, 0, 1));
    queue.add(of_two(2, 0, 1));
    let limits = [Some(queue.limits), Some(queue.limits), None];
    let found = queue.next_led(Instant::now(), &limits);
    assert_eq!(found.map(|(waiting, _)| waiting.job), Some(job(2)));
    assert!(queue.running(job(1)).is_none() && queue.running(job(2)).is_some());
    assert_eq!(led(&mut queue), Some(job(1)));
}

#[test]
fn small_jobs_of_others_begin_before_a_large_one_for_a_while() {
    let mut queue = queue(10, 10);
    let start = Instant::now();
    for waiting in [waiting(1, 1, 60), waiting(2, 2, 60), waiting(3, 2, 1)] {
        queue.add(waiting);
    }
    assert_eq!(led_at(&mut queue, start), Some(job(1)));
    assert_eq!(led_at(&mut queue, start), None, "its proposer's own wait with it");
    for (number, proposer) in [(10, 0), (11, 1)] {
        queue.add(waiting(number, proposer, 10));
        assert_eq!(led_at(&mut queue, start + PATIENCE / 2), Some(job(number)));
    }
    queue.add(waiting(12, 0, 1));
    queue.add(waiting(13, 1, 1));
    assert_eq!(
        led_at(&mut queue, start + PATIENCE),
        None,
        "it has waited for long enough"
    );
    queue.done(job(1));
    let order: Vec<JobId> = std::iter::from_fn(|| led_at(&mut queue, start + PATIENCE)).collect();
    assert_eq!(order, [2, 12, 13, 3].map(job));
}

#[test]
fn one_proposers_large_jobs_leave_room_for_others_between_them() {
    let mut queue = queue(10, 10);
    let mut now = Instant::now();
    for number in 0..5 {
        queue.add(waiting(number, 0, 95));
    }
    let mut small = 100;
    queue.add(waiting(small, 1, 10));
    assert_eq!(led_at(&mut queue, now), Some(job(small)));
    for large in 0..5 {
        // Small jobs come and go, and the large one waits only for so long.
        now += PATIENCE / 2;
        for _ in 0..3 {
            queue.add(waiting(small + 1, 1, 10));
            assert_eq!(led_at(&mut queue, now), Some(job(small + 1)), "before {large}");
            queue.done(job(small));
            small += 1;
        }
        now += PATIENCE;
        queue.add(waiting(small + 1, 1, 10));
        assert_eq!(led_at(&mut queue, now), None, "before {large}");
        queue.done(job(small));
        assert_eq!(led_at(&mut queue, now), Some(job(large)));
        assert_eq!(led_at(&mut queue, now + 9 * PATIENCE), None);
        // However long it runs, the turn is another's then.
        now += 10 * PATIENCE;
        queue.done(job(large));
        small += 1;
        assert_eq!(led_at(&mut queue, now), Some(job(small)));
        assert_eq!(led_at(&mut queue, now), None);
    }
}

#[test]
fn nobody_waits_for_a_proposer_that_is_in_its_own_way() {
    let mut queue = queue(10, 10);
    let mut now = Instant::now();
    queue.add(waiting(1, 0, 50));
    queue.add(waiting(2, 0, 60));
    assert_eq!(led_at(&mut queue, now), Some(job(1)));
    assert_eq!(led_at(&mut queue, now), None);
    now += 10 * PATIENCE;
    queue.add(waiting(10, 1, 50));
    assert_eq!(led_at(&mut queue, now), Some(job(10)));
    // From here on only the other is.
    queue.done(job(1));
    assert_eq!(led_at(&mut queue, now), None);
    queue.add(waiting(11, 1, 50));
    assert_eq!(led_at(&mut queue, now + PATIENCE / 2), Some(job(11)));
    queue.add(waiting(12, 1, 1));
    queue.done(job(10));
    assert_eq!(led_at(&mut queue, now + PATIENCE), None);
    queue.done(job(11));
    let order: Vec<JobId> = std::iter::from_fn(|| led_at(&mut queue, now + PATIENCE)).collect();
    assert_eq!(order, [2, 12].map(job));
}

#[test]
fn a_job_begins_when_it_fits_at_every_party() {
    let mut queue = queue(10, 10);
    let now = Instant::now();
    let narrow = |number, proposer| Waiting {
        memory: vec![1, 1, 60],
        ..waiting(number, proposer, 1)
    };
    for number in 1..4 {
        queue.add(narrow(number, number % 2));
    }
    assert_eq!(led_at(&mut queue, now), Some(job(1)));
    assert_eq!(led_at(&mut queue, now), None);
    // Those that leave out the party without room go on, however long the others wait.
    queue.add(of_two(10, 2, 1));
    assert_eq!(led_at(&mut queue, now + PATIENCE), Some(job(10)));
    queue.add(waiting(11, 2, 1));
    queue.add(of_two(12, 2, 1));
    assert_eq!(led_at(&mut queue, now + PATIENCE), Some(job(12)));
    assert_eq!(led_at(&mut queue, now + PATIENCE), None);
    queue.done(job(1));
    assert_eq!(led_at(&mut queue, now + PATIENCE), Some(job(2)));
    assert_eq!(led_at(&mut queue, now + PATIENCE), Some(job(11)));
    // A party that says that nothing fits there gets one job at a time.
    queue.done(job(2));
    queue.done(job(11));
    let none = Limits {
        memory: 0,
        ..limits(100, 100)
    };
    queue.add(waiting(4, 2, 1));
    let limits = [Some(queue.limits), Some(queue.limits), Some(none)];
    assert!(queue.next_led(now, &limits).is_some() && queue.next_led(now, &limits).is_none());
}

/// Jobs that leave out the party without room do not let others past one that has waited for long.
#[test]
fn a_job_that_waits_for_one_party_is_not_passed_over_in_turns() {
    let mut queue = queue(10, 10);
    let start = Instant::now();
    let narrow = |number, proposer, memory| Waiting {
        memory: vec![1, 1, memory],
        ..waiting(number, proposer, 1)
    };
    queue.add(narrow(2, 0, 60));
    assert_eq!(led_at(&mut queue, start), Some(job(2)));
    queue.add(narrow(1, 2, 60));
    assert_eq!(led_at(&mut queue, start), None);
    let late = start + PATIENCE;
    for number in 10..20 {
        queue.add(of_two(number, 1, 1));
        queue.add(narrow(number + 10, 0, 1));
        assert_eq!(led_at(&mut queue, late), Some(job(number)));
        assert_eq!(led_at(&mut queue, late), None);
        queue.done(job(number));
    }
    queue.done(job(2));
    assert_eq!(led_at(&mut queue, late), Some(job(1)));
}

/// What a party has no room for holds up those jobs only that it takes part in, also of the same proposer.
#[test]
fn a_party_without_room_holds_up_its_own_jobs_only() {
    let mut queue = queue(10, 10);
    let now = Instant::now();
    for number in [1, 2] {
        queue.add(waiting(number, 0, 1));
    }
    queue.add(of_two(3, 0, 1));
    let none = Limits {
        memory: 0,
        ..limits(100, 100)
    };
    let limits = [Some(queue.limits), Some(queue.limits), Some(none)];
    let mut led = || queue.next_led(now, &limits).map(|(waiting, _)| waiting.job);
    assert_eq!((led(), led(), led()), (Some(job(1)), Some(job(3)), None));
}

/// How long a job has waited does not depend on whether another's party is there, and is not counted while its own is away.
#[test]
fn each_job_has_its_own_patience() {
    let mut queue = queue(10, 10);
    let start = Instant::now();
    let away = [Some(queue.limits), Some(queue.limits), None];
    queue.add(of_two(1, 1, 60));
    assert_eq!(led_at(&mut queue, start), Some(job(1)));
    queue.add(waiting(2, 0, 60));
    queue.add(of_two(3, 0, 60));
    for seconds in 0..3 {
        let now = start + Duration::from_secs(seconds);
        assert_eq!(led_at(&mut queue, now), None);
        assert!(queue.next_led(now, &away).is_none());
    }
    assert_eq!(queue.passed.keys().collect::<Vec<_>>(), [&job(3)]);
    queue.add(of_two(4, 1, 1));
    assert_eq!(led_at(&mut queue, start + PATIENCE / 2), Some(job(4)));
    queue.add(of_two(5, 1, 1));
    assert!(queue.next_led(start + PATIENCE, &away).is_none());
    assert_eq!(queue.passed.keys().collect::<Vec<_>>(), [&job(3)]);
}

#[test]
fn a_job_that_pauses_keeps_nobody_waiting() {
    let mut queue = queue(10, 10);
    let (start, end) = (Instant::now(), Instant::now() + PATIENCE);
    queue.add(Waiting {
        not_before: Some(end),
        ..waiting(1, 0, 60)
    });
    // It is in line already.
    queue.add(waiting(1, 0, 60));
    queue.add(waiting(2, 0, 60));
    assert!(!queue.end_pauses(start));
    assert_eq!(led_at(&mut queue, start), Some(job(2)));
    queue.done(job(2));
    assert!(queue.call(job(1), Call::default()));
    assert!(queue.next_called(start, |_| true).is_none());
    assert_eq!(led_at(&mut queue, start), None);
    assert!(queue.end_pauses(end) && !queue.end_pauses(end));
    assert_eq!(led_at(&mut queue, end), Some(job(1)));
}

#[test]
fn what_waits_for_a_party_that_is_not_there_keeps_nobody_busy() {
    let mut queue = queue(10, 10);
    queue.add(waiting(1, 0, 1));
    assert!(!queue.is_idle(|_| true) && queue.is_idle(|party| party != 2));
    queue.add(of_two(2, 0, 1));
    assert!(!queue.is_idle(|party| party != 2));
}

#[test]
fn a_job_in_shards_is_begun_again_while_its_last_run_ends() {
    let mut queue = queue(10, 10);
    let in_shards = Waiting {
        in_shards: true,
        ..waiting(1, 0, 1)
    };
    let call = |again| Call { shelf: None, again };
    for one in [in_shards.clone(), waiting(2, 0, 1)] {
        queue.add(one);
    }
    assert!(queue.call(job(1), call(0)) && queue.call(job(2), call(0)));
    assert!(
        queue
            .next_called(Instant::now(), |waiting| !waiting.in_shards)
            .is_some()
    );
    assert!(
        queue
            .next_called(Instant::now(), |waiting| !waiting.in_shards)
            .is_none(),
        "its parties are not there"
    );
    let (_, running) = queue.next_called(Instant::now(), |_| true).expect("called");
    assert!(running.in_shards && running.again == 0);
    // The same word again is no news; a later one stays until the run has ended. No other job runs twice.
    for (number, again) in [(1, 0), (1, 1), (2, 1)] {
        assert!(queue.call(job(number), call(again)));
    }
    for one in [in_shards, waiting(2, 0, 1)] {
        queue.done(one.job);
        queue.add(one);
    }
    let (_, running) = queue.next_called(Instant::now(), |_| true).expect("called again");
    assert_eq!((running.job, running.again), (job(1), 1));
    queue.done(job(1));
    assert!(queue.next_called(Instant::now(), |_| true).is_none());
}
