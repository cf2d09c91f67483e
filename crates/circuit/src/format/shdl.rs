//! Reading SHDL, the circuits of the Fairplay compiler (Malkhi, Nisan, Pinkas, Sella, "Fairplay: a secure two-party
//! computation system", 2004).

use std::collections::{HashMap, HashSet};

use super::ParseError;
use super::read::UNUSED_INPUTS;
use super::scan::{Line, Lines, quote};
use super::table::look_up;
use crate::{Bit, BitOrder, Builder, Circuit};

/// Who provides an input of an SHDL circuit, or receives an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// Fairplay's first party.
    Alice,
    /// Fairplay's second party.
    Bob,
}

impl Owner {
    fn named(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("alice") {
            Some(Self::Alice)
        } else if name.eq_ignore_ascii_case("bob") {
            Some(Self::Bob)
        } else {
            None
        }
    }

    /// The owner that a name such as `input.alice.x` mentions.
    fn of_value(name: &str) -> Option<Self> {
        name.split(|c: char| !c.is_ascii_alphanumeric())
            .find_map(Self::named)
    }
}

/// An SHDL circuit and whose its values are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shdl {
    /// The circuit, with the values that the text names, all [`BitOrder::Lsb`].
    pub circuit: Circuit,
    /// The owner of each input value, if the text says.
    pub input_owners: Vec<Option<Owner>>,
    /// The owner of each output value, if the text says.
    pub output_owners: Vec<Option<Owner>>,
}

/// Reads a circuit in SHDL, with its format file if there is one.
///
/// A line is `0 input` or `2 gate arity 2 table [ 0 0 0 1 ] inputs [ 0 1 ]`, with `output gate` for outputs, and
/// with arity 0 (a constant) to 3. The *last* input listed is the most significant bit of the index into the table, as
/// Fairplay's compiler has it. Blank lines and lines of comments are allowed, and so is white space or none around
/// brackets. Wires may be numbered in any way.
///
/// A comment `//output$input.alice.x$3` after an input or output says that it is bit 3 of the value `input.alice.x`.
/// Values come in the order of the text; input bits that are missing below others are ignored wires. Inputs without
/// such a comment form the value `input`, outputs without one the value `output`, in the order of the text. Owners are
/// recognised by a part `alice` or `bob` of the name.
///
/// Instead of the comments, `format` may name the values in lines such as `Alice input integer "x" [ 0 1 2 ]`,
/// least significant bit first. It must then name every input once, and every output at least once.
///
/// The result is simplified like [`Circuit::simplified`], and each table takes the fewest ANDs: none if it is
/// affine, one or two otherwise. Memory is proportional to the length of the texts.
///
/// # Errors
/// [`ParseError`] with the line and the reason if a text is malformed, a wire is defined twice or used before it is
/// defined, or bits of values are given twice or missing; reasons about `format` begin with "format file:".
pub fn read_shdl(text: &str, format: Option<&str>) -> Result<Shdl, ParseError> {
    let mut lines = Lines::new(text);
    let mut statements = Vec::new();
    let mut defined = HashSet::new();
    while let Some(line) = lines.next() {
        let Some(statement) = Statement::read(line)? else {
            continue;
        };
        if !defined.insert(statement.wire) {
            return Err(lines.error(format!("wire {} is defined twice", statement.wire)));
        }
        statements.push(statement);
    }
    if statements.is_empty() {
        return Err(lines.error("there are no inputs and no gates"));
    }
    let (inputs, outputs) = match format {
        None => {
            let values = |role| values_of_comments(&statements, role);
            (values(Role::Input)?, values(Role::Output)?)
        }
        Some(format) => values_of_format(format, &statements).map_err(|error| ParseError {
            reason: format!("format file: {}", error.reason),
            ..error
        })?,
    };
    // A table takes 8 nodes at most.
    let bits = inputs.iter().chain(&outputs).map(|value| value.bits.len() as u64);
    let nodes = bits.sum::<u64>() + 8 * statements.len() as u64;
    if nodes >= 1 << 30 {
        return Err(lines.error("the circuit is too large"));
    }

    let mut b = Builder::new();
    let mut input_bits = HashMap::new();
    for value in &inputs {
        let bits = b.input(&value.name, value.bits.len() as u32, BitOrder::Lsb);
        for (wire, bit) in value.bits.iter().zip(bits) {
            input_bits.extend(wire.map(|wire| (wire, bit)));
        }
    }
    let wires = build(&mut b, &statements, &input_bits)?;
    for value in &outputs {
        let bits: Vec<Bit> = value.bits.iter().flatten().map(|wire| wires[wire]).collect();
        b.output(&value.name, &bits, BitOrder::Lsb);
    }
    let owners = |values: &[Named]| values.iter().map(|value| value.owner).collect();
    Ok(Shdl {
        circuit: b.finish(),
        input_owners: owners(&inputs),
        output_owners: owners(&outputs),
    })
}

