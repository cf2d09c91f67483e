//! Connections: how many there may be, how long each may take for what, and how all of them end.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use crate::guard::From;
use crate::house::Site;
use crate::stall::Stalling;

/// Bytes of the head of a request, and of what is read ahead.
const HEAD: usize = 32 << 10;
/// Headers of a request.
const HEADERS: usize = 64;
/// How long to wait when no connection can be accepted, such as when files have run out.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a connection that is to end may go on with the answer that it is in.
const LAST: Duration = Duration::from_secs(5);

pub(crate) struct Server {
    pub(crate) site: Arc<Site>,
    pub(crate) app: Router,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) end: watch::Receiver<bool>,
    by_address: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl Server {
    pub(crate) fn new(
        site: Arc<Site>,
        app: Router,
        tls: Option<TlsAcceptor>,
        end: watch::Receiver<bool>,
    ) -> Self {
        Server {
            site,
            app,
            tls,
            end,
            by_address: Arc::default(),
        }
    }

    /// Serves until it is told to end, and returns when all connections have ended.
    pub(crate) async fn serve(mut self, listener: TcpListener) {
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                _ = self.end.changed() => break,
                accepted = listener.accept() => accepted,
            };
            while connections.try_join_next().is_some() {}
            match accepted {
                Ok((stream, from)) => {
                    if let Some(place) = self.place(from, connections.len()) {
                        connections.spawn(self.connection(stream, place));
                    } else {
                        self.site.meter.turned_away.fetch_add(1, Ordering::Relaxed);
                    }
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
        drop(listener);
        while connections.join_next().await.is_some() {}
    }

    /// A place for a connection of `from`, if there is one left.
    fn place(&self, from: SocketAddr, open: usize) -> Option<Place> {
        let limits = &self.site.limits;
        let address = cenote_net::network(from.ip());
        if open >= limits.connections {
            return None;
        }
        let most = if address.is_loopback() {
            // A flood of this machine's own leaves places for callers from elsewhere.
            limits.connections - limits.connections_per_address.min(limits.connections / 8)
        } else {
            limits.connections_per_address
        };
        let mut counts = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(address).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        self.site.meter.open.fetch_add(1, Ordering::Relaxed);
        Some(Place {
            address,
            site: Arc::clone(&self.site),
            counts: Arc::clone(&self.by_address),
        })
    }

    fn connection(&self, stream: TcpStream, place: Place) -> impl Future<Output = ()> + use<> {
        let (app, tls, end) = (self.app.clone(), self.tls.clone(), self.end.clone());
        async move {
            let limits = &place.site.limits;
            // Small answers leave at once; where that cannot be had, they leave later.
            let _ = stream.set_nodelay(true);
            let stream = Stalling::new(stream, limits.stall);
            match tls {
                None => speak(stream, app, end, &place).await,
                Some(tls) => {
                    if let Ok(Ok(stream)) = tokio::time::timeout(limits.head, tls.accept(stream)).await {
                        speak(stream, app, end, &place).await;
                    }
                }
            }
        }
    }
}

/// Speaks HTTP/1.1 over `stream` until it ends, its time is over, or the server ends.
async fn speak<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    app: Router,
    mut end: watch::Receiver<bool>,
    place: &Place,
) {
    let from = From(place.address);
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(from);
        app.clone().oneshot(request)
    });
    let mut connection = std::pin::pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(place.site.limits.head)
            .max_buf_size(HEAD)
            .max_headers(HEADERS)
            .serve_connection(TokioIo::new(stream), service)
    );
    let ended = tokio::select! {
        _ = connection.as_mut() => true,
        () = tokio::time::sleep(place.site.limits.life) => false,
        _ = end.wait_for(|end| *end) => false,
    };
    if !ended {
        connection.as_mut().graceful_shutdown();
        // What has not ended by then is cut off.
        let _ = tokio::time::timeout(LAST, connection).await;
    }
}

/// A connection's place among those that there may be.
struct Place {
    address: IpAddr,
    site: Arc<Site>,
    counts: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.site.meter.open.fetch_sub(1, Ordering::Relaxed);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.address);
            }
        }
    }
}
