//! Secret wires that share with one another what the calls that made them left behind.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::WireVector;

/// The wires that one call made, and what a protocol keeps of them.
pub trait Bundle: Send + Sync {
    /// Number of wires.
    fn wires(&self) -> usize;

    /// Number of lanes.
    fn lanes(&self) -> usize;
}

/// Wires of one or more bundles, in order. Clones, selections and concatenations share the bundles. `Debug` prints the shape only.
pub struct Bundles<B> {
    lanes: usize,
    parts: Vec<Part<B>>,
}

/// Some wires of a bundle.
pub struct Part<B> {
    /// What one call made, shared with everything else that selects of it.
    pub bundle: Arc<B>,
    /// The numbers of the selected wires, counted from 0 in the bundle.
    pub range: Range<usize>,
}

impl<B> Clone for Part<B> {
    fn clone(&self) -> Self {
        Self {
            bundle: self.bundle.clone(),
            range: self.range.clone(),
        }
    }
}

impl<B> Clone for Bundles<B> {
    fn clone(&self) -> Self {
        Self {
            lanes: self.lanes,
            parts: self.parts.clone(),
        }
    }
}

impl<B: Bundle> Bundles<B> {
    /// All wires of `bundle`.
    pub fn of(bundle: Arc<B>) -> Self {
        Self {
            lanes: bundle.lanes(),
            parts: vec![Part {
                range: 0..bundle.wires(),
                bundle,
            }],
        }
    }

    /// No wires, of no lanes.
    pub fn none() -> Self {
        Self {
            lanes: 0,
            parts: Vec::new(),
        }
    }

    /// Whether these are all wires of `bundle`, in order, and no others.
    pub fn are(&self, bundle: &Arc<B>) -> bool {
        let [part] = self.parts.as_slice() else {
            return false;
        };
        Arc::ptr_eq(&part.bundle, bundle) && part.range == (0..bundle.wires())
    }

    /// The parts, in order.
    pub fn parts(&self) -> &[Part<B>] {
        &self.parts
    }

    /// Takes the parts out.
    pub(crate) fn into_parts(self) -> Vec<Part<B>> {
        self.parts
    }

    /// The bundle and the number within it of each wire.
    pub fn rows(&self) -> impl Iterator<Item = (&B, usize)> {
        self.parts
            .iter()
            .flat_map(|part| part.range.clone().map(move |wire| (&*part.bundle, wire)))
    }
}

impl<B: Bundle> WireVector for Bundles<B> {
    fn wires(&self) -> usize {
        self.parts.iter().map(|part| part.range.len()).sum()
    }

    fn lanes(&self) -> usize {
        self.lanes
    }

    fn select(&self, range: Range<usize>) -> Self {
        assert!(
            range.start <= range.end && range.end <= self.wires(),
            "wires {range:?} of {}",
            self.wires()
        );
        let mut parts = Vec::new();
        let mut first = 0;
        for part in &self.parts {
            let from = range.start.max(first);
            let to = range.end.min(first + part.range.len());
            if from < to {
                let start = part.range.start;
                parts.push(Part {
                    bundle: part.bundle.clone(),
                    range: start + (from - first)..start + (to - first),
                });
            }
            first += part.range.len();
        }
        Self {
            lanes: self.lanes,
            parts,
        }
    }

    fn concat(parts: &[&Self]) -> Self {
        let lanes = parts.first().expect("at least one part").lanes;
        assert!(
            parts.iter().all(|part| part.lanes == lanes),
            "all parts have the same lanes"
        );
        let mut joined: Vec<Part<B>> = Vec::new();
        for part in parts.iter().flat_map(|part| &part.parts) {
            match joined.last_mut() {
                Some(last)
                    if Arc::ptr_eq(&last.bundle, &part.bundle) && last.range.end == part.range.start =>
                {
                    last.range.end = part.range.end;
                }
                _ => joined.push(part.clone()),
            }
        }
        Self { lanes, parts: joined }
    }
}

impl<B: Bundle> fmt::Debug for Bundles<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} × {} wires", self.wires(), self.lanes)
    }
}

/// Makes a protocol's own type over its bundles, `struct Type(Bundles<Bundle>)`, a [`WireVector`]: `wires!(Type, Bundle)`.
#[macro_export]
macro_rules! wires {
    ($wires:ident, $bundle:ty) => {
        impl $wires {
            /// The bundles, in order, and which of their wires.
            pub(crate) fn parts(&self) -> &[$crate::Part<$bundle>] {
                self.0.parts()
            }

            /// The bundle and the number within it of each wire.
            pub(crate) fn rows(&self) -> impl Iterator<Item = (&$bundle, usize)> {
                self.0.rows()
            }
        }

        impl $crate::WireVector for $wires {
            fn wires(&self) -> usize {
                self.0.wires()
            }

            fn lanes(&self) -> usize {
                self.0.lanes()
            }

            fn select(&self, range: ::std::ops::Range<usize>) -> Self {
                Self(self.0.select(range))
            }

            fn concat(parts: &[&Self]) -> Self {
                let parts: Vec<_> = parts.iter().map(|part| &part.0).collect();
                Self($crate::WireVector::concat(&parts))
            }
        }

        impl ::std::fmt::Debug for $wires {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                write!(
                    f,
                    "{}({} × {})",
                    stringify!($wires),
                    $crate::WireVector::wires(self),
                    $crate::WireVector::lanes(self)
                )
            }
        }
    };
}
