//! `cenote token`

use cenote::Result;
use cenote_api::Scope;
use cenote_api::Timestamp;
use cenote_api::view::{LoginMade, NewToken, TokenMade, TokenView};
use clap::{Subcommand, ValueEnum};

use cenote_console::args::Form;
use cenote_console::service::{Reach, printable};
use cenote_console::{Command, print};

#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    /// Make a token for a program or a person, and print it; it is never shown again
    New {
        #[command(flatten)]
        reach: Reach,
        /// A name that says who uses it and for what; the audit log shows it
        name: String,
        /// What it may do
        #[arg(long, value_enum, value_delimiter = ',', default_value = "read")]
        scopes: Vec<ScopeName>,
        /// Days until it expires
        #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..=3650))]
        days: u32,
    },
    /// List tokens, logins and sessions
    List {
        #[command(flatten)]
        reach: Reach,
        #[command(flatten)]
        form: Form,
    },
    /// Revoke a token, or end a session
    Revoke {
        #[command(flatten)]
        reach: Reach,
        /// The public name of the token or session, as `list` prints it
        token: String,
    },
    /// Print an address that opens the service's page, once and within 10 minutes, with the rights of your token
    Login {
        #[command(flatten)]
        reach: Reach,
    },
}

/// What a token may do.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ScopeName {
    /// Propose jobs, and fetch results
    Propose,
    /// Approve and decline, and drop kept values
    Approve,
    /// See jobs, peers and stock
    Read,
    /// Make and revoke tokens
    Admin,
}

impl From<ScopeName> for Scope {
    fn from(name: ScopeName) -> Scope {
        match name {
            ScopeName::Propose => Scope::Propose,
            ScopeName::Approve => Scope::Approve,
            ScopeName::Read => Scope::Read,
            ScopeName::Admin => Scope::Admin,
        }
    }
}

impl Command for Token {
    fn run(&self, _: u8) -> Result<()> {
        match self {
            Token::New {
                reach,
                name,
                scopes,
                days,
            } => {
                let body = NewToken {
                    name: name.clone(),
                    scopes: scopes.iter().copied().map(Scope::from).collect(),
                    days: Some(*days),
                };
                let made: TokenMade = reach.open()?.post("/api/v1/tokens", &body)?;
                print(&format!("{}\n", made.token))
            }
            Token::List { reach, form } => {
                let tokens: Vec<TokenView> = reach.open()?.get("/api/v1/tokens")?;
                form.print(&tokens, || table(&tokens))
            }
            Token::Revoke { reach, token } => {
                if token.len() != 16 || !token.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    return Err(cenote::Error::Usage(
                        "a token's public name has 16 digits; `cenote token list` prints it".into(),
                    ));
                }
                reach.open()?.delete(&format!("/api/v1/tokens/{token}"))?;
                print(&format!("{token} is revoked\n"))
            }
            Token::Login { reach } => {
                let service = reach.open()?;
                let made: LoginMade = service.post("/api/v1/logins", &())?;
                print(&format!("{}/#{}\n", service.url(), made.login))
            }
        }
    }

    fn json(&self) -> bool {
        matches!(self, Token::List { form, .. } if form.json)
    }
}

fn table(tokens: &[TokenView]) -> String {
    let time = |time: Option<Timestamp>| time.map_or_else(|| "never".into(), |time| time.to_string());
    let mut text = format!(
        "{:16}  {:7}  {:24}  {:24}  {:24}  {}\n",
        "token", "for", "ends", "last used", "may", "name"
    );
    for token in tokens.iter().filter(|token| token.revoked_at.is_none()) {
        let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.as_str()).collect();
        text += &format!(
            "{:16}  {:7}  {:24}  {:24}  {:24}  {}\n",
            token.id,
            token.kind.as_str(),
            time(token.expires_at),
            time(token.used_at),
            scopes.join(","),
            printable(&token.name)
        );
    }
    text
}
