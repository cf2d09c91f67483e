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

fn scheduler(jobs: u64, per_proposer: u64) -> Scheduler {
    Scheduler::new(0, limits(jobs, per_proposer))
}

/// What begins next at this moment, where the others may run so much.
fn led_beside(scheduler: &mut Scheduler, now: Instant, others: Limits) -> Option<JobId> {
    let limits = [Some(scheduler.limits), Some(others), Some(others)];
    scheduler.next_led(now, &limits).map(|(waiting, _)| waiting.job)
}

fn led_at(scheduler: &mut Scheduler, now: Instant) -> Option<JobId> {
    led_beside(scheduler, now, limits(100, 100))
}

fn led(scheduler: &mut Scheduler) -> Option<JobId> {
    led_at(scheduler, Instant::now())
}

#[test]
fn proposers_take_turns() {
    let mut scheduler = scheduler(10, 10);
    for number in 0..4 {
        scheduler.add(waiting(number, 0, 1));
    }
    scheduler.add(waiting(10, 1, 1));
    scheduler.add(waiting(20, 2, 1));
    scheduler.add(waiting(20, 2, 1));
    let order: Vec<JobId> = std::iter::from_fn(|| led(&mut scheduler)).collect();
    assert_eq!(order, [10, 20, 0, 1, 2, 3].map(job));
}

#[test]
fn one_proposers_jobs_begin_in_their_order() {
    let mut scheduler = scheduler(10, 10);
    for (number, memory) in [(1, 60), (2, 60), (3, 1)] {
        scheduler.add(waiting(number, 0, memory));
    }
    assert!(
        scheduler.refusal(101).is_some_and(|text| text.contains("memory"))
            && scheduler.refusal(100).is_none()
    );
    assert_eq!(led(&mut scheduler), Some(job(1)));
    assert_eq!(led(&mut scheduler), None);
    scheduler.done(job(1));
    assert_eq!(
        (led(&mut scheduler), led(&mut scheduler)),
        (Some(job(2)), Some(job(3)))
    );
    assert!(!scheduler.is_idle());
}

#[test]
fn what_else_takes_memory_counts_like_a_job() {
    let mut scheduler = scheduler(10, 10);
    assert!(scheduler.reserve(60) && !scheduler.reserve(60) && scheduler.reserve(10));
    scheduler.add(waiting(1, 0, 60));
    assert_eq!(led(&mut scheduler), None);
    scheduler.release(60);
    assert_eq!(led(&mut scheduler), Some(job(1)));
    assert!(!scheduler.reserve(31) && scheduler.reserve(30));
}

#[test]
fn one_proposer_does_not_take_all_places() {
    let mut scheduler = scheduler(3, 2);
    for number in 0..3 {
        scheduler.add(waiting(number, 1, 1));
    }
    scheduler.add(waiting(9, 2, 1));
    let order: Vec<JobId> = std::iter::from_fn(|| led(&mut scheduler)).collect();
    assert_eq!(order, [job(0), job(9), job(1)]);
    scheduler.done(job(9));
    assert_eq!(led(&mut scheduler), None);
    // Where the peers run fewer, fewer begin.
    scheduler.done(job(0));
    for others in [limits(1, 100), limits(100, 1)] {
        assert_eq!(led_beside(&mut scheduler, Instant::now(), others), None);
    }
    assert_eq!(led(&mut scheduler), Some(job(2)));
}

#[test]
fn a_called_job_begins_when_it_waits_and_fits() {
    let mut scheduler = scheduler(10, 10);
    assert!(scheduler.call(job(1), None));
    assert!(scheduler.next_called().is_none());
    scheduler.add(waiting(1, 0, 90));
    scheduler.add(waiting(2, 0, 90));
    let (first, _) = scheduler.next_called().expect("called");
    assert_eq!(first.job, job(1));
    assert!(scheduler.call(job(2), None));
    assert!(scheduler.next_called().is_none());
    scheduler.done(job(1));
    assert!(scheduler.next_called().is_some());
    scheduler.remove(job(2));
    scheduler.close();
    scheduler.add(waiting(3, 0, 1));
    assert!(led(&mut scheduler).is_none());

    let mut narrow = super::tests::scheduler(1, 1);
    for number in [1, 2] {
        narrow.add(waiting(number, 0, 1));
        assert!(narrow.call(job(number), None));
    }
    assert!(
        narrow.next_called().is_some() && narrow.next_called().is_none(),
        "a leader cannot begin more than fit"
    );

    let mut full = super::tests::scheduler(1, 1);
    for number in 0..EARLY as u32 {
        let mut name = [0; 16];
        name[..4].copy_from_slice(&number.to_le_bytes());
        assert!(full.call(JobId(name), None));
    }
    assert!(!full.call(job(255), None));
}

