//! Parties that follow instructions together.

use super::*;

/// Parties whose programs do the same, but forget at different times.
#[test]
fn parties_need_not_forget_alike() {
    use Operation::*;
    let told = local::in_the_clear(2, |session| {
        let me = session.me();
        let mut script = Script::default();
        let (x, y) = (script.input(0, 32, &[3, 5, 8]), script.input(1, 32, &[2, 9, 4]));
        let mut sum = x;
        // More than is computed at a time.
        for round in 0..5000 {
            let before = sum;
            sum = script.apply(if round % 7 == 0 { Multiply } else { Add }, &[sum, y], &[]);
            if (round + u64::from(me.0) * 3) % 5 == 0 && before != x {
                script.push(Instruction::Forget(vec![before]));
            }
            if round % 1000 == 999 {
                script.push(Instruction::Reveal {
                    values: vec![sum],
                    to: vec![0, 1],
                    kinds: Vec::new(),
                });
            }
        }
        let mut interpreter = Interpreter::forgetting_alone(session.clone());
        let mut all = Vec::new();
        for instruction in &script.instructions {
            all.extend(interpreter.execute(&instruction.of_party(me))?);
        }
        // What was forgotten and computed is gone.
        assert!(interpreter.stored.len() < 4100, "{}", interpreter.stored.len());
        assert!(interpreter.value(x).is_ok());
        Ok(all)
    });
    let told = told.unwrap();
    assert_eq!(told[0], told[1]);
    assert_eq!(told[0].len(), 5);
}

/// The same with a memory, of which a party forgets after it has been written to.
#[test]
fn memories_are_not_forgotten_alike() {
    use Operation::*;
    let told = local::in_the_clear(2, |session| {
        let me = session.me();
        let mut script = Script::default();
        let (row, index) = (script.input(0, 32, &[3, 5, 8, 1]), script.input(1, 2, &[2]));
        let value = script.input(1, 32, &[7]);
        let memory = script.apply(Memory, &[row], &[]);
        script.apply(Write, &[memory, index, value], &[0]);
        if me.0 == 0 {
            script.push(Instruction::Forget(vec![memory]));
        }
        let sum = script.apply(Add, &[row, row], &[]);
        let less = script.apply(Less, &[value, value], &[0]);
        for value in [less, sum] {
            script.push(Instruction::Reveal {
                values: vec![value],
                to: vec![0, 1],
                kinds: Vec::new(),
            });
        }
        let mut interpreter = Interpreter::forgetting_alone(session.clone());
        for instruction in &script.instructions {
            interpreter.execute(&instruction.of_party(me))?;
        }
        Ok(interpreter.memory(memory).is_ok())
    });
    assert_eq!(told.unwrap(), [false, true]);
}

/// What is forgotten takes no memory for long, whoever forgets.
#[test]
fn what_is_forgotten_is_given_up() {
    let forgetting: [fn(Session) -> Interpreter; 2] = [Interpreter::new, Interpreter::forgetting_alone];
    for (forgetting, most) in forgetting.into_iter().zip([3, 12]) {
        let told = local::in_the_clear(1, |session| {
            let mut script = Script::default();
            let mut row = script.input(0, 64, &vec![1; 1 << 17]);
            for _ in 0..40 {
                let before = row;
                row = script.apply(Operation::Add, &[row, row], &[]);
                script.push(Instruction::Forget(vec![before]));
            }
            let mut interpreter = forgetting(session.clone());
            let mut kept = 0;
            for instruction in &script.instructions {
                interpreter.execute(instruction)?;
                kept = kept.max(interpreter.stored.len());
            }
            Ok(kept)
        });
        let kept = told.unwrap()[0];
        assert!((2..=most).contains(&kept), "{kept}");
    }
}

