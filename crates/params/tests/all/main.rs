//! Parameters: all tests but those that depend on how busy their process is, or on its memory.

mod lego_known_points;
mod pool_known_points;
mod three_games;
mod three_known_points;
mod three_mixed;
