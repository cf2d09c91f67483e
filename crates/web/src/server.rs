//! Connections: how long each may take for what, and how all of them end.

use std::sync::Arc;
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

use crate::connections::{Answering, Seat};
use crate::guard::From;
use crate::house::Site;
use crate::limits::Limits;
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
}

impl Server {
    pub(crate) fn new(
        site: Arc<Site>,
        app: Router,
        tls: Option<TlsAcceptor>,
        end: watch::Receiver<bool>,
    ) -> Self {
        Server { site, app, tls, end }
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
                    if let Some(seat) = self.site.connections.seat(cenote_net::network(from.ip())) {
                        connections.spawn(self.connection(stream, seat));
                    }
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
        drop(listener);
        while connections.join_next().await.is_some() {}
    }

    fn connection(&self, stream: TcpStream, seat: Seat) -> impl Future<Output = ()> + use<> {
        let (app, tls, end, limits) = (
            self.app.clone(),
            self.tls.clone(),
            self.end.clone(),
            self.site.limits.clone(),
        );
        let seat = Arc::new(seat);
        async move {
            let served = async {
                // Small answers leave at once; where that cannot be had, they leave later.
                let _ = stream.set_nodelay(true);
                let stream = Stalling::new(stream, limits.stall);
                match tls {
                    None => speak(stream, app, end, &limits, &seat).await,
                    Some(tls) => {
                        if let Ok(Ok(stream)) = tokio::time::timeout(limits.head, tls.accept(stream)).await {
                            speak(stream, app, end, &limits, &seat).await;
                        }
                    }
                }
            };
            tokio::select! {
                () = served => {}
                () = seat.is_taken() => {}
            }
        }
    }
}

/// Speaks HTTP/1.1 over `stream` until it ends, its time is over, or the server ends.
async fn speak<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    app: Router,
    mut end: watch::Receiver<bool>,
    limits: &Limits,
    seat: &Arc<Seat>,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(From(seat.address()));
        request.extensions_mut().insert(Arc::clone(seat));
        let (answer, seat) = (app.clone().oneshot(request), Arc::clone(seat));
        async move {
            let busy = seat.begin();
            let answer = answer.await;
            answer.map(|answer| answer.map(|body| Answering::new(body, busy)))
        }
    });
    let mut connection = std::pin::pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head)
            .max_buf_size(HEAD)
            .max_headers(HEADERS)
            .serve_connection(TokioIo::new(stream), service)
    );
    let ended = tokio::select! {
        _ = connection.as_mut() => true,
        () = tokio::time::sleep(limits.life) => false,
        _ = end.wait_for(|end| *end) => false,
    };
    if !ended {
        connection.as_mut().graceful_shutdown();
        // What has not ended by then is cut off.
        let _ = tokio::time::timeout(LAST, connection).await;
    }
}
