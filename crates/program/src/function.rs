//! Functions that are recorded once and called as often as one likes.

use std::marker::PhantomData;
use std::rc::Rc;

use cenote_circuit::library::Goal;
use cenote_circuit::{self as circuit, Bit, BitOrder, Builder, Circuit, Plan};

use crate::error::{Error, Result};
use crate::op::{Called, Op};
use crate::secret::Secret;
use crate::session::Session;
use crate::value::Value;
use crate::values::Values;

/// A function of secrets, recorded once. Calling it costs no recording: it is compiled once wherever it is used, and a call
/// with rows does the same in each place of them.
///
/// ```
/// use cenote_program::{Function, Secret};
/// let between = Function::record(|(low, x, high): (Secret<u8>, Secret<u8>, Secret<u8>)| low.le(&x) & x.le(&high)).unwrap();
/// assert_eq!(between.circuit().statistics().ands, 17);
/// ```
pub struct Function<A, R> {
    routine: Routine,
    of: PhantomData<fn(A) -> R>,
}

impl<A: Values, R: Values> Function<A, R> {
    /// Records what `body` does with single secrets.
    ///
    /// # Errors
    /// What `body` does wrong: it cannot reveal, take inputs, use rows, or give secrets of a session; and it has arguments.
    pub fn record(body: impl FnOnce(A) -> R) -> Result<Self> {
        let routine = Routine::record(&widths::<A>(), |_, arguments| {
            let mut arguments = arguments.into_iter();
            let arguments = A::made(&mut |_| Secret::of(arguments.next().expect("one for each width")));
            let mut results = Vec::new();
            body(arguments).each(&mut |secret| results.push(secret.value().clone()));
            Ok(results)
        })?;
        Ok(Self {
            routine,
            of: PhantomData,
        })
    }

    /// `circuit` as a function, such as one of a file. Each of its values is a number, and has the bits of one argument or several, those of the first
    /// lowest; and so have its outputs those of the results.
    ///
    /// ```
    /// use cenote_circuit::library::by_name;
    /// use cenote_program::{Function, Secret};
    /// let encrypt = Function::<(Secret<u128>, Secret<u128>), Secret<u128>>::of_circuit(by_name("aes128").unwrap()).unwrap();
    /// assert_eq!(encrypt.circuit().statistics().ands, 6400);
    /// ```
    ///
    /// # Errors
    /// [`Error::BadInput`](crate::Error::BadInput) if arguments or results have not as many bits as the circuit.
    pub fn of_circuit(circuit: Circuit) -> Result<Self> {
        Ok(Self {
            routine: Routine::of_circuit(circuit, widths::<A>(), widths::<R>())?,
            of: PhantomData,
        })
    }

    /// The results on `arguments`.
    #[track_caller]
    pub fn call(&self, arguments: &A) -> R {
        let mut operands = Vec::new();
        arguments.each(&mut |secret| operands.push(secret.value().clone()));
        let operands: Vec<&Value> = operands.iter().collect();
        let mut results = self.routine.call(&operands).into_iter();
        R::made(&mut |_| Secret::of(results.next().expect("one for each result")))
    }

    /// The circuit with the fewest ANDs: inputs `x0`, `x1`, …, outputs `y0`, `y1`, …, for export and for counting.
    pub fn circuit(&self) -> Circuit {
        self.routine.circuit()
    }
}

/// A function of values whose widths are known when the program runs.
#[derive(Clone)]
pub(crate) struct Routine {
    called: Called,
    inputs: Vec<u32>,
    outputs: Vec<u32>,
}

impl Routine {
    /// Records what `body` does with single secrets of so many bits. See [`Function::record`].
    pub(crate) fn record(
        inputs: &[u32],
        body: impl FnOnce(&Session, Vec<Value>) -> Result<Vec<Value>>,
    ) -> Result<Self> {
        let session = Session::recording();
        let arguments = inputs.iter().map(|&width| session.argument(width)).collect();
        let results = body(&session, arguments)?;
        let others = results.iter().any(|value| !session.is(value.session()));
        // A value of its own for each result, arguments and constants too.
        let results: Vec<Value> = results
            .iter()
            .map(|value| Value::apply(Op::Resize { signed: false }, &[value], value.width()))
            .collect();
        let outputs: Vec<u32> = results.iter().map(Value::width).collect();
        if others || inputs.is_empty() {
            let what = "a function has arguments, and its results come from them: it cannot give a secret of a session";
            return Err(Error::BadInput(what.into()));
        }
        let due = session.recorded()?;
        let called = match due {
            None => Called::new("nothing", 0, |_, _, _| Vec::new()),
            Some(due) => {
                let arguments: Vec<usize> = due.inputs.iter().map(|input| input.held.slot()).collect();
                let order: Vec<usize> = results
                    .iter()
                    .map(|result| {
                        let is = |node: &Rc<_>| Rc::ptr_eq(node, result.node());
                        due.results.iter().position(is).expect("results are in use")
                    })
                    .collect();
                let recipe = due.recipe;
                // Functions that do the same are the same, however often they are recorded.
                let steps = format!("{recipe:?} of {arguments:?} gives {order:?}");
                let name = format!("recorded {}", blake3::hash(steps.as_bytes()));
                Called::new(name, recipe.weight(), move |b, operands, goal| {
                    let inputs: Vec<&[Bit]> = arguments.iter().map(|&at| operands[at]).collect();
                    let outputs = recipe.emit(b, &inputs, goal);
                    order.iter().flat_map(|&at| &outputs[at]).copied().collect()
                })
            }
        };
        Ok(Self {
            called,
            inputs: inputs.to_vec(),
            outputs,
        })
    }

