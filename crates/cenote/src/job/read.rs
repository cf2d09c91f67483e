//! Reading a job: its file, its circuit, and whether they fit together.

use std::path::{Path, PathBuf};

use cenote_circuit::{BitOrder, Circuit, Value};
use cenote_session::Parties;
use toml::Spanned;

use super::file::{InputEntry, JobFile, OutputEntry};
use super::{Input, Job, Origin};
use crate::bundle::Bundle;
use crate::fields::{apply, entitled, is_setting, party, protocol};
use crate::files::same_file;
use crate::keeping::{Keep, Keeping, Take};
use crate::program::check_size;
use crate::settings_file::{SettingsFile, StatedSetting};
use crate::shards::Counts;
use crate::{Error, Protocol, Result, circuits, text};

/// Values that a job takes, and that it keeps, at most.
const MOST_KEPT: usize = 64;
/// Values of a circuit that an error names, at most.
const LISTED: usize = 8;

impl Job {
    /// Reads the job file at `path` and its circuit.
    ///
    /// # Errors
    /// [`Error::Config`] with the line, if a key is missing, unknown or wrong, or the inputs and outputs are not those of
    /// the circuit; [`Error::Data`] if the circuit's file is missing or wrong.
    pub fn load(path: &Path) -> Result<Self> {
        let (file, settings, source) = SettingsFile::read_with::<JobFile>(path, is_setting)?;
        let read = |text: &Spanned<String>, source: &SettingsFile| {
            circuits::read_file(&source.resolve(text.get_ref()))
        };
        checked(file, &settings, &source, &read, usize::MAX)
    }

    /// Reads the job in `bundle` and its circuit, and nothing else: no file of this machine. A circuit of the library is built within
    /// [`Bundle::MOST_GATES`].
    ///
    /// # Errors
    /// As [`Job::load`]; where the circuit comes to more gates, or the job states a value, a file of values or no lanes, or names a file that is not in the bundle.
    pub fn from_bundle(bundle: &Bundle) -> Result<Self> {
        let path = Path::new(Bundle::JOB);
        let (file, settings, source) =
            SettingsFile::parse_with::<JobFile>(path, bundle.job.clone(), is_setting)?;
        for input in &file.inputs {
            let given = input.get_ref();
            if given.hex.is_some() || given.file.is_some() {
                return Err(source.fault(
                    input.span(),
                    "a job that is proposed has neither values nor files of values; leave `hex` and `file` out, and give \
                     the data with the approval",
                ));
            }
        }
        if let Some(named) = file
            .outputs
            .iter()
            .find_map(|output| output.get_ref().file.as_ref())
        {
            return Err(source.fault(
                named.span(),
                "outputs of a job that is proposed are fetched; leave `file` out",
            ));
        }
        let named = [file.circuit.get_ref().as_str()];
        bundle.check(
            &named.map(|name| (name, !name.starts_with(circuits::LIBRARY_PREFIX))),
            &source,
        )?;
        let read = |text: &Spanned<String>, source: &SettingsFile| {
            let (name, content) = bundle
                .files
                .get_key_value(text.get_ref())
                .ok_or_else(|| source.fault(text.span(), "this file is not among those of the job"))?;
            circuits::read_text(Path::new(name), content)
        };
        let job = checked(file, &settings, &source, &read, Bundle::MOST_GATES)?;
        job.stated_lanes()?;
        Ok(job)
    }

