//! The HTTP interface and the page of a standing service.
//!
//! [`start`] serves, on threads of its own, what a [`Live`](cenote_service::Live) service can do: calls under `/api/v1` in JSON, which
//! [`document`] describes, events as they happen, metrics, and a page for people. What is asked of the service blocks, so it runs on a bounded
//! number of threads for that.
//!
//! # Who may call
//! Every call but `/healthz`, `/readyz`, the page's files and the beginning of a session needs a token with the scope for it, on this machine too.
//! The page is opened with a login token in the address after `#`, which browsers send to nobody; the page exchanges it for a session, whose
//! secret is in a cookie that no script can read. Browsers send cookies to every port of a machine, so the cookie alone opens nothing: each call
//! by cookie also carries a secret that only the page was given, and that ends with the process. Commands on this machine read the operator's token in the service's folder. At an address that other machines reach, only TLS is spoken.
//!
//! # What nobody can do
//! Hold the service by being slow, by reading nothing, by sending much or by calling often ([`Limits`]); make a browser that is logged in call
//! from another site's page, or under another name; learn from the log what a body, a token or a value was.
#![forbid(unsafe_code)]

mod api;
mod body;
mod caller;
mod connections;
mod gift;
mod guard;
mod history;
mod house;
mod hub;
mod limits;
mod meter;
mod metrics;
mod names;
mod operator;
mod page;
mod places;
mod plans;
mod problem;
mod rate;
mod server;
mod stall;
mod turns;

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::middleware;
use cenote_net::Identity;
use cenote_service::Tokens;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use zeroize::Zeroizing;

pub use api::document;
pub use history::Point;
pub use house::House;
pub use limits::Limits;

use crate::history::History;
use crate::house::Site;
use crate::hub::{Ear, Hub};
use crate::names::Names;
use crate::server::Server;

/// Where and how to serve.
#[derive(Debug)]
pub struct Options {
    /// The address to listen at; port 0 takes a free one. `None` is a free port of this machine alone.
    pub listen: Option<SocketAddr>,
    /// What listens already, instead of at that address.
    pub held: Option<std::net::TcpListener>,
    /// The party's identity, to speak TLS with. Needed where other machines can reach the address.
    pub tls: Option<Identity>,
    /// Names of this machine by which callers may call it, besides `localhost` and addresses in digits.
    pub names: Vec<String>,
    /// What callers may take.
    pub limits: Limits,
    /// How often throughput and stock are noted for the charts of the last hour.
    pub history: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            listen: None,
            held: None,
            tls: None,
            names: Vec::new(),
            limits: Limits::default(),
            history: history::STEP,
        }
    }
}

/// Why the interface did not come up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Other machines could read and change what is sent.
    #[error(
        "{0} can be reached from other machines, and would be spoken to without TLS; give an identity, or listen at 127.0.0.1"
    )]
    Plain(SocketAddr),
    /// The address cannot be listened at.
    #[error("listening at {address}: {reason}; give another address, or stop what listens there")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        reason: std::io::Error,
    },
    /// The system gives no threads.
    #[error("starting threads for the interface: {0}")]
    Threads(std::io::Error),
    /// The operator's token cannot be kept.
    #[error("{0}")]
    Token(#[from] cenote_service::Error),
    /// TLS cannot be set up.
    #[error("{0}")]
    Tls(#[from] cenote_net::Error),
}

/// An interface that is up. Dropping it cuts every connection off.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    secure: bool,
    folder: PathBuf,
    tokens: Tokens,
    end: watch::Sender<bool>,
    serving: Option<tokio::task::JoinHandle<()>>,
    runtime: Option<Runtime>,
    ear: Option<Ear>,
}

/// Serves the house until the value that is returned is dropped.
///
/// # Errors
/// [`Error`], before anything is served.
pub fn start(options: Options, house: House) -> Result<Running, Error> {
    let wanted = options
        .listen
        .unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)));
    let fault = |reason| Error::Listen {
        address: wanted,
        reason,
    };
    let listener = options
        .held
        .map_or_else(|| std::net::TcpListener::bind(wanted), Ok);
    let listener = listener.map_err(fault)?;
    listener.set_nonblocking(true).map_err(fault)?;
    let address = listener.local_addr().map_err(fault)?;
    if options.tls.is_none() && !address.ip().is_loopback() {
        return Err(Error::Plain(address));
    }
    let tokens = Tokens::new(house.database.clone());
    let folder = house.database.folder().path().to_owned();
    operator::keep(&folder, &tokens)?;
    let tls = options.tls.as_ref().map(cenote_net::https_server).transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(turns::ALL)
        .thread_name("web")
        .enable_all()
        .build()
        .map_err(Error::Threads)?;
    let listener = {
        let _runtime = runtime.enter();
        TcpListener::from_std(listener).map_err(fault)?
    };
    let history = History::default();
    let (hub, ear) = Hub::start(&house, &history, options.history).map_err(Error::Threads)?;
    let names = Names::new(&options.names, address, tls.is_some());
    let site = Arc::new(Site::new(house, names, options.limits, hub, history)?);
    let app = api::router()
        .merge(page::router())
        .fallback(guard::no_such_path)
        .method_not_allowed_fallback(guard::no_such_method)
        .layer(middleware::from_fn_with_state(Arc::clone(&site), guard::guard))
        .with_state(Arc::clone(&site));
    let (end, ended) = watch::channel(false);
    let secure = tls.is_some();
    let server = Server::new(site, app, tls.map(TlsAcceptor::from), ended);
    let serving = runtime.spawn(server.serve(listener));
    tracing::info!(target: "cenote_web", %address, secure, "the interface is up");
    Ok(Running {
        address,
        secure,
        folder,
        tokens,
        end,
        serving: Some(serving),
        runtime: Some(runtime),
        ear: Some(ear),
    })
}

impl Running {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The page's address; a login token is appended after `#`.
    pub fn url(&self) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        // An address that stands for all of this machine's is none to call.
        let mut address = self.address;
        if address.ip().is_unspecified() {
            let here = if address.is_ipv4() {
                IpAddr::from([127, 0, 0, 1])
            } else {
                Ipv6Addr::LOCALHOST.into()
            };
            address.set_ip(here);
        }
        format!("{scheme}://{address}/")
    }

    /// An address that opens the page for its operator, who may do everything: once, within 10 minutes.
    /// It ends with the operator's token.
    ///
    /// # Errors
    /// Where the operator's token was revoked, too many such addresses wait to be opened, or the database cannot be written.
    pub fn login(&self) -> Result<Zeroizing<String>, Error> {
        let token = operator::login(&self.folder, &self.tokens)?;
        Ok(Zeroizing::new(format!("{}#{}", self.url(), *token)))
    }

    /// Takes no more calls, lets those that are being answered end for as long as `limit`, and returns when all have ended or were cut off.
    pub fn shut_down(mut self, limit: Duration) {
        self.stop(limit);
    }

    fn stop(&mut self, limit: Duration) {
        // Nobody listens if it has ended already.
        let _ = self.end.send(true);
        self.ear = None;
        if let Some(runtime) = self.runtime.take() {
            if let Some(serving) = self.serving.take() {
                let _ = runtime.block_on(async { tokio::time::timeout(limit, serving).await });
            }
            runtime.shutdown_timeout(limit);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}