    /// See [`Function::of_circuit`].
    pub(crate) fn of_circuit(circuit: Circuit, inputs: Vec<u32>, outputs: Vec<u32>) -> Result<Self> {
        for (what, widths, values) in [
            ("arguments", &inputs, circuit.inputs()),
            ("results", &outputs, circuit.outputs()),
        ] {
            let ours: u64 = widths.iter().copied().map(u64::from).sum();
            let its: u64 = values.iter().map(|value| u64::from(value.width)).sum();
            if ours != its {
                let what = format!("{what} of {ours} bits, where the circuit has {its}");
                return Err(Error::BadInput(what));
            }
        }
        if inputs.is_empty() {
            return Err(Error::BadInput("a function has arguments".into()));
        }
        let digest = hex::encode(Plan::new(&circuit).digest());
        let weight = circuit.statistics().ands as u64;
        let called = Called::new(format!("circuit {digest}"), weight, move |b, operands, _| {
            let wires = by_significance(circuit.inputs(), operands.concat());
            by_significance(circuit.outputs(), b.embed(&circuit, &wires))
        });
        Ok(Self {
            called,
            inputs,
            outputs,
        })
    }

    /// Bits of each argument.
    pub(crate) fn inputs(&self) -> &[u32] {
        &self.inputs
    }

    /// Bits of each result.
    pub(crate) fn outputs(&self) -> &[u32] {
        &self.outputs
    }

    /// All results on arguments of its widths, one above the other; there is at least one.
    #[track_caller]
    pub(crate) fn call_together(&self, operands: &[&Value]) -> Value {
        Value::apply(Op::Call(self.called.clone()), operands, self.outputs.iter().sum())
    }

    /// The results on arguments of its widths.
    #[track_caller]
    pub(crate) fn call(&self, operands: &[&Value]) -> Vec<Value> {
        call(&self.called, operands, &self.outputs)
    }

    /// See [`Function::circuit`].
    pub(crate) fn circuit(&self) -> Circuit {
        let mut b = Builder::new();
        let inputs: Vec<Vec<Bit>> = (0..)
            .zip(&self.inputs)
            .map(|(at, &width)| b.input(&format!("x{at}"), width, BitOrder::Lsb))
            .collect();
        let inputs: Vec<&[Bit]> = inputs.iter().map(Vec::as_slice).collect();
        let results = self.called.emit(&mut b, &inputs, Goal::FewestAnds);
        let mut first = 0;
        for (at, &width) in self.outputs.iter().enumerate() {
            b.output(
                &format!("y{at}"),
                &results[first..][..width as usize],
                BitOrder::Lsb,
            );
            first += width as usize;
        }
        b.finish()
    }
}

/// How many bits each of some values has.
fn widths<V: Values>() -> Vec<u32> {
    let session = Session::recording();
    let mut widths = Vec::new();
    let _ = V::made(&mut |width| {
        widths.push(width);
        Secret::of(session.argument(width))
    });
    widths
}

/// The wires of `values` as numbers, least significant bits first; or the other way round.
fn by_significance(values: &[circuit::Value], mut wires: Vec<Bit>) -> Vec<Bit> {
    let mut first = 0;
    for value in values {
        let end = first + value.width as usize;
        if value.order == BitOrder::Msb {
            wires[first..end].reverse();
        }
        first = end;
    }
    wires
}

/// The results, of `widths` bits, of a function on `operands`, of which there is at least one.
#[track_caller]
pub(crate) fn call(called: &Called, operands: &[&Value], widths: &[u32]) -> Vec<Value> {
    let all = Value::apply(Op::Call(called.clone()), operands, widths.iter().sum());
    if let [_] = widths {
        return vec![all];
    }
    let mut first = 0;
    widths
        .iter()
        .map(|&width| {
            let part = Value::apply(Op::Part(first), &[&all], width);
            first += width;
            part
        })
        .collect()
}