    /// Of the protocols for so many parties that have all `settings`, the one that sends the fewest bytes.
    fn cheapest(&self, parties: u8, settings: &[StatedSetting], source: &SettingsFile) -> Result<Protocol> {
        let lanes = self.stated_lanes().or_else(|_| self.infer_lanes()).unwrap_or(1);
        let program = self.whole(lanes)?;
        let demand = program.demand();
        let (mut cheapest, mut refused) = (None, None);
        for mut protocol in Protocol::all().filter(|protocol| protocol.parties() == parties) {
            let prepared = apply(&mut protocol, settings, source).and_then(|()| {
                // One that cannot cut it is of no use, however cheap.
                match self.cut_for(&protocol, lanes) {
                    Some(Err(why)) => Err(Error::Usage(why)),
                    _ => protocol.prepare(&demand),
                }
            });
            match prepared {
                Ok(prepared) => {
                    let bytes = prepared.traffic_bytes(&demand);
                    if cheapest.as_ref().is_none_or(|(least, _)| bytes < *least) {
                        cheapest = Some((bytes, protocol));
                    }
                }
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        match (cheapest, refused) {
            (Some((_, protocol)), _) => Ok(protocol),
            (None, Some(error)) => Err(error),
            (None, None) => {
                Err(source.fault_in_general(format!("there is no protocol for {parties} parties")))
            }
        }
    }
}

/// The job that a file describes. `read` gives a circuit that is no library's; what the job keeps makes it no larger than `most_gates`.
fn checked(
    file: JobFile,
    settings: &[StatedSetting],
    source: &SettingsFile,
    read: &dyn Fn(&Spanned<String>, &SettingsFile) -> Result<Circuit>,
    most_gates: usize,
) -> Result<Job> {
    let named = match &file.protocol {
        Some(named) => Some(protocol(named, settings, source)?),
        None => None,
    };
    let parties = named.as_ref().map_or_else(|| file.parties(), Protocol::parties);
    let circuit_name = file.circuit.get_ref().clone();
    let mut circuit = match circuit_name.strip_prefix(circuits::LIBRARY_PREFIX) {
        Some(name) => circuits::by_name_within(name, most_gates)
            .map_err(|error| source.fault(file.circuit.span(), error.to_string()))?,
        None => read(&file.circuit, source)?,
    };
    let lanes = match &file.lanes {
        None => None,
        Some(lanes) => {
            let count = usize::try_from(*lanes.get_ref()).unwrap_or(usize::MAX);
            check_size(&circuit, count).map_err(|error| source.fault(lanes.span(), error.to_string()))?;
            Some(count)
        }
    };
    check_counts(&file, &circuit, source)?;
    let counts = Counts::read(file.shards.as_ref(), file.attempts.as_ref(), source)?;
    let standing = file.standing;
    let (inputs, takes) = inputs(file.inputs, &mut circuit, parties, source)?;
    let Outputs {
        receivers,
        files: output_files,
        keeps,
    } = outputs(file.outputs, &mut circuit, parties, &inputs, source)?;
    let mut keeping = Keeping::nothing(receivers.len());
    if takes.iter().any(Option::is_some) || keeps.iter().any(Option::is_some) {
        if let Some((_, span)) = counts {
            let what = "a job that takes or keeps values is not cut into shards; leave `shards` out";
            return Err(source.fault(span, what));
        }
        let rows = kept_rows(named.as_ref(), parties);
        let general = |error: Error| source.fault_in_general(error.to_string());
        (circuit, keeping) = Keeping::new(&circuit, takes, keeps, rows, most_gates).map_err(general)?;
        if let Some(lanes) = lanes {
            check_size(&circuit, lanes).map_err(general)?;
        }
    }
    let calls = match &standing {
        None => None,
        Some(standing) if counts.is_some() || !keeping.is_empty() => {
            let what = "a job that stands is not cut into shards, and takes and keeps no values; leave `shards`, `kept` and `keep` out, \
                        or the table `standing`";
            return Err(source.fault(standing.span(), what));
        }
        Some(standing) => {
            let givers = inputs.iter().map(|input| input.owner.0).collect();
            let unknown = "no party gives inputs, so say who may call: add `callers = [N]`";
            Some(standing.get_ref().calls((givers, unknown), parties, source)?)
        }
    };
    let mut job = Job {
        path: source.path().to_owned(),
        protocol: Protocol::default(),
        circuit_name,
        circuit,
        lanes,
        inputs,
        receivers,
        output_files,
        keeping,
        calls,
        counts: counts.map(|(counts, _)| counts),
        most_gates,
    };
    job.protocol = match named {
        Some(protocol) => protocol,
        None => job.cheapest(parties, settings, source)?,
    };
    Ok(job)
}

/// Sees that there is one entry for each value of the circuit, and that not too many are kept.
fn check_counts(file: &JobFile, circuit: &Circuit, source: &SettingsFile) -> Result<()> {
    check_count(source, "input", file.inputs.len(), circuit.inputs())?;
    check_count(source, "output", file.outputs.len(), circuit.outputs())?;
    let takes = file.inputs.iter().filter(|input| input.get_ref().is_kept());
    let keeps = file
        .outputs
        .iter()
        .filter(|output| output.get_ref().keep.is_some());
    if takes.count().max(keeps.count()) > MOST_KEPT {
        return Err(source.fault_in_general(format!(
            "a job takes at most {MOST_KEPT} kept values, and keeps as many; cut it into several jobs"
        )));
    }
    Ok(())
}

/// The rows of a share that a job keeps for each wire. A job that names no protocol may run on any for so many parties: the first stands for all.
fn kept_rows(named: Option<&Protocol>, parties: u8) -> Option<usize> {
    match named {
        Some(protocol) => protocol.kept_rows(),
        None => Protocol::all()
            .find(|protocol| protocol.parties() == parties)
            .and_then(|protocol| protocol.kept_rows()),
    }
}

/// The inputs that parties give, and for each input of the circuit the kept value that it is, if it is one.
fn inputs(
    entries: Vec<Spanned<InputEntry>>,
    circuit: &mut Circuit,
    parties: u8,
    source: &SettingsFile,
) -> Result<(Vec<Input>, Vec<Option<Take>>)> {
    let (mut inputs, mut takes) = (Vec::new(), Vec::new());
    for (index, entry) in entries.into_iter().enumerate() {
        let span = entry.span();
        let entry = entry.into_inner();
        if let Some(order) = &entry.order {
            circuit.set_input_order(index, bit_order(source, order)?);
        }
        takes.push(entry.take(&circuit.inputs()[index], source)?);
        if entry.is_kept() {
            continue;
        }
        let Some(giver) = &entry.party else {
            let what = "nobody gives this input; write `party = N`, or `kept = \"NAME\"` for a value that an earlier job kept";
            return Err(source.fault(span, what));
        };
        let owner = party(source, giver, parties)?;
        let mut line = source.line(&span);
        let origin = match (entry.hex, entry.file) {
            (Some(_), Some(_)) => {
                return Err(source.fault(span, "an input has `hex` or `file`, not both"));
            }
            (Some(hex), None) => {
                line = source.line(&hex.span());
                Origin::Inline(hex.into_inner())
            }
            (None, Some(path)) => Origin::File(source.resolve(path)),
            (None, None) => Origin::Elsewhere,
        };
        inputs.push(Input { owner, origin, line });
    }
    Ok((inputs, takes))
}

/// What becomes of the outputs.
struct Outputs {
    /// Who learns each that is opened.
    receivers: Vec<Parties>,
    /// The file for each of these, if one is named.
    files: Vec<Option<PathBuf>>,
    /// One entry for each output of the circuit.
    keeps: Vec<Option<Keep>>,
}

fn outputs(
    entries: Vec<Spanned<OutputEntry>>,
    circuit: &mut Circuit,
    parties: u8,
    inputs: &[Input],
    source: &SettingsFile,
) -> Result<Outputs> {
    let (mut receivers, mut files, mut keeps) = (Vec::new(), Vec::new(), Vec::<Option<Keep>>::new());
    for (index, entry) in entries.into_iter().enumerate() {
        let span = entry.span();
        let entry = entry.into_inner();
        if let Some(order) = &entry.order {
            circuit.set_output_order(index, bit_order(source, order)?);
        }
        if let Some(keep) = entry.keep(&circuit.outputs()[index], source)? {
            if keeps.iter().flatten().any(|other| other.name == keep.name) {
                return Err(source.fault(span, format!("two outputs are kept as \"{}\"", keep.name)));
            }
            keeps.push(Some(keep));
            continue;
        }
        keeps.push(None);
        let Some(to) = &entry.to else {
            let what = "nobody would learn this output; write `to = [N]`, or `keep = \"NAME\"` to keep it for later jobs";
            return Err(source.fault(span, what));
        };
        receivers.push(entitled(source, to, parties)?);
        let file = entry.file.map(|file| output_file(&file, inputs, &files, source));
        files.push(file.transpose()?);
    }
    Ok(Outputs {
        receivers,
        files,
        keeps,
    })
}

/// Where `file` is, which no input and none of the `earlier` outputs has.
fn output_file(
    file: &Spanned<PathBuf>,
    inputs: &[Input],
    earlier: &[Option<PathBuf>],
    source: &SettingsFile,
) -> Result<PathBuf> {
    let path = source.resolve(file.get_ref());
    let of_inputs = inputs.iter().filter_map(|input| match &input.origin {
        Origin::File(path) => Some(path),
        _ => None,
    });
    let mut others = of_inputs.chain(earlier.iter().flatten());
    if others.any(|other| same_file(other, &path)) {
        return Err(source.fault(
            file.span(),
            "an output needs a file of its own: this one is another output's or an input's",
        ));
    }
    Ok(path)
}

fn check_count(source: &SettingsFile, what: &str, found: usize, values: &[Value]) -> Result<()> {
    if found == values.len() {
        return Ok(());
    }
    let named = values
        .iter()
        .map(|value| format!("{} ({} bits)", value.name, value.width));
    let mut list: Vec<String> = named.take(LISTED).collect();
    if let Some(more @ 1..) = values.len().checked_sub(LISTED) {
        list.push(format!("and {more} more"));
    }
    Err(source.fault_in_general(format!(
        "the circuit has {} {what} value{}, {}, but the job has {found}; write one [[{what}]] for each, in this order",
        values.len(),
        text::s(values.len() as u64),
        list.join(", "),
    )))
}

fn bit_order(source: &SettingsFile, order: &Spanned<String>) -> Result<BitOrder> {
    match order.get_ref().as_str() {
        "lsb" => Ok(BitOrder::Lsb),
        "msb" => Ok(BitOrder::Msb),
        _ => Err(source.fault(
            order.span(),
            "the order is \"lsb\" (the value's first wire is its least significant bit) or \"msb\" (its most significant)",
        )),
    }
}
