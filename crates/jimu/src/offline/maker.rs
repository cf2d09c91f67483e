//! Gadgets are made beside evaluation, by a thread of their own over a channel of their own.
//!
//! Both parties order and take deliveries at the same places of a program, so that both draw the same gadgets; when a delivery
//! is made is another matter.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use cenote_net::{AbortReason, Channel, Closer, Meter};
use cenote_pool::kept::KeptPool;
use cenote_primitives::Block;
use cenote_session::{Error, Fate, Result, is_interrupted};
use zeroize::Zeroizing;

use crate::gadget::{GadgetKind, Shape};

/// Gadgets to be made.
pub(crate) struct Order {
    pub(crate) kind: GadgetKind,
    pub(crate) shape: Shape,
    pub(crate) count: usize,
    /// Gadgets are checked whose random 32 bits are below this.
    pub(crate) threshold: u32,
    /// An array to be used again.
    pub(crate) spare: Zeroizing<Vec<Block>>,
}

impl Order {
    /// Room for records of so many blocks.
    pub(super) fn room(&mut self, record: usize) -> Result<Zeroizing<Vec<Block>>> {
        let mut records = std::mem::take(&mut self.spare);
        records.clear();
        let blocks = self.count * record;
        if records.try_reserve_exact(blocks).is_err() {
            let what = format!(
                "there is no room for {} gadgets: {} bytes",
                self.count,
                blocks * size_of::<Block>()
            );
            return Err(Error::OutOfMemory(what));
        }
        records.resize(blocks, Block::ZERO);
        Ok(records)
    }
}

/// Gadgets that were made, of which those with the numbers `kept` were not checked, and the coin that decided it.
pub(crate) struct Delivery {
    pub(crate) kind: GadgetKind,
    pub(crate) records: Zeroizing<Vec<Block>>,
    pub(crate) kept: Vec<u32>,
    pub(crate) coin: Block,
}

/// One side's part of making gadgets.
pub(crate) trait Make: Send {
    /// Makes what was ordered together with the other side, at the other end of `channel`.
    fn make(&mut self, order: Order, channel: &mut dyn Channel) -> Result<Delivery>;

    /// What is on disk, if the pools are kept.
    fn kept(&self) -> Option<&KeptPool>;
}

/// The thread that makes gadgets, to the one that orders them.
pub(crate) struct Maker {
    /// `None` when no more are to come.
    orders: Option<Sender<Order>>,
    deliveries: Receiver<Delivery>,
    /// Deliveries of another kind than the one that was waited for.
    waiting: Vec<Delivery>,
    /// Deliveries of each kind that were ordered and not taken.
    ordered: [usize; 2],
    fate: Arc<Fate>,
    /// What went over the channel until the last delivery.
    meter: Arc<Mutex<Meter>>,
    interrupter: Closer,
    thread: Option<JoinHandle<Box<dyn Channel>>>,
}

impl Maker {
    /// Starts the thread. If it fails, it stops its own party by `online`, so that nobody waits for a session that is lost.
    pub(crate) fn start(
        make: Box<dyn Make>,
        channel_of_pool: Box<dyn Channel>,
        online: Closer,
    ) -> Result<Self> {
        let (orders, from_engine) = channel();
        let (to_engine, deliveries) = channel();
        let (fate, meter) = (Arc::new(Fate::default()), Arc::new(Mutex::default()));
        let interrupter = channel_of_pool.interrupter();
        let worker = Worker {
            make,
            channel: channel_of_pool,
            orders: from_engine,
            deliveries: to_engine,
            fate: fate.clone(),
            meter: meter.clone(),
            online,
        };
        let thread = std::thread::Builder::new()
            .name("gadgets".into())
            .spawn(move || worker.run())
            .map_err(|error| {
                Error::Internal(format!("cannot start the thread that makes gadgets: {error}"))
            })?;
        Ok(Self {
            orders: Some(orders),
            deliveries,
            waiting: Vec::new(),
            ordered: [0; 2],
            fate,
            meter,
            interrupter,
            thread: Some(thread),
        })
    }

