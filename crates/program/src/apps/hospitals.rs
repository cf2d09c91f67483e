//! What two hospitals know of the same patients, by look-ups that nobody can follow.

use cenote_net::PartyId;

use super::{Words, padded};
use crate::error::Result;
use crate::memory::Memory;
use crate::secret::Secret;
use crate::session::Session;

/// A patient's number, and the days that the patient spent in hospital.
pub type Stay = (u32, u32);

/// What [`joint_stays`] tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stays {
    /// Patients that both hospitals know.
    pub patients: u32,
    /// The days that these spent at the second hospital.
    pub days: u64,
}

/// The number of no patient.
const NOBODY: u32 = u32::MAX;

const PATIENTS: Words = Words {
    records: "records",
    one: "patient",
    twice: "a patient comes twice",
};

/// How many patients of the first hospital, party 0, the second, party 1, knows, and how many days they spent there; nothing is revealed of any patient. The
/// first gives its `patients`, at most `most_patients`, each once, and the second its `stays`, at most `most_stays`, where a patient comes once; the other party's argument is
/// not looked at. Each patient is looked up by a binary search in an oblivious [`Memory`].
///
/// # Errors
/// What happened to the session; [`Error::BadInput`](crate::Error::BadInput) for more patients or stays than agreed, or a patient that comes twice or has the greatest number.
pub fn joint_stays(
    session: &Session,
    (patients, most_patients): (&[u32], usize),
    (stays, most_stays): (&[Stay], usize),
) -> Result<Stays> {
    let (first, second) = (PartyId(0), PartyId(1));
    let mine = (session.me() == first)
        .then(|| padded(patients, most_patients, NOBODY, |&patient| patient, &PATIENTS));
    let patients = mine.transpose()?;
    // A table of one less than a power of two is searched in as many steps as the power says.
    let steps = (most_stays + 1).next_power_of_two().ilog2();
    let size = 1usize << steps;
    let mine =
        (session.me() == second).then(|| padded(stays, most_stays, (NOBODY, 0), |stay| stay.0, &PATIENTS));
    let table = mine.transpose()?.map(|mut stays| {
        stays.resize(size, (NOBODY, 0));
        stays
            .iter()
            .map(|&(patient, days)| u64::from(patient) << 32 | u64::from(days))
            .collect::<Vec<u64>>()
    });
    let patients = session.input(first, most_patients, patients.as_deref());
    let table = session.input(second, size, table.as_deref());
    totals(&patients, &table)
}

/// What is told of the patients of the one and the table of the other, whatever they gave. The table has a power of two of records.
fn totals(patients: &Secret<u32>, table: &Secret<u64>) -> Result<Stays> {
    let (session, steps) = (patients.session(), table.len().ilog2());
    // What comes twice would be counted twice, and tell of single patients by how often.
    let in_order = each_once(patients) & each_once(&(table >> 32).cast());
    let mut memory = Memory::of_row(table)?;

    let mut found = session.public(0u32).repeat(1);
    let mut days = session.public(0u64).repeat(1);
    for at in 0..patients.len() {
        let patient = patients.at(at);
        // How many stays are of patients with smaller numbers.
        let mut before = session.public(0u32).repeat(1);
        for step in (0..steps).rev() {
            let probe = &before + (1 << step);
            let stay = memory.read(&(&probe - 1))?;
            let smaller = (stay >> 32).cast::<u32>().lt(&patient);
            before = smaller.select(&probe, &before);
        }
        let stay = memory.read(&before)?;
        let known = (&stay >> 32).cast::<u32>().equals(&patient) & patient.differs(NOBODY);
        found = found + known.to_integer::<u32>();
        days = days + known.select(stay & u64::from(u32::MAX), 0);
    }
    memory.check()?;
    let (found, days) = (in_order.select(found, 0), in_order.select(days, 0));
    let (patients, days) = session.open(&(found, days))?;
    Ok(Stays {
        patients: patients[0],
        days: days[0],
    })
}

/// Whether the numbers ascend, and none but [`NOBODY`] comes twice.
fn each_once(numbers: &Secret<u32>) -> Secret<bool> {
    let count = numbers.len();
    if count == 1 {
        return numbers.session().public(true).repeat(1);
    }
    let (each, next) = (numbers.slice(0..count - 1), numbers.slice(1..count));
    (each.lt(&next) | each.equals(NOBODY) & next.equals(NOBODY)).all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::in_the_clear;

    /// Lists that [`padded`] would refuse, of a party that does not ask it.
    #[test]
    fn who_gives_a_patient_twice_or_out_of_order_learns_nothing() {
        let table = [(3, 5), (7, 2), (NOBODY, 0), (NOBODY, 0)];
        let told = |patients: [u32; 4], table: [Stay; 4]| {
            let results = in_the_clear(1, |session| {
                let stays = table.map(|(patient, days)| u64::from(patient) << 32 | u64::from(days));
                let of = PartyId(0);
                totals(
                    &session.input(of, 4, Some(&patients)),
                    &session.input(of, 4, Some(&stays)),
                )
            });
            let stays = results.unwrap()[0];
            (stays.patients, stays.days)
        };
        assert_eq!(told([3, 4, 7, NOBODY], table), (2, 7));
        assert_eq!(told([3, 7, 7, NOBODY], table), (0, 0));
        assert_eq!(told([7, 3, NOBODY, NOBODY], table), (0, 0));
        assert_eq!(
            told([3, 4, 7, NOBODY], [(3, 5), (3, 9), (7, 2), (NOBODY, 0)]),
            (0, 0)
        );
        assert_eq!(
            told([3, 4, 7, NOBODY], [(3, 5), (NOBODY, 0), (7, 2), (NOBODY, 0)]),
            (0, 0)
        );
    }
}
