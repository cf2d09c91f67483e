//! A fake service with its interface, and tokens for it.

use std::sync::Arc;
use std::time::Duration;

use cenote_service::audit::Actor;
use cenote_service::token::{Scope, TokenKind};
use cenote_service::{Address, Database, Live, Timestamp, Tokens};
use cenote_web::{House, Limits, Options, Running as Served};

use super::Fake;

/// A fake service with its interface.
pub(crate) struct World {
    pub(crate) served: Option<Served>,
    pub(crate) fake: Arc<Fake>,
    pub(crate) tokens: Tokens,
    pub(crate) database: Database,
    _folder: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(Options::default())
    }

    pub(crate) fn limited(limits: Limits) -> Self {
        Self::with(Options {
            limits,
            ..Options::default()
        })
    }

    pub(crate) fn with(options: Options) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let database = Database::open(&folder.path().join("service"), &Address::Embedded).expect("opens");
        let mut world = World {
            served: None,
            fake: Arc::new(Fake::new(&database)),
            tokens: Tokens::new(database.clone()),
            database,
            _folder: folder,
        };
        world.serve(options);
        world
    }

    fn serve(&mut self, options: Options) {
        let house = House {
            live: Arc::clone(&self.fake) as Arc<dyn Live>,
            jobs: self.fake.jobs.clone(),
            database: self.database.clone(),
        };
        self.served = Some(cenote_web::start(options, house).expect("served"));
    }

    /// Ends the interface, and starts another one.
    pub(crate) fn serve_again(&mut self) {
        self.served = None;
        self.serve(Options::default());
    }

    /// Ends the interface in order, and starts one with these options.
    pub(crate) fn serve_again_with(&mut self, options: Options) {
        let served = self.served.take().expect("served");
        served.shut_down(Duration::from_secs(10));
        self.serve(options);
    }

    pub(crate) fn served(&self) -> &Served {
        self.served.as_ref().expect("served")
    }

    /// The address without a slash at the end.
    pub(crate) fn url(&self) -> String {
        self.served().url().trim_end_matches('/').to_owned()
    }

    /// A bearer token.
    pub(crate) fn token(&self, scopes: &[Scope]) -> String {
        let scopes = scopes.iter().copied().collect();
        let made = |name: &str| {
            self.tokens
                .create(name, &scopes, None, Actor::Service, Timestamp::now())
        };
        let others = || self.tokens.list().expect("listed").len();
        let secret = made("ada").or_else(|_| made(&format!("ada {}", others())));
        secret.expect("made").reveal().to_owned()
    }

    /// A login token, made with a new bearer token.
    pub(crate) fn login(&self, scopes: &[Scope]) -> String {
        let (bearer, now) = (self.token(scopes), Timestamp::now());
        let ada = self
            .tokens
            .authenticate(TokenKind::Bearer, &bearer, now)
            .expect("let in");
        let secret = self.tokens.create_login_of(&ada, now);
        secret.expect("made").reveal().to_owned()
    }
}