#[test]
fn one_whose_parties_are_away_holds_up_nobody() {
    let mut scheduler = scheduler(10, 10);
    scheduler.add(waiting(1, 0, 1));
    scheduler.add(of_two(2, 0, 1));
    let limits = [Some(scheduler.limits), Some(scheduler.limits), None];
    let found = scheduler.next_led(Instant::now(), &limits);
    assert_eq!(found.map(|(waiting, _)| waiting.job), Some(job(2)));
    assert!(scheduler.running(job(1)).is_none() && scheduler.running(job(2)).is_some());
    assert_eq!(led(&mut scheduler), Some(job(1)));
}

#[test]
fn small_jobs_of_others_begin_before_a_large_one_for_a_while() {
    let mut scheduler = scheduler(10, 10);
    let start = Instant::now();
    for waiting in [waiting(1, 1, 60), waiting(2, 2, 60), waiting(3, 2, 1)] {
        scheduler.add(waiting);
    }
    assert_eq!(led_at(&mut scheduler, start), Some(job(1)));
    assert_eq!(
        led_at(&mut scheduler, start),
        None,
        "its proposer's own wait with it"
    );
    for (number, proposer) in [(10, 0), (11, 1)] {
        scheduler.add(waiting(number, proposer, 10));
        assert_eq!(led_at(&mut scheduler, start + PATIENCE / 2), Some(job(number)));
    }
    scheduler.add(waiting(12, 0, 1));
    scheduler.add(waiting(13, 1, 1));
    assert_eq!(
        led_at(&mut scheduler, start + PATIENCE),
        None,
        "it has waited for long enough"
    );
    scheduler.done(job(1));
    let order: Vec<JobId> = std::iter::from_fn(|| led_at(&mut scheduler, start + PATIENCE)).collect();
    assert_eq!(order, [2, 12, 13, 3].map(job));
}

#[test]
fn one_proposers_large_jobs_leave_room_for_others_between_them() {
    let mut scheduler = scheduler(10, 10);
    let mut now = Instant::now();
    for number in 0..5 {
        scheduler.add(waiting(number, 0, 95));
    }
    let mut small = 100;
    scheduler.add(waiting(small, 1, 10));
    assert_eq!(led_at(&mut scheduler, now), Some(job(small)));
    for large in 0..5 {
        // Small jobs come and go, and the large one waits only for so long.
        now += PATIENCE / 2;
        for _ in 0..3 {
            scheduler.add(waiting(small + 1, 1, 10));
            assert_eq!(
                led_at(&mut scheduler, now),
                Some(job(small + 1)),
                "before {large}"
            );
            scheduler.done(job(small));
            small += 1;
        }
        now += PATIENCE;
        scheduler.add(waiting(small + 1, 1, 10));
        assert_eq!(led_at(&mut scheduler, now), None, "before {large}");
        scheduler.done(job(small));
        assert_eq!(led_at(&mut scheduler, now), Some(job(large)));
        assert_eq!(led_at(&mut scheduler, now + 9 * PATIENCE), None);
        // However long it runs, the turn is another's then.
        now += 10 * PATIENCE;
        scheduler.done(job(large));
        small += 1;
        assert_eq!(led_at(&mut scheduler, now), Some(job(small)));
        assert_eq!(led_at(&mut scheduler, now), None);
    }
}

#[test]
fn nobody_waits_for_a_proposer_that_is_in_its_own_way() {
    let mut scheduler = scheduler(10, 10);
    let mut now = Instant::now();
    scheduler.add(waiting(1, 0, 50));
    scheduler.add(waiting(2, 0, 60));
    assert_eq!(led_at(&mut scheduler, now), Some(job(1)));
    assert_eq!(led_at(&mut scheduler, now), None);
    now += 10 * PATIENCE;
    scheduler.add(waiting(10, 1, 50));
    assert_eq!(led_at(&mut scheduler, now), Some(job(10)));
    // From here on only the other is.
    scheduler.done(job(1));
    assert_eq!(led_at(&mut scheduler, now), None);
    scheduler.add(waiting(11, 1, 50));
    assert_eq!(led_at(&mut scheduler, now + PATIENCE / 2), Some(job(11)));
    scheduler.add(waiting(12, 1, 1));
    scheduler.done(job(10));
    assert_eq!(led_at(&mut scheduler, now + PATIENCE), None);
    scheduler.done(job(11));
    let order: Vec<JobId> = std::iter::from_fn(|| led_at(&mut scheduler, now + PATIENCE)).collect();
    assert_eq!(order, [2, 12].map(job));
}

