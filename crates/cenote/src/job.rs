//! A job: the circuit, the protocol, who gives which input and who learns which output.

use std::fmt;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use cenote_circuit::{BitOrder, Circuit, Value};
use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_session::Parties;
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use crate::bundle::Bundle;
use crate::keeping::{Keep, Keeping, Take};
use crate::party_config::party;
use crate::program::check_size;
use crate::settings_file::{Kept, Source};
use crate::{Error, Program, Protocol, Result, circuits, data, text};

/// Days that a value is kept for that does not say.
const KEPT_DAYS: u16 = 30;
/// Days that a value is kept for, at most.
const MOST_DAYS: u16 = 366;
/// Values that a job takes, and that it keeps, at most.
const MOST_KEPT: usize = 64;
/// Bytes of the name of a kept value, at most.
const MOST_NAME: usize = 64;
/// Values of a circuit that an error names, at most.
const LISTED: usize = 8;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JobFile {
    protocol: Option<Spanned<String>>,
    circuit: Spanned<String>,
    lanes: Option<Spanned<u64>>,
    #[serde(default, rename = "input")]
    inputs: Vec<Spanned<InputEntry>>,
    #[serde(default, rename = "output")]
    outputs: Vec<Spanned<OutputEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InputEntry {
    party: Option<Spanned<u8>>,
    hex: Option<Spanned<Secret>>,
    file: Option<PathBuf>,
    order: Option<Spanned<String>>,
    kept: Option<Spanned<String>>,
    of: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OutputEntry {
    to: Option<Spanned<Vec<Spanned<u8>>>>,
    order: Option<Spanned<String>>,
    file: Option<Spanned<PathBuf>>,
    keep: Option<Spanned<String>>,
    days: Option<Spanned<u16>>,
}

impl InputEntry {
    /// Whether the parties hold the value together.
    fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// The kept value that the input `value` is, if it is one.
    fn take(&self, value: &Value, source: &Source) -> Result<Option<Take>> {
        let Some(name) = &self.kept else {
            return match &self.of {
                Some(of) => Err(source.fault(
                    of.span(),
                    "`of` says which job kept a value; write `kept = \"NAME\"` too",
                )),
                None => Ok(None),
            };
        };
        if self.party.is_some() || self.hex.is_some() || self.file.is_some() {
            let what = "a value that is kept comes from no party; leave `party`, `hex` and `file` out";
            return Err(source.fault(name.span(), what));
        }
        Ok(Some(Take {
            input: value.name.clone(),
            name: kept_name(source, name)?,
            of: self.of.as_ref().map(|of| of.get_ref().clone()),
            width: value.width,
        }))
    }
}

impl OutputEntry {
    /// The name and time under which the output `value` is kept, if it is.
    fn keep(&self, value: &Value, source: &Source) -> Result<Option<Keep>> {
        let Some(name) = &self.keep else {
            return match &self.days {
                Some(days) => Err(source.fault(
                    days.span(),
                    "`days` is for an output that is kept; write `keep = \"NAME\"` too",
                )),
                None => Ok(None),
            };
        };
        if self.to.is_some() || self.file.is_some() {
            let what = "an output is opened or kept, not both; leave `to` and `file` out";
            return Err(source.fault(name.span(), what));
        }
        let days = self.days.as_ref().map_or(KEPT_DAYS, |days| *days.get_ref());
        if !(1..=MOST_DAYS).contains(&days) {
            let span = self.days.as_ref().map_or(name.span(), Spanned::span);
            return Err(source.fault(span, format!("a value is kept for 1 to {MOST_DAYS} days")));
        }
        Ok(Some(Keep {
            output: value.name.clone(),
            name: kept_name(source, name)?,
            days,
            width: value.width,
        }))
    }
}

/// The name of a kept value.
fn kept_name(source: &Source, name: &Spanned<String>) -> Result<String> {
    let text = name.get_ref();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.is_empty() || text.len() > MOST_NAME || text.starts_with('.') || !text.chars().all(plain) {
        let what = format!(
            "the name of a kept value has 1 to {MOST_NAME} letters, digits, \"-\", \"_\" and \".\", and does not begin with \".\""
        );
        return Err(source.fault(name.span(), what));
    }
    Ok(text.clone())
}

impl JobFile {
    /// Three if party 2 gives or learns something, or two.
    fn parties(&self) -> u8 {
        let owners = self
            .inputs
            .iter()
            .filter_map(|input| input.get_ref().party.as_ref());
        let owners = owners.map(|party| *party.get_ref());
        let entitled = self
            .outputs
            .iter()
            .filter_map(|output| output.get_ref().to.as_ref());
        let receivers = entitled.flat_map(|to| to.get_ref());
        let last = owners.chain(receivers.map(|party| *party.get_ref())).max();
        if last.is_some_and(|last| last > 1) { 3 } else { 2 }
    }
}

/// A private value as it stands in the job. Neither `Debug` nor any message quotes it.
#[derive(Clone)]
struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Text;
        const WANTED: &str = "`hex` is a string of hexadecimal digits, such as \"0x1f\"";
        impl serde::de::Visitor<'_> for Text {
            type Value = Secret;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(WANTED)
            }

            fn visit_str<E>(self, text: &str) -> std::result::Result<Secret, E> {
                Ok(Secret(text.to_owned()))
            }

            // The default messages for numbers quote them.
            fn visit_i64<E: serde::de::Error>(self, _: i64) -> std::result::Result<Secret, E> {
                Err(E::custom(WANTED))
            }

            fn visit_u64<E: serde::de::Error>(self, _: u64) -> std::result::Result<Secret, E> {
                Err(E::custom(WANTED))
            }

            fn visit_i128<E: serde::de::Error>(self, _: i128) -> std::result::Result<Secret, E> {
                Err(E::custom(WANTED))
            }

            fn visit_u128<E: serde::de::Error>(self, _: u128) -> std::result::Result<Secret, E> {
                Err(E::custom(WANTED))
            }

            fn visit_f64<E: serde::de::Error>(self, _: f64) -> std::result::Result<Secret, E> {
                Err(E::custom(WANTED))
            }
        }
        deserializer.deserialize_any(Text)
    }
}

