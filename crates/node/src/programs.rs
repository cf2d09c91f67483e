//! Programs by their digests, in a folder: what proposals name.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use cenote::{Bundle, Stated};
use cenote_service::job::{Digest, Job};
use cenote_service::{Error, write_whole};

use crate::compiled::Compiled;
use crate::data::make_private;
use crate::locks::lock;
use crate::message::PIECE;
use crate::titles::Titles;

/// Bytes of a program, at most.
pub(crate) const LARGEST: usize = 16 << 20;
/// Programs that are kept besides those of unfinished jobs; those that were kept first make room.
const KEPT: usize = 1000;
/// Gates of all programs that are ready to run; those that were used longest ago make room.
const READY: usize = 4 << 20;

/// Bytes of a program that is read to tell what it computes, at most.
const SHORT: u64 = 1 << 20;

/// Parties of a service, at most.
const PARTIES: u8 = 3;

/// The programs of a service.
pub(crate) struct Programs {
    folder: PathBuf,
    me: u8,
    ready: Mutex<Ready>,
    titles: Titles,
    /// One program at a time of each party is read and measured: that takes memory, and time that others do not wait.
    reading: Vec<Mutex<()>>,
    /// One file at a time is written or removed.
    writing: Mutex<()>,
}

/// Programs that are ready, by when they were used last.
#[derive(Default)]
struct Ready {
    programs: BTreeMap<Digest, (u64, Arc<Compiled>)>,
    uses: u64,
}

