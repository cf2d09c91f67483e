//! Which instruction sets this CPU has, and the pattern by which one safe body is compiled for each of them.

use std::fmt;
use std::sync::OnceLock;

/// The environment variable that chooses a level, read once: `portable`, `avx2` or `avx512`.
const OVERRIDE: &str = "CENOTE_SIMD";

/// A level of instruction sets. Each level includes the ones before it, and all compute the same bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Simd {
    /// No instruction set beyond the target's baseline.
    Portable,
    /// AVX2, BMI1/2, POPCNT, AES-NI and PCLMULQDQ.
    Avx2,
    /// AVX-512 F, BW, DQ and VL, VAES, VPCLMULQDQ and GFNI.
    Avx512,
}

impl Simd {
    /// All levels, slowest first.
    pub const ALL: [Simd; 3] = [Simd::Portable, Simd::Avx2, Simd::Avx512];

    /// The level to use: the highest that this CPU has, unless the environment variable `CENOTE_SIMD` names another
    /// that it has. Found once; later calls are one load.
    #[inline]
    pub fn detect() -> Simd {
        static CHOSEN: OnceLock<Simd> = OnceLock::new();
        *CHOSEN.get_or_init(|| choose(std::env::var(OVERRIDE).ok().as_deref(), Simd::highest()))
    }

    /// The levels that this CPU has, slowest first; never empty.
    pub fn supported() -> &'static [Simd] {
        &Simd::ALL[..=Simd::highest() as usize]
    }

    /// Whether this CPU has the level.
    #[inline]
    pub fn is_supported(self) -> bool {
        self <= Simd::highest()
    }

    /// The level itself, as proof that code compiled for it may be called.
    ///
    /// # Panics
    /// If this CPU lacks the level.
    #[inline]
    pub(crate) fn assert_supported(self) -> Simd {
        assert!(self.is_supported(), "this CPU lacks {self}");
        self
    }

    /// The highest level that this CPU has.
    #[inline]
    fn highest() -> Simd {
        static HIGHEST: OnceLock<Simd> = OnceLock::new();
        *HIGHEST.get_or_init(probe)
    }
}

impl fmt::Display for Simd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Simd::Portable => "portable",
            Simd::Avx2 => "avx2",
            Simd::Avx512 => "avx512",
        })
    }
}

/// The level that `wanted` names if the CPU, whose highest level is `highest`, has it; else `highest`.
fn choose(wanted: Option<&str>, highest: Simd) -> Simd {
    let named = |level: &Simd| wanted.is_some_and(|name| name.eq_ignore_ascii_case(&level.to_string()));
    Simd::ALL
        .into_iter()
        .find(named)
        .filter(|&level| level <= highest)
        .unwrap_or(highest)
}

