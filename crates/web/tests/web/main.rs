//! The interface, over the real record and a service that tests make up.

mod attacks;
mod browser;
mod calls;
mod client;
mod crowds;
mod events;
mod fake;
mod logs;
mod page;
mod put_back;
mod record;
mod slow;
mod tls;
