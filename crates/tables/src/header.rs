//! The columns of a file, found by their names.

use crate::error::Problem;
use crate::table::Field;

/// Where each field is among the columns of a file.
pub(crate) fn find(there: &[String], fields: &[Field]) -> Result<Vec<usize>, Problem> {
    let find = |field: &Field| {
        let name = field.name.clone();
        let like = |fits: &dyn Fn(&str) -> bool| -> Vec<usize> {
            there
                .iter()
                .enumerate()
                .filter(|(_, other)| fits(other))
                .map(|(place, _)| place)
                .collect()
        };
        match like(&|other| other == name)[..] {
            [place] => return Ok(place),
            [] => (),
            ref all => {
                return Err(Problem::Duplicate {
                    name,
                    count: all.len(),
                });
            }
        }
        match like(&|other| other.to_lowercase() == name.to_lowercase())[..] {
            [place] => Ok(place),
            [] => Err(Problem::Missing {
                name,
                there: there.to_vec(),
            }),
            ref all => {
                let there = all.iter().map(|&place| there[place].clone()).collect();
                Err(Problem::Ambiguous { name, there })
            }
        }
    };
    fields.iter().map(find).collect()
}