    /// Deliveries of a kind that were ordered and not taken.
    pub(crate) fn ordered(&self, kind: GadgetKind) -> usize {
        self.ordered[kind as usize]
    }

    pub(crate) fn order(&mut self, order: Order) {
        self.ordered[order.kind as usize] += 1;
        if let Some(orders) = &self.orders {
            // A thread that has ended says why to who waits for its delivery.
            let _ = orders.send(order);
        }
    }

    /// The next delivery of a kind, which must have been ordered. The channel's deadlines bound the wait.
    pub(crate) fn take(&mut self, kind: GadgetKind) -> Result<Delivery> {
        let at = self.waiting.iter().position(|delivery| delivery.kind == kind);
        let delivery = match at {
            Some(at) => self.waiting.remove(at),
            None => loop {
                let Ok(delivery) = self.deliveries.recv() else {
                    self.fate.check()?;
                    let reason = "the thread that makes gadgets ended without a reason";
                    return Err(Error::Internal(reason.into()));
                };
                if delivery.kind == kind {
                    break delivery;
                }
                self.waiting.push(delivery);
            },
        };
        self.ordered[kind as usize] -= 1;
        Ok(delivery)
    }

    /// Fails if the thread has.
    pub(crate) fn check(&self) -> Result<()> {
        self.fate.check()
    }

    /// The better explanation of an error of the party's other thread.
    pub(crate) fn explain(&self, error: Error) -> Error {
        self.fate
            .explain(error, || self.thread.as_ref().is_none_or(JoinHandle::is_finished))
    }

    /// What went over the channel until the last delivery.
    pub(crate) fn meter(&self) -> Meter {
        *self.meter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all that was ordered is made, and gives the channel back.
    pub(crate) fn end(&mut self) -> Result<Box<dyn Channel>> {
        self.orders = None;
        let ended = self.thread.take().and_then(|thread| thread.join().ok());
        self.fate.check()?;
        ended.ok_or_else(|| Error::Internal("the thread that makes gadgets panicked".into()))
    }

    /// Ends the thread, which tells the peer `last_word`, and waits for it.
    pub(crate) fn stop(&mut self, last_word: AbortReason) {
        if let Some(mut channel) = self.interrupt() {
            channel.abort(last_word);
        }
    }

    fn interrupt(&mut self) -> Option<Box<dyn Channel>> {
        self.fate.end();
        self.orders = None;
        self.interrupter.close();
        let ended = self.thread.take()?.join();
        if ended.is_err() {
            tracing::error!("the thread that makes gadgets panicked");
        }
        ended.ok()
    }
}

impl Drop for Maker {
    fn drop(&mut self) {
        self.interrupt();
    }
}

/// What the thread has.
struct Worker {
    make: Box<dyn Make>,
    channel: Box<dyn Channel>,
    orders: Receiver<Order>,
    deliveries: Sender<Delivery>,
    fate: Arc<Fate>,
    meter: Arc<Mutex<Meter>>,
    online: Closer,
}

impl Worker {
    fn run(mut self) -> Box<dyn Channel> {
        while let Ok(order) = self.orders.recv() {
            if self.fate.is_ending() {
                break;
            }
            let made = self.make.make(order, &mut *self.channel);
            *self.meter.lock().unwrap_or_else(PoisonError::into_inner) = self.channel.meter();
            match made {
                // Who does not take it has ended the session.
                Ok(delivery) => drop(self.deliveries.send(delivery)),
                Err(error) => {
                    // Before anybody hears of it.
                    if let Some(kept) = self.make.kept() {
                        kept.retire_after(&error);
                    }
                    // Who closed the channel under it knows why, and tells the peer.
                    let (tells, code) = (!is_interrupted(&error), error.reason().code());
                    // Before the peer is told, so that its answer cannot take the place of the cause.
                    let is_news = self.fate.fail(error);
                    if tells {
                        self.channel.abort(code);
                    }
                    if is_news {
                        self.online.close();
                    }
                    break;
                }
            }
        }
        self.channel
    }
}
