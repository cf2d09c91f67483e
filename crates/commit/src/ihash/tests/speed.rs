//! Time per label: `cargo test --release -p cenote-commit --lib ihash::tests::speed -- --ignored --nocapture`.

use super::*;
use crate::tests::speed::now;

#[test]
#[ignore = "measures; it checks nothing that others do not"]
fn speed() {
    const LABELS: usize = 1 << 17;
    const ROUNDS: usize = 8;
    let mut entropy = Entropy::for_tests(140);
    let pair = Pair::new(&usual(), &mut entropy);
    let (blocks, hash_blocks) = (pair.code.label_blocks(), pair.code.hash_blocks());
    for chunk in [64, 1024, LABELS] {
        let batch = |i: usize| Batch {
            first: (i * chunk / UNIT) as u64,
            labels: chunk,
        };
        let [random_bytes, chosen_bytes] =
            [pair.code.random_bytes(batch(0)), pair.code.chosen_bytes(batch(0))];
        let (_, mut labels, mut random) = pair.make(0, LABELS);
        let (_, mut chosen) = pair.choose(0, &labels);
        let mut hashes = vec![Block::ZERO; LABELS * hash_blocks];
        let mut colours = vec![0; LABELS / 64];
        let print = |name: &str, work: &mut dyn FnMut(usize)| {
            (0..LABELS / chunk).for_each(&mut *work);
            let start = now();
            (0..ROUNDS).for_each(|_| (0..LABELS / chunk).for_each(&mut *work));
            let time = (now() - start) * 1e9 / (ROUNDS * LABELS) as f64;
            print!("{name} {time:.1}  ");
        };
        print!("pieces of {chunk:6} (ns each):  ");
        print("random", &mut |i| {
            let labels = &mut labels[i * chunk * blocks..][..chunk * blocks];
            let message = &mut random[i * random_bytes..][..random_bytes];
            pair.committer.random(batch(i), labels, message);
        });
        print("chosen", &mut |i| {
            let labels = &labels[i * chunk * blocks..][..chunk * blocks];
            let message = &mut chosen[i * chosen_bytes..][..chosen_bytes];
            pair.committer.chosen(batch(i), labels, message);
        });
        print("watch chosen", &mut |i| {
            let message = &chosen[i * chosen_bytes..][..chosen_bytes];
            let hashes = &mut hashes[i * chunk * hash_blocks..][..chunk * hash_blocks];
            assert_eq!(pair.watcher.chosen(batch(i), message, hashes), Ok(()));
        });
        print("watch random", &mut |i| {
            let message = &random[i * random_bytes..][..random_bytes];
            let hashes = &mut hashes[i * chunk * hash_blocks..][..chunk * hash_blocks];
            assert_eq!(pair.watcher.random(batch(i), message, hashes), Ok(()));
        });
        print("hash", &mut |i| {
            let labels = &labels[i * chunk * blocks..][..chunk * blocks];
            let hashes = &mut hashes[i * chunk * hash_blocks..][..chunk * hash_blocks];
            pair.watcher.hash(labels, hashes);
        });
        print("verify", &mut |i| {
            let labels = &labels[i * chunk * blocks..][..chunk * blocks];
            let hashes = &hashes[i * chunk * hash_blocks..][..chunk * hash_blocks];
            assert_eq!(pair.watcher.verify(labels, hashes), Ok(()));
        });
        let delta_hash = pair.hash(&random_labels(&pair.code, 1, &mut entropy));
        print("which", &mut |i| {
            let labels = &labels[i * chunk * blocks..][..chunk * blocks];
            let hashes = &hashes[i * chunk * hash_blocks..][..chunk * hash_blocks];
            let colours = &mut colours[i * chunk / 64..][..chunk / 64];
            assert_eq!(pair.watcher.which(labels, hashes, &delta_hash, colours), Ok(()));
        });
        println!();
    }
}
