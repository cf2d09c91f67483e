//! PostgreSQL over TLS, with a real server: who is trusted, who is refused, and what the refusal says.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tempfile::TempDir;

use super::*;

/// The server's name, which nobody resolves: its address is given beside it.
const NAME: &str = "db.cenote.test";
/// Stands in every address, and never in an error.
const PASSWORD: &str = "hush";

/// Who may come how: `cenote` over TLS, `scrammed` with a password, `certified` with a certificate, `plain` as it likes.
const RULES: &str = "
local   all all                    trust
hostssl all cenote    127.0.0.1/32 trust
hostssl all scrammed  127.0.0.1/32 scram-sha-256
hostssl all certified 127.0.0.1/32 cert
host    all plain     127.0.0.1/32 trust
";

type Issuer = CertifiedIssuer<'static, KeyPair>;

fn issuer() -> Issuer {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    // Names of CAs are the same on purpose: only the key tells them apart.
    params.distinguished_name.push(DnType::CommonName, "Test CA");
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("signed")
}

/// A certificate and its key.
fn certificate(issuer: &Issuer, names: &[&str], common_name: &str) -> (String, String) {
    let key = KeyPair::generate().expect("a key");
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).expect("names");
    params.distinguished_name.push(DnType::CommonName, common_name);
    let certificate = params.signed_by(&key, issuer).expect("signed");
    (certificate.pem(), key.serialize_pem())
}

/// A server with TLS, and the files of its clients.
struct Secure {
    server: Server,
    port: u16,
    files: TempDir,
    ca: Issuer,
}

impl Secure {
    fn start() -> Option<Self> {
        let mut server = Server::prepare()?;
        let ca = issuer();
        let (certificate, key) = certificate(&ca, &[NAME, "127.0.0.1"], "unused");
        server.put("server.crt", &certificate);
        server.put("server.key", &key);
        server.put("clients.crt", &ca.pem());
        server.put("pg_hba.conf", RULES);
        let port = (0..10).find_map(|_| {
            let free = TcpListener::bind("127.0.0.1:0").expect("a port");
            let port = free.local_addr().expect("bound").port();
            drop(free);
            let options =
                format!("-p {port} -c listen_addresses=127.0.0.1 -c ssl=on -c ssl_ca_file=clients.crt");
            server.launch(&options).then_some(port)
        });
        let secure = Secure {
            server,
            port: port.expect("a port that nobody took meanwhile"),
            files: tempfile::tempdir().expect("a folder"),
            ca,
        };
        secure.file("ca.pem", &secure.ca.pem());
        for role in ["scrammed", "certified", "plain"] {
            secure.sql(&format!(
                "CREATE ROLE {role} SUPERUSER LOGIN PASSWORD '{PASSWORD}'"
            ));
        }
        Some(secure)
    }

    fn sql(&self, sql: &str) {
        self.server.run_on(self.port, "postgres", sql);
    }

    /// Writes a file for clients, and gives its path.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.files.path().join(name);
        std::fs::write(&path, text).expect("written");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("closed");
        path.to_str().expect("text").to_owned()
    }

    /// `sslrootcert` of the right CA.
    fn root(&self) -> String {
        format!("sslrootcert={}", self.files.path().join("ca.pem").display())
    }

    fn url(&self, user: &str, host: &str, name: &str, rest: &str) -> String {
        let port = self.port;
        format!("postgres://{user}:{PASSWORD}@{host}:{port}/{name}?hostaddr=127.0.0.1&{rest}")
    }

    /// Opens a new database as `user`, and says how its connections, that of writes and that of reads, are encrypted.
    fn versions(&self, user: &str, host: &str, rest: &str) -> Result<Vec<String>> {
        self.sql("DROP DATABASE IF EXISTS one WITH (FORCE)");
        self.sql("CREATE DATABASE one");
        let place = tempfile::tempdir().expect("a folder");
        let address = Address::parse(&self.url(user, host, "one", rest))?;
        let database = Database::open(place.path(), &address)?;
        let sql = "SELECT coalesce(version, 'none') FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        let written = database.write(|transaction| transaction.rows(sql, &[]))?;
        let read = database.read(|connection| connection.rows(sql, &[]))?;
        let rows = written.iter().chain(&read);
        rows.map(|row| row.text(0).map(str::to_owned)).collect()
    }

    /// That such a connection is refused, and for this reason.
    fn refuses(&self, user: &str, host: &str, rest: &str, parts: &[&str]) {
        let error = self.versions(user, host, rest).expect_err(rest);
        quiet(&error, parts);
    }
}

