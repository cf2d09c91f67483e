//! Damaged files, and runs that end early.

use super::*;

/// A piece that one party cannot read is left out by both, and what others have takes its place.
#[test]
fn damage_is_passed_over() {
    let disks = Disks::new();
    disks.make(&[LARGE]);
    let [path, _] = disks.paths();
    let large = disks.lots()[0][0].clone();
    let lot = path.join(large.id.to_string());
    let mut ports: Vec<_> = fs::read_dir(&lot)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with("part-005")
        })
        .collect();
    ports.sort();
    // Each of the lot's epochs has a piece.
    assert!(ports.len() >= 2, "{ports:?}");
    let mut bytes = fs::read(&ports[0]).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&ports[0], &bytes).unwrap();
    const FEW: Order = Order {
        ports: 40,
        ands: 20,
        ..Order::NOTHING
    };
    let ((a, mut of_a), (b, mut of_b)) = take(&disks, &[FEW])
        .map_err(|errors| format!("{errors:?}"))
        .unwrap();
    assert_fits(&a, &mut of_a[0], &b, &mut of_b[0]);
    // It is not tried again.
    let [ours, theirs] = disks.lots();
    assert!(!ports[0].exists());
    assert!(ours[0].left.ports < large.left.ports - 2 * FEW.ports);
    assert_eq!(ours[0].left.ands, large.left.ands - FEW.ands);
    assert_eq!(theirs[0].left.ports, large.left.ports - 2 * FEW.ports);
    let ((a, mut of_a), (b, mut of_b)) = take(&disks, &[HALF])
        .map_err(|errors| format!("{errors:?}"))
        .unwrap();
    assert_fits(&a, &mut of_a[0], &b, &mut of_b[0]);
    assert_eq!(disks.lots()[0][0].left, ours[0].left.beyond(&HALF));
}

/// A copy of a party's disk from the moment in which it tells its peer that it stops.
struct AtAbort(PathBuf, TempDir);

impl Between for AtAbort {
    fn abort(&mut self, channel: &mut dyn Channel, reason: AbortReason) {
        let copy = self.1.path().join("material");
        if !copy.exists() {
            copy_all(&self.0, &copy);
        }
        channel.abort(reason);
    }
}

/// Whatever ends the making of a lot, and whatever end a crash makes of that: nothing of it is kept.
#[test]
fn a_run_that_fails_leaves_nothing() {
    // In the first epoch, in the last, and in the last word.
    for (step, occurrence) in [(PROVE_GENERATE, 0), (PROVE_GENERATE, 2), (STORED, 0)] {
        let disks = Disks::new();
        let paths = disks.paths();
        let copies = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let told = copies.each_ref().map(|copy| copy.path().join("material"));
        let copies = Mutex::new(copies.map(Some));
        let mut seen = 0;
        let adversary = Adversary::with(move |_, _, mut message: Message| {
            if message.step == step {
                seen += 1;
                if seen == occurrence + 1 {
                    message.body.push(0);
                }
            }
            vec![message]
        });
        let world = World::random(2).adversary(GARBLER, adversary.clone());
        let results = world.run(move |mut context| {
            let me = context.me;
            let path = &paths[me.index()];
            let folder = Store::open(path, &key())?;
            let mut config = config(&context);
            config.epoch = 400;
            let channel = context.take(other(&context), "main");
            let copy = copies.lock().unwrap()[me.index()].take().unwrap();
            let path = path.clone();
            let mut channel: Box<dyn Channel> = Box::new(Tapped::new(AtAbort(path, copy), channel));
            let channels = std::slice::from_mut(&mut channel);
            let make = if me == GARBLER {
                make::<GarblerKeys>
            } else {
                make::<EvaluatorKeys>
            };
            if let Err(error) = make(&folder, me, channels, &mut config, &LARGE, &mut |_| ()) {
                assert!(lots(&folder)?.0.is_empty(), "{error}");
                // The process ends without another word.
                let copy = told[me.index()].clone();
                assert!(copy.exists());
                let folder = Store::open(&copy, &key())?;
                assert!(lots(&folder)?.0.is_empty(), "{error}");
                return Err(error);
            }
            Ok(())
        });
        assert_eq!(adversary.deviations(), 1, "{step}");
        let error = results[1].as_ref().unwrap_err();
        assert_eq!(error.check(), Some(MESSAGE_FORM), "{step}: {error}");
        // Whoever has heard the last word cannot know that the other has not.
        let [ours, theirs] = disks.lots();
        assert_eq!(ours.len(), usize::from(step == STORED), "{step}");
        assert_eq!(results[0].is_ok(), step == STORED, "{step}");
        assert!(theirs.is_empty(), "{step}");
    }
}
