//! Oblivious transfer as a whole: attacks, and measurements for people.

mod attacks;
mod measure;