impl Programs {
    /// Those in `folder`, which is made where there is none, for its owner only.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn open(folder: &Path, me: u8) -> Result<Self, String> {
        make_private(folder).map_err(|error| format!("the folder of programs cannot be made: {error}"))?;
        Ok(Programs {
            folder: folder.to_owned(),
            me,
            ready: Mutex::default(),
            titles: Titles::default(),
            reading: (0..PARTIES).map(|_| Mutex::default()).collect(),
            writing: Mutex::default(),
        })
    }

    /// What a program of this party is, with the digest of its canonical text. It is not kept yet.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(&self, bundle: Bundle) -> Result<Arc<Compiled>, String> {
        let canonical = bundle.canonical().unwrap_or_else(|| bundle.clone());
        let text = text_of(&canonical)?;
        let digest = Digest::of(text.as_bytes());
        let compiled = self.compiled(self.me, digest, || Ok(canonical));
        // Complaints name lines as they were written.
        compiled.map_err(|complaint| {
            let _turn = self.reading.get(usize::from(self.me)).map(lock);
            let as_written = Compiled::new(bundle, digest, self.me);
            as_written.err().map_or(complaint, |error| error.to_string())
        })
    }

    /// What the party `from` has given for `digest`. It is not kept yet.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn receive(&self, from: u8, digest: Digest, text: &str) -> Result<Arc<Compiled>, String> {
        if Digest::of(text.as_bytes()) != digest {
            return Err("the program that was sent has another digest than the proposal says".into());
        }
        self.compiled(from, digest, || {
            Bundle::parse(text).map_err(|error| error.to_string())
        })
    }

    /// The program of this digest, if it is kept, for the party `by`.
    ///
    /// # Errors
    /// What is wrong with the copy.
    pub(crate) fn get(&self, by: u8, digest: Digest) -> Result<Option<Arc<Compiled>>, String> {
        if let Some(known) = self.known(digest) {
            return Ok(Some(known));
        }
        let Some(text) = self.text(digest)? else {
            return Ok(None);
        };
        self.receive(by, digest, &text).map(Some)
    }

    /// The program of this digest, which a job has.
    ///
    /// # Errors
    /// What is wrong with the copy, or that there is none.
    pub(crate) fn of(&self, digest: Digest) -> cenote_service::Result<Arc<Compiled>> {
        let program = self.get(self.me, digest).map_err(Error::Proposal)?;
        program
            .ok_or_else(|| Error::Proposal("its program is not kept here any more; propose it anew".into()))
    }

    /// The program of a job.
    ///
    /// # Errors
    /// As [`Programs::of`].
    pub(crate) fn of_job(&self, job: &Job) -> cenote_service::Result<Arc<Compiled>> {
        self.of(job.proposal.program.digest)
    }

    /// What the program of this digest says that it computes, if its text is kept and short. It is not compiled.
    pub(crate) fn stated(&self, digest: Digest) -> Option<Arc<Stated>> {
        self.titles.get(digest, || {
            let length = self.open_file(digest).ok()??.metadata().ok()?.len();
            let text = (length <= SHORT).then(|| self.text(digest).ok().flatten())??;
            Bundle::parse(&text).ok()?.stated()
        })
    }

    fn compiled(
        &self,
        by: u8,
        digest: Digest,
        bundle: impl FnOnce() -> Result<Bundle, String>,
    ) -> Result<Arc<Compiled>, String> {
        let turn = self
            .reading
            .get(usize::from(by))
            .ok_or("there is no such party")?;
        let _turn = lock(turn);
        if let Some(known) = self.known(digest) {
            return Ok(known);
        }
        let compiled = Compiled::new(bundle()?, digest, self.me);
        let compiled = Arc::new(compiled.map_err(|error| error.to_string())?);
        self.remember(&compiled);
        Ok(compiled)
    }

    /// Whether this program is ready to run, or kept.
    pub(crate) fn is_here(&self, digest: Digest) -> bool {
        self.known(digest).is_some() || self.is_kept(digest)
    }

    /// Whether there is a file of this program.
    pub(crate) fn is_kept(&self, digest: Digest) -> bool {
        self.path(digest).exists()
    }

    /// The text of the program of this digest, if it is kept.
    ///
    /// # Errors
    /// What is wrong with the copy.
    pub(crate) fn text(&self, digest: Digest) -> Result<Option<String>, String> {
        let Some(file) = self.open_file(digest)? else {
            return Ok(None);
        };
        let mut text = String::new();
        file.take(LARGEST as u64 + 1)
            .read_to_string(&mut text)
            .map_err(unreadable)?;
        if Digest::of(text.as_bytes()) != digest {
            let _turn = lock(&self.writing);
            let _ = fs::remove_file(self.path(digest));
            return Ok(None);
        }
        Ok(Some(text))
    }

    /// What begins at a byte of the program of this digest, some `PIECE` bytes, and how many bytes it has in all, if it is kept. The whole is looked at
    /// with its beginning only; who puts the pieces together knows its digest.
    ///
    /// # Errors
    /// What is wrong with the copy.
    pub(crate) fn piece(&self, digest: Digest, at: u64) -> Result<Option<(String, u64)>, String> {
        if at == 0 && self.text(digest)?.is_none() {
            return Ok(None);
        }
        let Some(mut file) = self.open_file(digest)? else {
            return Ok(None);
        };
        let all = file.metadata().map_err(unreadable)?.len();
        file.seek(SeekFrom::Start(at)).map_err(unreadable)?;
        let mut bytes = Vec::new();
        file.take(PIECE as u64)
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        // A character may be cut in two.
        let whole = match std::str::from_utf8(&bytes) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        bytes.truncate(whole);
        Ok(String::from_utf8(bytes).ok().map(|text| (text, all)))
    }

    /// The file of a program, if it is kept.
    fn open_file(&self, digest: Digest) -> Result<Option<File>, String> {
        match File::open(self.path(digest)) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unreadable(error)),
        }
    }

    /// Keeps a program, of which a job is about to be recorded. `needed` are those of unfinished jobs, which stay.
    ///
    /// # Errors
    /// That it cannot be kept.
    pub(crate) fn keep(
        &self,
        compiled: &Compiled,
        needed: impl Fn(Digest) -> bool,
    ) -> cenote_service::Result<()> {
        let _turn = lock(&self.writing);
        if self.path(compiled.digest).exists() {
            return Ok(());
        }
        let text = text_of(&compiled.bundle).map_err(Error::Proposal)?;
        let fault = |error: std::io::Error| Error::of_file(&self.folder, &error);
        self.make_room(needed).map_err(fault)?;
        write_whole(
            &self.folder,
            &compiled.digest.to_string(),
            "part",
            text.as_bytes(),
        )
        .map_err(fault)
    }

    fn path(&self, digest: Digest) -> PathBuf {
        self.folder.join(digest.to_string())
    }

    fn known(&self, digest: Digest) -> Option<Arc<Compiled>> {
        let mut ready = lock(&self.ready);
        ready.uses += 1;
        let uses = ready.uses;
        let (used, compiled) = ready.programs.get_mut(&digest)?;
        *used = uses;
        Some(Arc::clone(compiled))
    }

    fn remember(&self, compiled: &Arc<Compiled>) {
        let mut ready = lock(&self.ready);
        ready.uses += 1;
        let uses = ready.uses;
        ready
            .programs
            .insert(compiled.digest, (uses, Arc::clone(compiled)));
        let weight = |ready: &Ready| {
            ready
                .programs
                .values()
                .map(|(_, program)| program.weight())
                .sum::<usize>()
        };
        while ready.programs.len() > 1 && weight(&ready) > READY {
            let oldest = ready.programs.iter().min_by_key(|(_, (used, _))| *used);
            let Some(digest) = oldest.map(|(digest, _)| *digest) else {
                return;
            };
            ready.programs.remove(&digest);
        }
    }

    /// Removes the oldest programs that are not needed where there are too many.
    fn make_room(&self, needed: impl Fn(Digest) -> bool) -> std::io::Result<()> {
        let mut files: Vec<(SystemTime, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let digest: Option<Digest> = entry.file_name().to_str().and_then(|name| name.parse().ok());
            if !digest.is_some_and(&needed) {
                files.push((entry.metadata()?.modified()?, entry.path()));
            }
        }
        files.sort_unstable();
        let over = (files.len() + 1).saturating_sub(KEPT);
        files
            .iter()
            .take(over)
            .try_for_each(|(_, path)| fs::remove_file(path))
    }
}