/// That an error says this, and not the password.
fn quiet(error: &Error, parts: &[&str]) {
    let text = error.to_string();
    eprintln!("{text}");
    for part in parts {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!format!("{text} {error:?}").contains(PASSWORD), "{error:?}");
}

#[test]
fn postgresql_over_tls() {
    let Some(secure) = Secure::start() else {
        eprintln!("skipped: there is no PostgreSQL server (initdb, pg_ctl) on this machine");
        return;
    };
    let root = secure.root();
    let tls = ["TLSv1.3", "TLSv1.3"];

    the_database_s_own_tests(&secure);
    // All that is not `disable` is encrypted and checked.
    for mode in ["prefer", "require", "verify-ca", "verify-full"] {
        let rest = format!("sslmode={mode}&{root}");
        let versions = match mode {
            // It is for this machine's servers, which have no other names.
            "prefer" => secure.versions("cenote", "127.0.0.1", &rest),
            _ => secure.versions("cenote", NAME, &rest),
        };
        assert_eq!(versions.expect(mode), tls);
    }
    // A password, bound to this very TLS connection.
    let rest = format!("sslmode=require&channel_binding=require&{root}");
    assert_eq!(secure.versions("scrammed", NAME, &rest).expect("connects"), tls);

    others_are_refused(&secure);

    // A server that wants TLS gets none.
    for rest in ["", "sslmode=disable"] {
        let host = "127.0.0.1";
        secure.refuses(
            "cenote",
            host,
            rest,
            &["pg_hba.conf", "not encrypted", "sslmode=verify-full"],
        );
        assert_eq!(
            secure.versions("plain", host, rest).expect("connects"),
            ["none", "none"]
        );
    }
    // Other refusals are not blamed on that.
    let error = secure.versions("nobody", "127.0.0.1", &format!("sslmode=require&{root}"));
    let error = error.expect_err("no rule for it");
    quiet(&error, &["pg_hba.conf"]);
    assert!(!error.to_string().contains("not encrypted"), "{error}");

    certificates_of_clients(&secure);
}

/// The database's own tests, over TLS.
fn the_database_s_own_tests(secure: &Secure) {
    let root = secure.root();
    for (number, (name, test)) in ALL.iter().enumerate() {
        eprintln!("{name}");
        secure.sql(&format!("CREATE DATABASE suite{number}"));
        let url = secure.url(
            "cenote",
            NAME,
            &format!("suite{number}"),
            &format!("sslmode=verify-full&{root}"),
        );
        test(World::new(Address::parse(&url).expect("an address")));
    }
}

fn others_are_refused(secure: &Secure) {
    let root = secure.root();
    // Another CA's certificate is refused, and so is this one where only the system's CAs are trusted.
    let other = secure.file("other.pem", &issuer().pem());
    for mode in ["prefer", "require", "verify-ca", "verify-full"] {
        let host = if mode == "prefer" { "127.0.0.1" } else { NAME };
        secure.refuses(
            "cenote",
            host,
            &format!("sslmode={mode}&sslrootcert={other}"),
            &[
                "PostgreSQL at ",
                "none of the CAs in",
                &other,
                "whatever sslmode says",
            ],
        );
    }
    secure.refuses(
        "cenote",
        NAME,
        "sslmode=verify-full",
        &["this system", "sslrootcert=/path"],
    );

    // Another name is refused.
    for mode in ["require", "verify-ca", "verify-full"] {
        secure.refuses(
            "cenote",
            "other.cenote.test",
            &format!("sslmode={mode}&{root}"),
            &[NAME, "not for other.cenote.test", "hostaddr="],
        );
    }
}

