//! Three parties, honest majority, one malicious (Araki et al. 2017).
#![forbid(unsafe_code)]