fn unreadable(error: std::io::Error) -> String {
    format!("a program cannot be read: {}", error.kind())
}

fn text_of(bundle: &Bundle) -> Result<String, String> {
    let text = bundle.text().map_err(|error| error.to_string())?;
    if text.len() > LARGEST {
        return Err(format!(
            "the job has {} bytes with its files, and may have {LARGEST}",
            text.len()
        ));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiled::tests::bundle;

    #[test]
    fn a_program_is_found_by_its_digest_and_checked_against_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let programs = Programs::open(folder.path(), 0).expect("opens");
        let compiled = programs.read(bundle("add8", 3)).expect("a program");
        let digest = compiled.digest;
        assert!(programs.text(digest).expect("read").is_none());
        programs.keep(&compiled, |_| false).expect("kept");
        let text = programs.text(digest).expect("read").expect("there");

        let again = Programs::open(folder.path(), 0).expect("opens");
        assert_eq!(again.get(0, digest).expect("read").expect("there").digest, digest);
        let other = Digest::of(b"other");
        assert!(again.get(0, other).expect("read").is_none());
        let refused = again
            .receive(1, other, &text)
            .map(drop)
            .expect_err("another digest");
        assert!(refused.contains("another digest"), "{refused}");
        assert!(again.receive(1, Digest::of(b"{}"), "{}").is_err());

        let piece = |at| programs.piece(digest, at).expect("read").expect("there");
        assert_eq!(piece(0), (text.clone(), text.len() as u64));
        assert_eq!(piece(10), (text[10..].to_owned(), text.len() as u64));
        assert_eq!(piece(text.len() as u64).0, "");
        assert!(programs.piece(other, 0).expect("read").is_none());

        // What has changed on the disk is not used.
        std::fs::write(
            folder.path().join(digest.to_string()),
            text.replace("add8", "sub8"),
        )
        .expect("written");
        let third = Programs::open(folder.path(), 0).expect("opens");
        assert!(third.get(0, digest).expect("read").is_none());
    }

    #[test]
    fn one_job_has_one_digest_and_complaints_name_its_lines() {
        let folder = tempfile::tempdir().expect("a folder");
        let programs = Programs::open(folder.path(), 0).expect("opens");
        let one = bundle("add8", 3);
        let read = |job: String| programs.read(Bundle { job, ..one.clone() });
        let digest = read(one.job.clone()).expect("a program").digest;
        let remarked = format!("# Agreed in March.\n\n{}", one.job.replace(" = ", "="));
        assert_eq!(read(remarked.clone()).expect("a program").digest, digest);
        let wider = read(one.job.replace("lanes = 1", "lanes = 2"));
        assert_ne!(wider.expect("a program").digest, digest);
        let wrong = read(remarked.replace("[[input]]\nparty=1", "[[input]]\nparty=7"));
        let complaint = wrong.map(drop).expect_err("no such party");
        let line = 1 + remarked
            .lines()
            .position(|line| line == "party=1")
            .expect("there");
        assert!(complaint.contains(&format!("line {line}:")), "{complaint}");
    }

    #[test]
    fn pieces_are_cut_between_characters() {
        let folder = tempfile::tempdir().expect("a folder");
        let programs = Programs::open(folder.path(), 0).expect("opens");
        // Characters of three bytes, which no piece ends with.
        let text = "\u{20ac}".repeat(PIECE);
        let digest = Digest::of(text.as_bytes());
        std::fs::write(folder.path().join(digest.to_string()), &text).expect("written");
        let mut together = String::new();
        while together.len() < text.len() {
            let (piece, all) = programs
                .piece(digest, together.len() as u64)
                .expect("read")
                .expect("there");
            assert!(!piece.is_empty() && piece.len() <= PIECE);
            assert_eq!(all, text.len() as u64);
            together += &piece;
        }
        assert_eq!(together, text);
        assert_eq!(
            programs.piece(digest, 1).expect("read"),
            Some((String::new(), text.len() as u64))
        );
    }

    #[test]
    fn room_is_made_but_not_of_programs_that_jobs_need() {
        let folder = tempfile::tempdir().expect("a folder");
        let programs = Programs::open(folder.path(), 0).expect("opens");
        let of = |lanes: usize| {
            let mut bundle = bundle("add8", 3);
            bundle.job = bundle.job.replace("lanes = 1", &format!("lanes = {lanes}"));
            programs.read(bundle).expect("a program")
        };
        let (needed, other) = (of(1), of(2));
        programs.keep(&needed, |_| false).expect("kept");
        programs.keep(&other, |_| false).expect("kept");
        let other_file = File::open(programs.path(other.digest)).expect("there");
        // Some file systems tell times in steps that are longer than this test.
        other_file.set_modified(SystemTime::UNIX_EPOCH).expect("made old");
        for number in 0..KEPT {
            let name = Digest::of(&number.to_le_bytes()).to_string();
            std::fs::write(folder.path().join(name), "x").expect("written");
        }
        programs
            .keep(&of(3), |digest| digest == needed.digest)
            .expect("kept");
        assert!(programs.text(needed.digest).expect("read").is_some());
        assert!(programs.text(other.digest).expect("read").is_none());
    }

    #[test]
    fn a_peers_program_that_takes_long_to_read_holds_up_nobody_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let programs = Programs::open(folder.path(), 0).expect("opens");
        let of_party_1 = lock(&programs.reading[1]);
        std::thread::scope(|scope| {
            let (done, waits) = std::sync::mpsc::channel();
            let programs = &programs;
            scope.spawn(move || done.send(programs.read(bundle("add8", 3)).is_ok()));
            let read = waits.recv_timeout(std::time::Duration::from_secs(60));
            drop(of_party_1);
            assert_eq!(read, Ok(true));
        });
    }

    /// What two parties keep of a lane comes to thousands of gates, which are in memory while a program waits.
    #[test]
    fn a_program_in_shards_weighs_what_its_shards_do() {
        let whole = bundle("add8", 2);
        let mut cut = bundle("add8", 2);
        cut.job = format!("shards = 1\n{}", cut.job);
        let weight = |bundle| {
            Compiled::new(bundle, Digest::of(b""), 0)
                .expect("compiles")
                .weight()
        };
        let (whole, cut) = (weight(whole), weight(cut));
        assert!(cut > whole + 1000, "{cut} and {whole}");
    }

    #[test]
    fn a_program_that_takes_too_much_to_read_is_not_begun() {
        let folder = tempfile::tempdir().expect("a folder");
        let programs = Programs::open(folder.path(), 0).expect("opens");
        let bound = Bundle::MOST_GATES.to_string();
        for (name, part) in [
            ("sort2048x64", bound.as_str()),
            ("mult99999999999999999999", "N is 1 to 512"),
        ] {
            let refused = programs.read(bundle(name, 3)).map(drop).expect_err(name);
            assert!(refused.contains(part), "{refused}");
        }
        // Two parties authenticate what shards keep, which comes to more than the circuit.
        let outputs = 40_000;
        let lines: String = (0..outputs)
            .map(|wire| format!("1 1 0 {} EQW\n", wire + 2))
            .collect();
        let circuit = format!("{outputs} {}\n2 1 1\n1 {outputs}\n\n{lines}", outputs + 2);
        let mut wide = bundle("add8", 2);
        wide.job = format!("shards = 1\n{}", wide.job.replace("lib:add8", "wide.txt"));
        wide.files.insert("wide.txt".into(), circuit);
        let refused = programs.read(wide).map(drop).expect_err("wide outputs");
        assert!(refused.contains(&bound), "{refused}");
        // What counts is what a circuit comes to, not the numbers in its name.
        let exposure = bundle("exposure2x64-1000000000", 3);
        programs.read(exposure).expect("a small circuit");
        let mut many = bundle("add8", 3);
        many.job = format!("workers = 60\n{}", many.job);
        let refused = programs.read(many).map(drop).expect_err("many workers");
        assert!(refused.contains("workers"), "{refused}");
    }
}