fn certificates_of_clients(secure: &Secure) {
    let root = secure.root();
    let (own, key) = certificate(&secure.ca, &[], "certified");
    let (own, key) = (secure.file("own.pem", &own), secure.file("own.key", &key));
    let rest = format!("sslmode=verify-full&{root}&sslcert={own}&sslkey={key}");
    let versions = secure.versions("certified", NAME, &rest).expect("connects");
    assert_eq!(versions, ["TLSv1.3", "TLSv1.3"]);

    secure.refuses(
        "certified",
        NAME,
        &format!("sslmode=require&{root}"),
        &["client certificate"],
    );
    let (false_one, false_key) = certificate(&issuer(), &[], "certified");
    let paths = (
        secure.file("false.pem", &false_one),
        secure.file("false.key", &false_key),
    );
    let rest = format!("sslmode=require&{root}&sslcert={}&sslkey={}", paths.0, paths.1);
    secure.refuses("certified", NAME, &rest, &["PostgreSQL at ", "alert", "sslcert"]);

    // Files that do not do are named.
    let rest = format!("sslmode=require&{root}&sslcert={own}&sslkey={}", paths.1);
    secure.refuses("certified", NAME, &rest, &["own.pem", "does not go with the key"]);
    let rest = format!("sslmode=require&{root}&sslcert={own}&sslkey={own}");
    secure.refuses("certified", NAME, &rest, &["own.pem", "no private key"]);
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).expect("opened up");
    let rest = format!("sslmode=require&{root}&sslcert={own}&sslkey={key}");
    secure.refuses("certified", NAME, &rest, &["own.key", "chmod 600"]);
    let rest = format!("sslmode=require&sslrootcert={key}");
    secure.refuses("cenote", NAME, &rest, &["own.key", "no certificate in it"]);
    secure.refuses(
        "cenote",
        NAME,
        "sslmode=require&sslrootcert=/no/such.pem",
        &["/no/such.pem"],
    );
}

/// What a server without TLS, or somebody on the way to one, is told, who answers the request for TLS with no.
fn said_without_tls(rest: &str) -> (Error, Vec<u8>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), issuer().pem()).expect("written");
    let heard = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("somebody");
        let mut request = [0; 8];
        stream.read_exact(&mut request).expect("a request");
        assert_eq!(request[4..], 80_877_103_u32.to_be_bytes(), "a request for TLS");
        stream.write_all(b"N").expect("answered");
        let mut heard = vec![0; 4096];
        let count = stream.read(&mut heard).unwrap_or(0);
        heard.truncate(count);
        heard
    });
    let path = file.path().display();
    let url = format!("postgres://me:{PASSWORD}@127.0.0.1:{port}/x?{rest}&sslrootcert={path}");
    let place = tempfile::tempdir().expect("a folder");
    let error =
        Database::open(place.path(), &Address::parse(&url).expect("an address")).expect_err("no server");
    (error, heard.join().expect("heard"))
}

#[test]
fn nothing_is_sent_where_tls_is_demanded_and_not_offered() {
    for mode in ["require", "verify-ca", "verify-full"] {
        let (error, heard) = said_without_tls(&format!("sslmode={mode}"));
        quiet(&error, &["PostgreSQL at 127.0.0.1:", "offers no TLS", "ssl = on"]);
        assert!(heard.is_empty(), "{heard:?}");
    }
    let (error, heard) = said_without_tls("sslmode=prefer");
    quiet(&error, &["PostgreSQL at 127.0.0.1:"]);
    assert!(heard.windows(2).any(|part| part == b"me"), "{heard:?}");
}

