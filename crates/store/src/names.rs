//! How the files in an item's folder are called.

/// The file of an item's folder that describes it.
pub(crate) const ITEM: &str = "item";
/// The file of an item's folder that tells what is used.
pub(crate) const USED: &str = "used";
/// The file of an item's folder that is there while a session holds it.
pub(crate) const IN_USE: &str = "in-use";
/// The start of the name of a file that is a state.
pub(crate) const STATE: &str = "state-";
/// The start of the name of an empty file that says which party lacked the item.
pub(crate) const LACKED_BY: &str = "lacked-by-";
/// The end of the name of a part that not all parties have vouched for.
pub(crate) const PROVISIONAL: &str = ".provisional";