/// Whether a text is SHDL rather than one of the Bristol formats, which begin with two numbers.
pub(super) fn looks_like(text: &str) -> bool {
    let Some(mut line) = Lines::new(text).next() else {
        return false;
    };
    let comment = line.comment().is_some();
    match (line.token(), line.token()) {
        (None, _) => comment,
        (Some(_), word) => matches!(word, Some(b"input" | b"output" | b"gate")),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Input,
    Inner,
    Output,
}

/// A truth table and the wires that it is read for.
#[derive(Clone, Copy)]
struct Table {
    /// Bit `i` is the entry at index `i`. Entries repeat, so that wires beyond the arity change nothing.
    entries: u8,
    arity: usize,
    inputs: [u32; 3],
}

/// An input or a gate.
struct Statement<'t> {
    line: Line<'t>,
    wire: u32,
    role: Role,
    /// `None` for an input.
    table: Option<Table>,
    /// The value that the wire is a bit of, and which bit.
    value: Option<(&'t str, u32)>,
}

impl<'t> Statement<'t> {
    /// The statement of a line, if it has one.
    fn read(mut line: Line<'t>) -> Result<Option<Self>, ParseError> {
        let value = line.comment().and_then(bit_of_value);
        if line.is_empty() {
            return Ok(None);
        }
        let start = line.clone();
        let wire = line.token().expect("the line is not empty");
        let wire = line.parse(wire, "a wire")?;
        let mut word = line.token();
        let mut role = Role::Inner;
        if word == Some(b"output") {
            role = Role::Output;
            word = line.token();
        }
        let table = match word {
            Some(b"gate") => Some(Table::read(&mut line)?),
            Some(b"input") if role == Role::Inner => {
                role = Role::Input;
                None
            }
            Some(word) => return Err(line.error(format!("{} is neither `input` nor a gate", quote(word)))),
            None => return Err(line.error("the line ends where `input` or `gate` should be")),
        };
        line.end()?;
        Ok(Some(Self {
            line: start,
            wire,
            role,
            table,
            value,
        }))
    }
}

impl Table {
    /// `arity 2 table [ 0 0 0 1 ] inputs [ 0 1 ]`.
    fn read(line: &mut Line<'_>) -> Result<Self, ParseError> {
        line.expect("arity")?;
        let arity = line.number("the arity of a gate")? as usize;
        if arity > 3 {
            return Err(line.error(format!("a gate has at most 3 inputs, not {arity}")));
        }
        line.expect("table")?;
        let entries = line.list("an entry of a table")?;
        if entries.len() != 1 << arity {
            return Err(line.error(format!(
                "the table of a gate with arity {arity} has {} entries, not {}",
                1 << arity,
                entries.len()
            )));
        }
        if let Some(entry) = entries.iter().find(|&&entry| entry > 1) {
            return Err(line.error(format!("the entries of a table are 0 and 1, not {entry}")));
        }
        line.expect("inputs")?;
        let listed = line.list("a wire")?;
        if listed.len() != arity {
            return Err(line.error(format!(
                "a gate with arity {arity} cannot have {} inputs",
                listed.len()
            )));
        }
        let mut inputs = [0; 3];
        inputs[..arity].copy_from_slice(&listed);
        Ok(Self {
            entries: (0..8).fold(0, |table, i| table | (entries[i % entries.len()] as u8) << i),
            arity,
            inputs,
        })
    }
}

/// The value and the bit that a comment `function$value$bit` names. Other comments are remarks.
fn bit_of_value(comment: &[u8]) -> Option<(&str, u32)> {
    let comment = std::str::from_utf8(comment).ok()?;
    let (name, bit) = comment.rsplit_once('$')?;
    let name = name.split_once('$').map_or(name, |(_, name)| name);
    let bit = Some(bit).filter(|bit| bit.bytes().all(|byte| byte.is_ascii_digit()))?;
    (!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic()))
        .then_some((name, bit.parse().ok()?))
}

/// A value under construction.
struct Named {
    name: String,
    owner: Option<Owner>,
    /// The wire of each bit, least significant first; of an input, `None` is a bit that no wire has.
    bits: Vec<Option<u32>>,
}

