//! The memory that each part of a channel takes outside of the pools of the budget.

/// Bodies of at least this size are sent without a copy, and received straight into the caller's buffer.
pub(crate) const LARGE: usize = 32 << 10;
/// Smaller messages are collected until there are this many bytes of them.
pub(crate) const COALESCE: usize = 64 << 10;

/// What the buffer of received bytes holds without drawing on the budget.
pub(crate) const INBOX: usize = 128 << 10;

/// Bytes of a piece of a queue, all of which are allocated with it.
pub(crate) const PIECE: usize = 128 << 10;
/// Pieces that a queue has without drawing on the budget.
pub(crate) const OWN_PIECES: usize = 2;
/// Pieces more for urgent bytes, and for the last chunk that TLS has sealed.
pub(crate) const RESERVE: usize = 2;

/// Bytes that TLS encrypts and writes at a time. As ciphertext they fit into the reserve of the socket's queue.
pub(crate) const CHUNK: usize = 64 << 10;
/// Ciphertext that is read at a time; holds several of the longest records.
pub(crate) const INCOMING: usize = 128 << 10;
/// The most memory that TLS takes besides its socket's queue: a vector that grows may have room for twice its bytes, and
/// rustls itself takes less than 64 KiB.
pub(crate) const TLS: usize = INCOMING + 2 * INCOMING + 2 * (CHUNK + (4 << 10)) + (64 << 10);

/// The most that a channel takes, whatever its transport.
pub(crate) const CHANNEL: usize = 2 * (COALESCE + LARGE) + INBOX + TLS + (OWN_PIECES + RESERVE) * PIECE;