#[test]
fn a_job_begins_when_it_fits_at_every_party() {
    let mut scheduler = scheduler(10, 10);
    let now = Instant::now();
    let narrow = |number, proposer| Waiting {
        memory: vec![1, 1, 60],
        ..waiting(number, proposer, 1)
    };
    for number in 1..4 {
        scheduler.add(narrow(number, number % 2));
    }
    assert_eq!(led_at(&mut scheduler, now), Some(job(1)));
    assert_eq!(led_at(&mut scheduler, now), None);
    // Those that leave out the party without room go on, however long the others wait.
    scheduler.add(of_two(10, 2, 1));
    assert_eq!(led_at(&mut scheduler, now + PATIENCE), Some(job(10)));
    scheduler.add(waiting(11, 2, 1));
    scheduler.add(of_two(12, 2, 1));
    assert_eq!(led_at(&mut scheduler, now + PATIENCE), Some(job(12)));
    assert_eq!(led_at(&mut scheduler, now + PATIENCE), None);
    scheduler.done(job(1));
    assert_eq!(led_at(&mut scheduler, now + PATIENCE), Some(job(2)));
    assert_eq!(led_at(&mut scheduler, now + PATIENCE), Some(job(11)));
    // A party that says that nothing fits there gets one job at a time.
    scheduler.done(job(2));
    scheduler.done(job(11));
    let none = Limits {
        memory: 0,
        ..limits(100, 100)
    };
    scheduler.add(waiting(4, 2, 1));
    let limits = [Some(scheduler.limits), Some(scheduler.limits), Some(none)];
    assert!(scheduler.next_led(now, &limits).is_some() && scheduler.next_led(now, &limits).is_none());
}

/// Jobs that leave out the party without room do not let others past one that has waited for long.
#[test]
fn a_job_that_waits_for_one_party_is_not_passed_over_in_turns() {
    let mut scheduler = scheduler(10, 10);
    let start = Instant::now();
    let narrow = |number, proposer, memory| Waiting {
        memory: vec![1, 1, memory],
        ..waiting(number, proposer, 1)
    };
    scheduler.add(narrow(2, 0, 60));
    assert_eq!(led_at(&mut scheduler, start), Some(job(2)));
    scheduler.add(narrow(1, 2, 60));
    assert_eq!(led_at(&mut scheduler, start), None);
    let late = start + PATIENCE;
    for number in 10..20 {
        scheduler.add(of_two(number, 1, 1));
        scheduler.add(narrow(number + 10, 0, 1));
        assert_eq!(led_at(&mut scheduler, late), Some(job(number)));
        assert_eq!(led_at(&mut scheduler, late), None);
        scheduler.done(job(number));
    }
    scheduler.done(job(2));
    assert_eq!(led_at(&mut scheduler, late), Some(job(1)));
}

/// What a party has no room for holds up those jobs only that it takes part in, also of the same proposer.
#[test]
fn a_party_without_room_holds_up_its_own_jobs_only() {
    let mut scheduler = scheduler(10, 10);
    let now = Instant::now();
    for number in [1, 2] {
        scheduler.add(waiting(number, 0, 1));
    }
    scheduler.add(of_two(3, 0, 1));
    let none = Limits {
        memory: 0,
        ..limits(100, 100)
    };
    let limits = [Some(scheduler.limits), Some(scheduler.limits), Some(none)];
    let mut led = || scheduler.next_led(now, &limits).map(|(waiting, _)| waiting.job);
    assert_eq!((led(), led(), led()), (Some(job(1)), Some(job(3)), None));
}

/// How long a job has waited does not depend on whether another's party is there, and is not counted while its own is away.
#[test]
fn each_job_has_its_own_patience() {
    let mut scheduler = scheduler(10, 10);
    let start = Instant::now();
    let away = [Some(scheduler.limits), Some(scheduler.limits), None];
    scheduler.add(of_two(1, 1, 60));
    assert_eq!(led_at(&mut scheduler, start), Some(job(1)));
    scheduler.add(waiting(2, 0, 60));
    scheduler.add(of_two(3, 0, 60));
    for seconds in 0..3 {
        let now = start + Duration::from_secs(seconds);
        assert_eq!(led_at(&mut scheduler, now), None);
        assert!(scheduler.next_led(now, &away).is_none());
    }
    assert_eq!(scheduler.passed.keys().collect::<Vec<_>>(), [&job(3)]);
    scheduler.add(of_two(4, 1, 1));
    assert_eq!(led_at(&mut scheduler, start + PATIENCE / 2), Some(job(4)));
    scheduler.add(of_two(5, 1, 1));
    assert!(scheduler.next_led(start + PATIENCE, &away).is_none());
    assert_eq!(scheduler.passed.keys().collect::<Vec<_>>(), [&job(3)]);
}
