//! Which gates exist: finds a gate by what it computes.

use std::hash::{BuildHasher, RandomState};

use super::Node;

/// An open-addressing hash table of the indices of gates, which lie elsewhere. Circuits have many millions of them, and a
/// map that repeated them as keys would take several times the memory.
///
/// The hash is keyed at random, since circuit files decide what is built: nobody can prepare nodes that collide. The
/// order of the table shows nowhere.
pub(super) struct Unique {
    /// Node indices, [`EMPTY`] where there is none. The length is a power of two, at least twice the number of nodes.
    slots: Vec<u32>,
    used: usize,
    keys: [u64; 2],
}

/// No node that is looked for has the index 0: it is the constant.
const EMPTY: u32 = 0;
const FIRST_SLOTS: usize = 64;

impl Unique {
    pub(super) fn new() -> Self {
        let random = RandomState::new();
        Self {
            slots: vec![EMPTY; FIRST_SLOTS],
            used: 0,
            keys: [random.hash_one(0), random.hash_one(1)],
        }
    }

    /// How many gates there are.
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// The index of a gate among all nodes; if it is not there, it is entered as the next one, and must then be pushed.
    pub(super) fn find_or_enter(&mut self, nodes: &[Node], node: Node) -> Option<u32> {
        if 2 * self.used >= self.slots.len() {
            self.grow(nodes);
        }
        let mut at = self.home(node);
        loop {
            match self.slots[at] {
                EMPTY => break,
                index if nodes[index as usize] == node => return Some(index),
                _ => at = (at + 1) & (self.slots.len() - 1),
            }
        }
        self.slots[at] = nodes.len() as u32;
        self.used += 1;
        None
    }

    /// Where the search for a gate starts.
    fn home(&self, node: Node) -> usize {
        let (kind, word) = match node {
            Node::False | Node::Input(_) => unreachable!("only gates are entered"),
            Node::Xor(x, y) => (0, u64::from(x) << 32 | u64::from(y)),
            Node::And(x, y) => (1, u64::from(x.0) << 32 | u64::from(y.0)),
        };
        let product = u128::from(word ^ self.keys[0]) * u128::from(self.keys[1].wrapping_add(kind) | 1 << 63);
        ((product >> 64) as u64 ^ product as u64) as usize & (self.slots.len() - 1)
    }

    fn grow(&mut self, nodes: &[Node]) {
        self.slots = vec![EMPTY; 2 * self.slots.len()];
        // In the order of the nodes, which memory prefers to that of the slots.
        for (index, &node) in (0..).zip(nodes) {
            if let Node::Xor(..) | Node::And(..) = node {
                let mut at = self.home(node);
                while self.slots[at] != EMPTY {
                    at = (at + 1) & (self.slots.len() - 1);
                }
                self.slots[at] = index;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Bit;
    use super::*;

    #[test]
    fn every_node_is_found_where_it_was_entered() {
        let mut unique = Unique::new();
        let mut nodes = vec![Node::False];
        let pairs = || (0..100u32).flat_map(|x| (0..x).map(move |y| (y, x)));
        for (x, y) in pairs() {
            for node in [Node::Xor(y, x), Node::And(Bit(y), Bit(x))] {
                assert_eq!(unique.find_or_enter(&nodes, node), None);
                nodes.push(node);
            }
        }
        for (index, &node) in (0..).zip(&nodes).skip(1) {
            assert_eq!(unique.find_or_enter(&nodes, node), Some(index));
        }
        assert_eq!(unique.used, nodes.len() - 1);
    }
}