/// Where an input's value comes from. Its `Debug` does not tell the value.
#[derive(Clone, Debug)]
enum Origin {
    /// One value, in wire order, the same in every lane.
    Inline(Secret),
    /// A file of values, one for each lane.
    File(PathBuf),
    /// At its owner's machine.
    Elsewhere,
}

#[derive(Clone, Debug)]
struct Input {
    owner: PartyId,
    origin: Origin,
    line: usize,
}

/// A job file, read and checked. Files of values are not read before [`Job::infer_lanes`] and [`Job::read_inputs`], but that values are counted
/// to find the cheapest protocol, if the job states neither protocol nor lanes.
#[derive(Clone, Debug)]
pub struct Job {
    path: PathBuf,
    protocol: Protocol,
    circuit_name: String,
    circuit: Circuit,
    lanes: Option<usize>,
    inputs: Vec<Input>,
    receivers: Vec<Parties>,
    output_files: Vec<Option<PathBuf>>,
    keeping: Keeping,
}

impl Job {
    /// Reads the job file at `path` and its circuit.
    ///
    /// # Errors
    /// [`Error::Config`] with the line, if a key is missing, unknown or wrong, or the inputs and outputs are not those of
    /// the circuit; [`Error::Data`] if the circuit's file is missing or wrong.
    pub fn load(path: &Path) -> Result<Self> {
        let (file, settings, source) = Source::read_with::<JobFile>(path, is_setting)?;
        let read =
            |text: &Spanned<String>, source: &Source| circuits::read_file(&source.resolve(text.get_ref()));
        Self::checked(file, &settings, &source, &read, usize::MAX)
    }

    /// Reads the job in `bundle` and its circuit, and nothing else: no file of this machine. A circuit of the library is built within
    /// [`Bundle::MOST_GATES`].
    ///
    /// # Errors
    /// As [`Job::load`]; where the circuit comes to more gates, or the job states a value, a file of values or no lanes, or names a file that is not in the bundle.
    pub fn from_bundle(bundle: &Bundle) -> Result<Self> {
        let path = Path::new(Bundle::JOB);
        let (file, settings, source) = Source::parse_with::<JobFile>(path, bundle.job.clone(), is_setting)?;
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
        let read = |text: &Spanned<String>, source: &Source| {
            let (name, content) = bundle
                .files
                .get_key_value(text.get_ref())
                .ok_or_else(|| source.fault(text.span(), "this file is not among those of the job"))?;
            circuits::read_text(Path::new(name), content)
        };
        let job = Self::checked(file, &settings, &source, &read, Bundle::MOST_GATES)?;
        job.stated_lanes()?;
        Ok(job)
    }