/// Nothing of a party's inputs is sent to another.
#[test]
fn inputs_are_for_their_owner_only() {
    let mut script = Script::default();
    let secret = script.input(1, 32, &[0x0123_4567]);
    let body = script.instructions.clone();
    script.push(Instruction::Define(Recorded {
        inputs: vec![8],
        body,
        outputs: vec![secret],
    }));
    for party in 0..3 {
        let told = script
            .instructions
            .iter()
            .map(|instruction| format!("{:?}", instruction.of_party(PartyId(party))));
        let told: Vec<String> = told.collect();
        assert_eq!(told[0].contains("Some"), party == 1, "{told:?}");
        assert_eq!(told[1].contains("Some"), party == 1, "{told:?}");
    }
}

/// Parties that do something else are told so.
#[test]
fn parties_that_differ_are_told() {
    let told = local::in_the_clear(2, |session| {
        let me = session.me();
        let mut script = Script::default();
        let (x, y) = (script.input(0, 32, &[3]), script.input(1, 32, &[2]));
        let operation = if me.0 == 0 {
            Operation::Add
        } else {
            Operation::Subtract
        };
        let result = script.apply(operation, &[x, y], &[]);
        script.push(Instruction::Reveal {
            values: vec![result],
            to: vec![0, 1],
            kinds: Vec::new(),
        });
        let mut interpreter = Interpreter::new(session.clone());
        let mut told = Vec::new();
        for instruction in &script.instructions {
            told.extend(interpreter.execute(&instruction.of_party(me))?);
        }
        Ok(told)
    });
    let error = told.unwrap_err().to_string();
    assert!(error.contains("disagrees on program"), "{error}");
}

/// What `change` makes of the instructions of party 1 is told to both before anything of it is done.
fn differs(change: impl Fn(&mut Vec<Instruction>) + Sync) {
    let ended = std::sync::Mutex::new(Vec::new());
    let told = local::in_the_clear(2, |session| {
        let me = session.me();
        let mut script = Script::default();
        let (x, y) = (script.input(0, 32, &[3, 4]), script.input(1, 32, &[2, 5]));
        let sum = script.apply(Operation::Add, &[x, y], &[]);
        script.push(Instruction::Reveal {
            values: vec![sum],
            to: vec![0, 1],
            kinds: vec!["uint32 row".into()],
        });
        if me.0 == 1 {
            change(&mut script.instructions);
        }
        let own = script.instructions.iter().map(|told| told.of_party(me)).collect();
        let ended_now = Interpreter::forgetting_alone(session.clone()).follow([own], |_| Ok::<(), Error>(()));
        ended
            .lock()
            .unwrap()
            .push(ended_now.err().map(|error| error.to_string()));
        Ok(())
    });
    let ended = ended.into_inner().unwrap();
    let is_told = |error: &Option<String>| {
        error
            .as_ref()
            .is_some_and(|text| text.contains("disagrees on program"))
    };
    assert!(ended.len() == 2 && ended.iter().all(is_told), "{ended:?}");
    assert!(told.is_err());
}

#[test]
fn parties_that_are_told_something_else_are_told_so_first() {
    // Another type of as many bits, more numbers, another owner, another public number, one input more, another operation.
    differs(|told| match &mut told[0] {
        Instruction::Input { kind, .. } => *kind = "int32 row".into(),
        _ => unreachable!("it is an input"),
    });
    differs(|told| match &mut told[0] {
        Instruction::Input { lanes, .. } => *lanes = 3,
        _ => unreachable!("it is an input"),
    });
    differs(|told| told[1] = told[0].clone());
    differs(|told| told.insert(0, Instruction::Public(packed(32, &[5]))));
    differs(|told| {
        let input = told[0].clone();
        told.insert(2, input);
    });
    differs(|told| match &mut told[2] {
        Instruction::Apply { operation, .. } => *operation = Operation::Subtract,
        _ => unreachable!("it is an operation"),
    });
    differs(|told| match &mut told[3] {
        Instruction::Reveal { kinds, .. } => *kinds = vec!["int32 row".into()],
        _ => unreachable!("it is a reveal"),
    });
}
