//! What a program may ask of a protocol: the Engine contract, meters and errors.
#![forbid(unsafe_code)]