#[test]
fn a_server_that_says_nothing_is_not_waited_for_without_end() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let place = tempfile::tempdir().expect("a folder");
    for mode in ["disable", "prefer"] {
        let url = format!("postgres://me:{PASSWORD}@127.0.0.1:{port}/x?connect_timeout=1&sslmode={mode}");
        let error =
            Database::open(place.path(), &Address::parse(&url).expect("an address")).expect_err("silence");
        quiet(&error, &["PostgreSQL at 127.0.0.1:", "within 2 seconds"]);
    }
    // It is not asked without end either.
    let url = format!("postgres://me:{PASSWORD}@127.0.0.1:{port}/x?connect_timeout=1&sslmode=disable");
    let address = Address::parse(&url).expect("an address");
    let refused = |parts: &[&str]| {
        quiet(
            &Database::open(place.path(), &address).expect_err("silence"),
            parts,
        )
    };
    (0..4).for_each(|_| refused(&["within 2 seconds"]));
    refused(&["PostgreSQL at 127.0.0.1:", "several connections and said nothing"]);
}

/// Addresses that do not say it well, and what is said of them.
const WRONG: [(&str, &str); 19] = [
    ("me:hush@db.example.com/x", "add sslmode=verify-full"),
    (
        "me:hush@db.example.com/x?sslmode=prefer",
        "write sslmode=verify-full",
    ),
    (
        "me:hush@db.example.com/x?sslmode=allow",
        "verify-ca or verify-full",
    ),
    ("me:hush@db.example.com/x?sslmode=", "verify-ca or verify-full"),
    ("me:hush@db.example.com/x?sslmode=Require", "checked"),
    (
        "me:hush@db.example.com/x?%73slmode=prefer",
        "write sslmode=verify-full",
    ),
    (
        "me:hush@db.example.com/x?sslmode=require&sslmode=disable",
        "sslmode twice",
    ),
    (
        "me:hush@db.example.com/x?sslmode=require&sslrootcert=ca.pem",
        "sslrootcert=/path/to/file",
    ),
    ("me:hush@localhost/x?sslrootcert=/etc/ca.pem", "go with TLS"),
    (
        "me:hush@localhost/x?sslmode=disable&sslkey=/etc/key.pem",
        "go with TLS",
    ),
    (
        "me:hush@localhost/x?sslmode=require&sslkey=/etc/key.pem",
        "go together",
    ),
    (
        "me:hush@localhost/x?sslmode=require&sslpassword=hush",
        "sslpassword is not",
    ),
    ("me:hush@localhost/x?sslmode=require&sslcrl=/hush", "sslcrl"),
    ("me:hush@/x?host=/run/postgresql&sslmode=require", "socket"),
    (
        "me:hush@/x?hostaddr=127.0.0.1&sslmode=require",
        "must have its name",
    ),
    ("me:hush@localhost/x?sslmode=require&hush", "of the form"),
    ("me:hush@localhost/x?sslmode=%FF", "UTF-8"),
    ("me:sh@hush@localhost/x", "%40"),
    ("me:hush@/x", "names no server"),
];

#[test]
fn addresses_say_how_a_connection_is_protected() {
    for good in [
        "postgres://me:hush@db.example.com/x?sslmode=disable",
        "postgres://me:hush@db.example.com/x?sslmode=require",
        "postgres://me:hush@db.example.com/x?sslmode=verify%2Dfull&connect_timeout=3",
        "postgres://me:hush@db.example.com?sslmode=verify-ca&sslrootcert=%2Fetc%2Fca.pem",
        "postgres://me:hush@db.example.com/x?sslrootcert=system&sslmode=verify-full",
        "postgres://me:hush@a.example.com,b.example.com/x?sslmode=verify-full",
        "postgres://me:hu?sslmode=nonsense&sh@localhost/x?sslmode=prefer",
        "postgres:///x?host=%2Frun%2Fpostgresql&sslmode=prefer",
        "postgres:///x?host=%2Frun%2Fpostgresql&sslmode=disable",
        "postgres://localhost/x?sslmode=prefer",
    ] {
        Address::parse(good).expect(good);
    }
    for (bad, part) in WRONG {
        let error = Address::parse(&format!("postgres://{bad}")).expect_err(bad);
        assert!(matches!(error, Error::Address(_)), "{error:?}");
        quiet(&error, &[part]);
    }
}
