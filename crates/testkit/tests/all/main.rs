//! What tests rely on: the world, and the example protocol.

mod example;
mod world;