    fn checked(
        file: JobFile,
        settings: &[Kept],
        source: &Source,
        read: &dyn Fn(&Spanned<String>, &Source) -> Result<Circuit>,
        most_gates: usize,
    ) -> Result<Self> {
        let named = match &file.protocol {
            Some(named) => Some(protocol(named, settings, source)?),
            None => None,
        };
        let parties = named.as_ref().map_or_else(|| file.parties(), Protocol::parties);
        let text = file.circuit.get_ref();
        let mut circuit = match text.strip_prefix(circuits::LIBRARY_PREFIX) {
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
        check_count(source, "input", file.inputs.len(), circuit.inputs())?;
        check_count(source, "output", file.outputs.len(), circuit.outputs())?;
        let kept = file
            .inputs
            .iter()
            .filter(|input| input.get_ref().is_kept())
            .count();
        let keeps = file
            .outputs
            .iter()
            .filter(|output| output.get_ref().keep.is_some())
            .count();
        if kept.max(keeps) > MOST_KEPT {
            return Err(source.fault_in_general(format!(
                "a job takes at most {MOST_KEPT} kept values, and keeps as many; cut it into several jobs"
            )));
        }
        let (mut inputs, mut takes) = (Vec::new(), Vec::new());
        for (index, entry) in file.inputs.into_iter().enumerate() {
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
        let (mut receivers, mut output_files, mut keeps) =
            (Vec::new(), Vec::new(), Vec::<Option<Keep>>::new());
        for (index, entry) in file.outputs.into_iter().enumerate() {
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
            output_files.push(match entry.file {
                None => None,
                Some(file) => {
                    let path = source.resolve(file.get_ref());
                    let of_inputs = inputs.iter().filter_map(|input| match &input.origin {
                        Origin::File(path) => Some(path),
                        _ => None,
                    });
                    let others = of_inputs.chain(output_files.iter().flatten());
                    if others.into_iter().any(|other| same_file(other, &path)) {
                        return Err(source.fault(
                            file.span(),
                            "an output needs a file of its own: this one is another output's or an input's",
                        ));
                    }
                    Some(path)
                }
            });
        }
        let circuit_name = text.clone();
        let mut keeping = Keeping::nothing(receivers.len());
        if takes.iter().any(Option::is_some) || keeps.iter().any(Option::is_some) {
            let rows = match &named {
                Some(protocol) => protocol.kept_rows(),
                None => Protocol::all()
                    .find(|protocol| protocol.parties() == parties)
                    .and_then(|protocol| protocol.kept_rows()),
            };
            let wrapped = Keeping::new(&circuit, takes, keeps, rows, most_gates);
            (circuit, keeping) = wrapped.map_err(|error| source.fault_in_general(error.to_string()))?;
            if let Some(lanes) = lanes {
                check_size(&circuit, lanes).map_err(|error| source.fault_in_general(error.to_string()))?;
            }
        }
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
        };
        job.protocol = match named {
            Some(protocol) => protocol,
            None => job.cheapest(parties, settings, source)?,
        };
        Ok(job)
    }

    /// Of the protocols for so many parties that have all `settings`, the one that sends the fewest bytes.
    fn cheapest(&self, parties: u8, settings: &[Kept], source: &Source) -> Result<Protocol> {
        let lanes = self.stated_lanes().or_else(|_| self.infer_lanes()).unwrap_or(1);
        let program = self.whole(lanes)?;
        let demand = program.demand();
        let (mut cheapest, mut refused) = (None, None);
        for mut protocol in Protocol::all().filter(|protocol| protocol.parties() == parties) {
            let prepared = apply(&mut protocol, settings, source).and_then(|()| protocol.prepare(&demand));
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

    /// The protocol and its security.
    pub fn protocol(&self) -> &Protocol {
        &self.protocol
    }

    /// The circuit, with the bit orders that the job states.
    pub fn circuit(&self) -> &Circuit {
        &self.circuit
    }

    /// The files that receivers write each output value to, where the job names one.
    pub fn output_files(&self) -> &[Option<PathBuf>] {
        &self.output_files
    }

    /// Who learns each output value.
    pub(crate) fn receivers(&self) -> &[Parties] {
        &self.receivers
    }

    /// The number of lanes as the job states it.
    ///
    /// # Errors
    /// [`Error::Config`] if it does not.
    pub fn stated_lanes(&self) -> Result<usize> {
        self.lanes.ok_or_else(|| {
            Error::config(
                &self.path,
                None,
                "`lanes` is missing: parties on different machines cannot count each other's values; add `lanes = N` \
                 above the first [[input]]",
            )
        })
    }

    /// The number of lanes where the inputs of all parties are at hand: as stated, or that of the files, or 1. Files are read
    /// only where it is not stated.
    ///
    /// # Errors
    /// [`Error::Config`] if an input has no value here; [`Error::Data`] if files cannot be read or differ in length.
    pub fn infer_lanes(&self) -> Result<usize> {
        self.inputs
            .iter()
            .try_for_each(|input| self.check_origin(input))?;
        if let Some(lanes) = self.lanes {
            return Ok(lanes);
        }
        let mut lanes: Option<(usize, String)> = None;
        for (input, value) in self.inputs.iter().zip(self.circuit.inputs()) {
            let Origin::File(path) = &input.origin else {
                continue;
            };
            let found = data::count(path, value)?;
            match &lanes {
                None => lanes = Some((found, path.display().to_string())),
                Some((wanted, what)) if found != *wanted => {
                    let what = format!(
                        "has {found} values, but {what} has {wanted}: all inputs need one value for each lane"
                    );
                    return Err(Error::data(path, None, what));
                }
                Some(_) => {}
            }
        }
        let lanes = lanes.map_or(1, |(lanes, _)| lanes);
        check_size(&self.circuit, lanes)
            .map_err(|error| Error::config(&self.path, None, error.to_string()))?;
        Ok(lanes)
    }

    /// The program that all parties run.
    ///
    /// # Errors
    /// Those of [`Program::new`]; [`Error::Usage`] if what is kept would not be as safe as the job.
    pub fn program(&self, lanes: usize) -> Result<Program> {
        self.keeping.check_security(lanes, self.protocol.security())?;
        self.whole(lanes)
    }

    /// The program, whatever the protocol's security.
    fn whole(&self, lanes: usize) -> Result<Program> {
        let given = self.inputs.iter().map(|input| input.owner);
        let opened = self.receivers.iter().copied();
        let owners = given.chain(self.keeping.owners()).collect();
        let receivers = opened.chain(self.keeping.receivers()).collect();
        Program::keeping(
            self.circuit_name.clone(),
            self.circuit.clone(),
            (owners, receivers),
            self.keeping.opened(),
            lanes,
        )
    }

    /// How many inputs parties give. They are the first ones.
    pub fn given(&self) -> usize {
        self.inputs.len()
    }

    /// What the job takes of what earlier ones kept, and what it keeps. Its inputs come after those that parties give.
    pub fn keeping(&self) -> &Keeping {
        &self.keeping
    }

    /// Sees that the job can be run outside of a service.
    ///
    /// # Errors
    /// [`Error::Config`] if it takes or keeps values.
    pub fn check_standalone(&self) -> Result<()> {
        match self.keeping.is_empty() {
            true => Ok(()),
            false => Err(Error::config(
                &self.path,
                None,
                "only services keep values between jobs; submit it to one with `cenote job submit`",
            )),
        }
    }

    /// The bits of each input value that `me` owns, `None` for the others. Only `me`'s values and files are read.
    ///
    /// # Errors
    /// [`Error::Config`] or [`Error::Data`] with the line, if a value is missing or wrong. The value is not quoted. That of
    /// [`Job::check_standalone`].
    pub fn read_inputs(&self, me: PartyId, lanes: usize) -> Result<Vec<Option<BitMatrix>>> {
        self.check_standalone()?;
        let read = |(input, value): (&Input, &Value)| {
            if input.owner != me {
                return Ok(None);
            }
            self.check_origin(input)?;
            match &input.origin {
                Origin::File(path) => data::read(path, value, lanes).map(Some),
                Origin::Inline(Secret(hex)) => {
                    let mut number = vec![0; value.words()];
                    value.parse_hex(hex, &mut number).map_err(|error| {
                        Error::data(
                            &self.path,
                            Some(input.line),
                            format!("`hex` of {}: {error}", value.name),
                        )
                    })?;
                    data::repeat(&number, value, lanes).map(Some)
                }
                Origin::Elsewhere => Ok(None),
            }
        };
        self.inputs.iter().zip(self.circuit.inputs()).map(read).collect()
    }

    /// The bits of the input value of that number, whose values `reader` gives, one a line; complaints call it `name`.
    ///
    /// # Errors
    /// [`Error::Data`] with the name and the line, if a value is missing or wrong. The value is not quoted.
    pub fn read_input<'a>(
        &self,
        index: usize,
        lanes: usize,
        name: &'a str,
        reader: Box<dyn BufRead + 'a>,
    ) -> Result<BitMatrix> {
        let value = self.circuit.inputs().get(index);
        let value = value.ok_or_else(|| Error::Usage(format!("the circuit has no input value {index}")))?;
        data::read_from(name, reader, value, lanes)
    }

    /// Warns in the log if others than the owner of the job file may read the values in it.
    pub(crate) fn warn_if_exposed(&self) {
        let secrets = self
            .inputs
            .iter()
            .any(|input| matches!(input.origin, Origin::Inline(_)));
        if secrets && others_may_read(&self.path) {
            tracing::warn!(
                file = %self.path.display(),
                "this job file has values of inputs in it and may be read by others: chmod 600 it, or put the values into \
                 files of their own"
            );
        }
    }

    fn check_origin(&self, input: &Input) -> Result<()> {
        match input.origin {
            Origin::Elsewhere => Err(Error::config(
                &self.path,
                Some(input.line),
                format!(
                    "the input of {} has no value here; give `hex = \"…\"` or `file = \"…\"`",
                    input.owner
                ),
            )),
            _ => Ok(()),
        }
    }
}

/// Whether some protocol has a setting called so.
pub(crate) fn is_setting(key: &str) -> bool {
    !Protocol::with_setting(key).is_empty()
}

/// Whether two paths lead to the same place, as far as that is there.
pub(crate) fn same_file(a: &Path, b: &Path) -> bool {
    let there = |path: &Path| path.canonicalize().ok();
    a == b || there(a).is_some_and(|place| there(b) == Some(place))
}

#[cfg(unix)]
fn others_may_read(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.mode() & 0o044 != 0)
}

#[cfg(not(unix))]
fn others_may_read(_: &Path) -> bool {
    false
}

/// The protocol that a job names, with its settings.
pub(crate) fn protocol(named: &Spanned<String>, settings: &[Kept], source: &Source) -> Result<Protocol> {
    let name = named.get_ref();
    let mut protocol = Protocol::named(name).ok_or_else(|| {
        let names: Vec<String> = Protocol::names()
            .map(|name| format!("protocol = \"{name}\""))
            .collect();
        let what = format!("there is no protocol \"{name}\"; write {}", names.join(" or "));
        source.fault(named.span(), what)
    })?;
    apply(&mut protocol, settings, source)?;
    Ok(protocol)
}

/// Gives `protocol` the settings of a job.
fn apply(protocol: &mut Protocol, settings: &[Kept], source: &Source) -> Result<()> {
    for setting in settings {
        let (key, having) = (&setting.key, Protocol::with_setting(&setting.key));
        let set = if having.contains(&protocol.name()) {
            protocol.set(key, setting.setting())
        } else {
            let names: Vec<String> = having.iter().map(|name| format!("\"{name}\"")).collect();
            let s = if names.len() == 1 { "" } else { "s" };
            Err(format!(
                "`{key}` is a setting of protocol{s} {} only; leave it out",
                names.join(" and ")
            ))
        };
        set.map_err(|what| source.fault(setting.span.clone(), what))?;
    }
    Ok(())
}

fn check_count(source: &Source, what: &str, found: usize, values: &[Value]) -> Result<()> {
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

fn bit_order(source: &Source, order: &Spanned<String>) -> Result<BitOrder> {
    match order.get_ref().as_str() {
        "lsb" => Ok(BitOrder::Lsb),
        "msb" => Ok(BitOrder::Msb),
        _ => Err(source.fault(
            order.span(),
            "the order is \"lsb\" (the value's first wire is its least significant bit) or \"msb\" (its most significant)",
        )),
    }
}

/// Those that learn an output.
pub(crate) fn entitled(source: &Source, to: &Spanned<Vec<Spanned<u8>>>, parties: u8) -> Result<Parties> {
    let mut receivers = Parties::NONE;
    for entry in to.get_ref() {
        let id = party(source, entry, parties)?;
        if receivers.contains(id) {
            return Err(source.fault(entry.span(), format!("{id} is listed twice")));
        }
        receivers = receivers.with(id);
    }
    if receivers == Parties::NONE {
        return Err(source.fault(
            to.span(),
            "nobody would learn this output; list at least one party",
        ));
    }
    Ok(receivers)
}