/// The input or output values, as the comments name them.
fn values_of_comments(statements: &[Statement<'_>], role: Role) -> Result<Vec<Named>, ParseError> {
    struct Group<'t> {
        name: Option<&'t str>,
        /// Bit, wire and index of the statement.
        bits: Vec<(u32, u32, usize)>,
    }
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut known: HashMap<Option<&str>, usize> = HashMap::new();
    let listed = statements.iter().enumerate();
    for (index, statement) in listed.filter(|(_, statement)| statement.role == role) {
        let name = statement.value.map(|(name, _)| name);
        let group = *known.entry(name).or_insert_with(|| {
            groups.push(Group {
                name,
                bits: Vec::new(),
            });
            groups.len() - 1
        });
        let bits = &mut groups[group].bits;
        let bit = statement.value.map_or(bits.len() as u32, |(_, bit)| bit);
        bits.push((bit, statement.wire, index));
    }

    // Missing input bits become wires, and all groups together must not have too many.
    let mut spare = (statements.len() as u64).saturating_add(UNUSED_INPUTS);
    let finish = |group: Group<'_>| {
        let Group { name, mut bits } = group;
        let name = name.unwrap_or(if role == Role::Input { "input" } else { "output" });
        bits.sort_unstable();
        let mut wires = Vec::new();
        for &(bit, wire, index) in &bits {
            let line = &statements[index].line;
            let shown = quote(name.as_bytes());
            let Some(missing) = u64::from(bit).checked_sub(wires.len() as u64) else {
                return Err(line.error(format!("bit {bit} of {shown} is given twice")));
            };
            if missing > 0 && role == Role::Output {
                return Err(line.error(format!(
                    "bit {bit} of {shown} is given, but not bit {}",
                    wires.len()
                )));
            }
            spare = spare.checked_sub(missing).ok_or_else(|| {
                line.error(format!(
                    "bit {bit} of {shown} is given, but too many bits below it are not"
                ))
            })?;
            wires.resize(bit as usize, None);
            wires.push(Some(wire));
        }
        Ok(Named {
            name: name.into(),
            owner: Owner::of_value(name),
            bits: wires,
        })
    };
    groups.into_iter().map(finish).collect()
}

/// The input and output values, as a format file names them.
fn values_of_format(
    format: &str,
    statements: &[Statement<'_>],
) -> Result<(Vec<Named>, Vec<Named>), ParseError> {
    // For each input and output wire, whether it is an output, and whether a value has it.
    let mut open: HashMap<u32, (Role, bool)> = statements
        .iter()
        .filter(|statement| statement.role != Role::Inner)
        .map(|statement| (statement.wire, (statement.role, false)))
        .collect();
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    let mut lines = Lines::new(format);
    while let Some(mut line) = lines.next() {
        let owner = line.word().unwrap_or_default();
        let owner = std::str::from_utf8(owner)
            .ok()
            .and_then(Owner::named)
            .ok_or_else(|| line.error(format!("{} is neither `Alice` nor `Bob`", quote(owner))))?;
        let role = match line.word() {
            Some(b"input") => Role::Input,
            Some(b"output") => Role::Output,
            word => {
                let word = quote(word.unwrap_or_default());
                return Err(line.error(format!("{word} is neither `input` nor `output`")));
            }
        };
        line.expect("integer")?;
        let name = line.quoted()?;
        let printable = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
        let name = std::str::from_utf8(name)
            .ok()
            .filter(|name| name.as_bytes().iter().all(printable))
            .ok_or_else(|| line.error("a name has printable ASCII characters only"))?;
        let wires = line.list("a wire")?;
        line.end()?;
        for &wire in &wires {
            let kind = if role == Role::Input { "input" } else { "output" };
            match open.get_mut(&wire) {
                Some((declared, named)) if *declared == role => {
                    if std::mem::replace(named, true) && role == Role::Input {
                        return Err(line.error(format!("input {wire} is named twice")));
                    }
                }
                _ => return Err(line.error(format!("the circuit has no {kind} {wire}"))),
            }
        }
        let values = if role == Role::Input {
            &mut inputs
        } else {
            &mut outputs
        };
        values.push(Named {
            name: name.into(),
            owner: Some(owner),
            bits: wires.into_iter().map(Some).collect(),
        });
    }
    for statement in statements {
        let kind = if statement.role == Role::Input {
            "input"
        } else {
            "output"
        };
        if let Some((_, false)) = open.get(&statement.wire) {
            return Err(lines.error(format!("{kind} {} is not named", statement.wire)));
        }
    }
    Ok((inputs, outputs))
}

/// Adds the gates, and returns the bit of each wire.
fn build(
    b: &mut Builder,
    statements: &[Statement<'_>],
    inputs: &HashMap<u32, Bit>,
) -> Result<HashMap<u32, Bit>, ParseError> {
    let mut wires = HashMap::new();
    for Statement {
        line, wire, table, ..
    } in statements
    {
        let bit = match table {
            None => inputs[wire],
            Some(table) => {
                let mut bits = [Bit::FALSE; 3];
                for (bit, wire) in bits.iter_mut().zip(&table.inputs[..table.arity]) {
                    let defined = wires.get(wire).copied();
                    *bit = defined
                        .ok_or_else(|| line.error(format!("wire {wire} is used before it is defined")))?;
                }
                look_up(b, table.entries, bits)
            }
        };
        wires.insert(*wire, bit);
    }
    Ok(wires)
}
