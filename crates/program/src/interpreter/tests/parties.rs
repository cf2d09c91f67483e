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
                });
            }
        }
        let mut interpreter = Interpreter::new(session.clone());
        let mut all = Vec::new();
        for instruction in &script.instructions {
            all.extend(interpreter.execute(&instruction.of_party(me))?);
        }
        // What was forgotten and computed is gone.
        assert!(interpreter.stored.len() < 4900, "{}", interpreter.stored.len());
        assert!(interpreter.value(x).is_ok());
        Ok(all)
    });
    let told = told.unwrap();
    assert_eq!(told[0], told[1]);
    assert_eq!(told[0].len(), 5);
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
