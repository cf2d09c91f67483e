//! The shape of a batch of triples.

use cenote_params::three::{Parameters, Variant};

/// `B` arrays: the first has `N` triples, each other one has `L` subarrays of `X` triples, of which `C` are opened. With
/// buckets of two sizes (Lemma 5.7) there is one more array, whose triples go to the `N - k` larger buckets only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) n: usize,
    b: usize,
    pub(crate) c: usize,
    pub(crate) l: usize,
    pub(crate) x: usize,
    /// Buckets of size `B + 1`: `N - k`.
    pub(crate) large: usize,
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Shape { n, b, c, l, x, large } = self;
        write!(f, "N={n} B={b} C={c} L={l} X={x} k={}", n - large)
    }
}

/// One array of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Array {
    /// The number, in the batch, of the array's first triple.
    pub(crate) first: u64,
    /// Subarrays. Each is shuffled, and then they are shuffled among themselves.
    pub(crate) subarrays: usize,
    /// Triples in a subarray.
    pub(crate) each: usize,
}

impl Array {
    /// Triples in all.
    pub(crate) fn len(self) -> usize {
        self.subarrays * self.each
    }
}

impl Shape {
    pub(crate) fn of(parameters: &Parameters) -> Self {
        let size = |value: u64| usize::try_from(value).expect("parameters fit this machine's memory");
        Self {
            n: size(parameters.n()),
            b: size(parameters.b().into()),
            c: size(parameters.c().into()),
            l: size(parameters.l()),
            x: size(parameters.x()),
            large: match parameters.variant() {
                Variant::Baseline | Variant::CacheEfficient => size(parameters.n() - parameters.k()),
                // Their buckets are all of one size.
                Variant::Reshuffle | Variant::OnDemand => 0,
            },
        }
    }

    /// Triples of a subarray that go into buckets.
    pub(crate) fn bucketed(self) -> usize {
        self.x - self.c
    }

    /// The arrays that are spent to check the first.
    pub(crate) fn partners(self) -> Vec<Array> {
        let mut first = self.n as u64;
        let mut next = |subarrays, each| {
            let array = Array {
                first,
                subarrays,
                each,
            };
            first += array.len() as u64;
            array
        };
        let mut arrays: Vec<_> = (1..self.b).map(|_| next(self.l, self.x)).collect();
        if self.large > 0 {
            // A shuffle in one level chooses single buckets, one in two levels whole subarrays of them.
            arrays.push(if self.l == 1 {
                next(1, self.large + self.c)
            } else {
                next(self.large / self.bucketed(), self.x)
            });
        }
        arrays
    }
}