#[cfg(target_arch = "x86_64")]
fn probe() -> Simd {
    // These lists must cover the features that `multiversion!` and the hand-written kernels enable: calling them on
    // the strength of the level is sound only then.
    macro_rules! has {
        ($($feature:tt),*) => { $(std::arch::is_x86_feature_detected!($feature))&&* };
    }
    if !has!("avx2", "bmi1", "bmi2", "popcnt", "aes", "pclmulqdq") {
        Simd::Portable
    } else if !has!(
        "avx512f",
        "avx512bw",
        "avx512dq",
        "avx512vl",
        "vaes",
        "vpclmulqdq",
        "gfni"
    ) {
        Simd::Avx2
    } else {
        Simd::Avx512
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn probe() -> Simd {
    Simd::Portable
}

/// Compiles one safe function for every [`Simd`] level and chooses among the copies at run time.
///
/// ```ignore
/// multiversion! {
///     /// `dst ^= src`, word by word.
///     pub fn xor_into(dst: &mut [u64], src: &[u64]) {
///         for (d, s) in dst.iter_mut().zip(src) {
///             *d ^= s;
///         }
///     }
/// }
/// ```
///
/// defines `xor_into(dst, src)`, which runs on [`Simd::detect`], and `xor_into::on(level, dst, src)`, which runs on a
/// given level so that tests can compare them (and panics if the CPU lacks it). The body is ordinary safe code that
/// the compiler vectorises anew for each level. What it calls is vectorised with it only if inlined: mark helpers
/// `#[inline(always)]`. Arguments are plain names; the function may have const generics (`fn f<const N: usize>(..)`).
/// The macro is used in module scope, and the body sees the names of the surrounding module.
macro_rules! multiversion {
    ($(
        $(#[$meta:meta])*
        $vis:vis fn $name:ident $(<$(const $generic:ident: $generic_ty:ty),+>)? (
            $($arg:ident: $ty:ty),* $(,)?
        ) $(-> $ret:ty)? $body:block
    )*) => {$(
        $(#[$meta])*
        #[inline]
        $vis fn $name $(<$(const $generic: $generic_ty),+>)? ($($arg: $ty),*) $(-> $ret)? {
            $name::on$(::<$($generic),+>)?($crate::Simd::detect(), $($arg),*)
        }

        // Functions and modules have separate namespaces, so the copies can live under the function's own name.
        pub(crate) mod $name {
            #[allow(unused_imports, reason = "a body may need no name of its module")]
            use super::*;

            /// The function, on the given level.
            #[inline]
            pub(crate) fn on $(<$(const $generic: $generic_ty),+>)? (
                level: $crate::Simd, $($arg: $ty),*
            ) $(-> $ret)? {
                match level.assert_supported() {
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: the level is supported, so the CPU has the features that the copy enables.
                    $crate::Simd::Avx512 => unsafe { avx512$(::<$($generic),+>)?($($arg),*) },
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: as above.
                    $crate::Simd::Avx2 => unsafe { avx2$(::<$($generic),+>)?($($arg),*) },
                    _ => body$(::<$($generic),+>)?($($arg),*),
                }
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt")]
            fn avx512 $(<$(const $generic: $generic_ty),+>)? ($($arg: $ty),*) $(-> $ret)? {
                body$(::<$($generic),+>)?($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
            fn avx2 $(<$(const $generic: $generic_ty),+>)? ($($arg: $ty),*) $(-> $ret)? {
                body$(::<$($generic),+>)?($($arg),*)
            }

            #[inline(always)]
            fn body $(<$(const $generic: $generic_ty),+>)? ($($arg: $ty),*) $(-> $ret)? $body
        }
    )*};
}
pub(crate) use multiversion;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_the_cpu_lacks_or_that_does_not_exist_is_ignored() {
        assert_eq!(choose(None, Simd::Avx2), Simd::Avx2);
        assert_eq!(choose(Some("portable"), Simd::Avx512), Simd::Portable);
        assert_eq!(choose(Some("AVX2"), Simd::Avx512), Simd::Avx2);
        assert_eq!(choose(Some("avx512"), Simd::Avx2), Simd::Avx2);
        assert_eq!(choose(Some("neon"), Simd::Avx2), Simd::Avx2);
        assert_eq!(choose(Some(""), Simd::Portable), Simd::Portable);
    }

    #[test]
    fn the_level_in_use_is_supported() {
        assert!(Simd::supported().contains(&Simd::detect()));
        assert_eq!(Simd::supported()[0], Simd::Portable);
        for level in Simd::ALL {
            assert_eq!(level.is_supported(), Simd::supported().contains(&level));
        }
    }

    multiversion! {
        /// The sum of `words`, each times `N`.
        fn scaled_sum<const N: u64>(words: &[u64], start: u64) -> u64 {
            words.iter().fold(start, |sum, word| sum.wrapping_add(word.wrapping_mul(N)))
        }

        fn negate(words: &mut [u64]) {
            words.iter_mut().for_each(|word| *word = !*word);
        }
    }

    #[test]
    fn every_copy_of_a_multiversioned_function_computes_the_same() {
        let words: Vec<u64> = (0..1001).collect();
        assert_eq!(scaled_sum::<3>(&words, 7), 7 + 3 * 500 * 1001);
        for &level in Simd::supported() {
            assert_eq!(scaled_sum::on::<3>(level, &words, 7), 7 + 3 * 500 * 1001);
            let mut negated = words.clone();
            negate::on(level, &mut negated);
            assert!(negated.iter().zip(&words).all(|(a, b)| *a == !b));
        }
        let mut twice = words.clone();
        negate(&mut twice);
        negate(&mut twice);
        assert_eq!(twice, words);
    }
}
