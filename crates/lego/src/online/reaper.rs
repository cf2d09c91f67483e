//! Dropping what was used, elsewhere: to wipe and give back the hundreds of megabytes of an epoch takes longer than the
//! last evaluation of it.

use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// Anything that is to be dropped.
type Used = Box<dyn Send>;

/// A thread that drops what it is handed. Dropping the reaper waits for it.
#[derive(Default)]
pub(super) struct Reaper {
    started: Option<(Sender<Used>, JoinHandle<()>)>,
}

impl Reaper {
    /// Drops `used`, soon.
    pub(super) fn drop_later(&mut self, used: impl Send + 'static) {
        if self.started.is_none() {
            let (sender, receiver) = channel::<Used>();
            let name = "cenote-wipe".to_string();
            let thread = std::thread::Builder::new()
                .name(name)
                .spawn(move || receiver.into_iter().for_each(drop));
            self.started = thread.ok().map(|thread| (sender, thread));
        }
        if let Some((sender, _)) = &self.started {
            // A thread that is gone leaves it to be dropped here.
            let _ = sender.send(Box::new(used));
        }
    }
}

impl Reaper {
    /// Waits until all that it was handed is dropped.
    pub(super) fn wait(&mut self) {
        if let Some((sender, thread)) = self.started.take() {
            drop(sender);
            let _ = thread.join();
        }
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        self.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn everything_is_dropped_when_the_reaper_is() {
        let item = Arc::new(());
        let mut reaper = Reaper::default();
        (0..100).for_each(|_| reaper.drop_later(item.clone()));
        reaper.wait();
        assert_eq!(Arc::strong_count(&item), 1);
        reaper.drop_later(item.clone());
        drop(reaper);
        assert_eq!(Arc::strong_count(&item), 1);
    }
}
