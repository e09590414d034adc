//! Messages from the client to the service and back, in their order.
//!
//! A thread reads messages, another writes them, and one task hands them on. What opens and changes documents
//! goes past the service, which would hold their texts several times over. Nothing here waits for a client
//! that does not read: then no more is read of it either.

pub mod answer;
mod frame;
mod message;

use std::collections::VecDeque;
use std::future::{Future, pending, poll_fn};
use std::io::{BufReader, BufWriter, Read, Write};
use std::sync::Arc;
use std::task::Poll;

use futures::{SinkExt, StreamExt};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower_lsp::jsonrpc::{Error, Id, Response};
use tower_lsp::{ClientSocket, Loopback, LspService};
use tower_service::Service;

use self::answer::{LEFT, Left, body};
use self::message::Incoming;
use super::server::Buflens;
use super::session::Session;
use super::{indexing, sync};

/// So many requests are worked on at once.
const CONCURRENCY: usize = 256;
/// So many more messages wait, so that the cancelling of a request overtakes them.
const WAITING: usize = 1024;
/// A message of so many bytes most likely brings a document.
const LONG: usize = 1 << 20;
/// So many messages of each direction are on their way between the threads.
const QUEUED: usize = 16;

type Requests = <ClientSocket as Loopback>::RequestStream;
type Responses = <ClientSocket as Loopback>::ResponseSink;

struct Transport {
    service: LspService<Buflens>,
    session: Arc<Session>,
    /// Takes the client's answers to the server's requests.
    responses: Responses,
    /// Notifications that have been made into text.
    notices: mpsc::Receiver<Vec<u8>>,
    /// Messages whose turn has not come.
    waiting: VecDeque<Incoming>,
    /// Those that have to wait for something.
    under_way: JoinSet<Option<Vec<u8>>>,
    /// Bodies that have to be written.
    outbox: VecDeque<Vec<u8>>,
}

/// Serves the client until it says `exit`, or until its input has ended and all is answered.
/// `closed` trips when no more is read. `notices` are the bodies of notifications to the client.
pub async fn serve(
    service: LspService<Buflens>,
    socket: ClientSocket,
    notices: mpsc::Receiver<Vec<u8>>,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    closed: CancellationToken,
) {
    let (sender, incoming) = mpsc::channel(QUEUED);
    let session = Arc::clone(&service.inner().0);
    let receiving = Arc::clone(&session);
    tokio::task::spawn_blocking(move || receive(input, &receiving, &sender));
    let (outgoing, receiver) = mpsc::channel(QUEUED);
    let writer = tokio::task::spawn_blocking(move || send(output, receiver));
    // Kept to the end: checks that are under way would complain that they cannot tell what they find.
    let (mut requests, responses) = socket.split();
    let transport = Transport {
        session,
        service,
        responses,
        notices,
        waiting: VecDeque::new(),
        under_way: JoinSet::new(),
        outbox: VecDeque::new(),
    };
    let served = transport.run(incoming, &mut requests, outgoing, &closed);
    served.await;
    match writer.await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!("the client cannot be written to: {error}"),
        Err(error) => tracing::error!("the writing to the client failed: {error}"),
    }
}

fn receive(input: impl Read, session: &Arc<Session>, messages: &mpsc::Sender<Incoming>) {
    let mut input = BufReader::new(input);
    loop {
        let mut hold = None;
        let announced = |length| hold = (length >= LONG).then(|| indexing::hold(session));
        match frame::read(&mut input, announced) {
            Ok(Some(body)) => {
                if messages.blocking_send(message::read(body)).is_err() {
                    return;
                }
            }
            Ok(None) => return,
            Err(error) => {
                tracing::warn!("the client cannot be read from: {error}");
                return;
            }
        }
    }
}

fn send(output: impl Write, mut bodies: mpsc::Receiver<Vec<u8>>) -> std::io::Result<()> {
    let mut output = BufWriter::new(output);
    while let Some(body) = bodies.blocking_recv() {
        frame::write(&mut output, &body)?;
    }
    Ok(())
}

impl Transport {
    async fn run(
        mut self,
        incoming: mpsc::Receiver<Incoming>,
        requests: &mut Requests,
        outgoing: mpsc::Sender<Vec<u8>>,
        closed: &CancellationToken,
    ) {
        let mut incoming = Some(incoming);
        while incoming.is_some() || !self.is_done() {
            let may_read = self.waiting.len() + self.outbox.len() < WAITING;
            let may_answer = self.outbox.len() < QUEUED;
            tokio::select! {
                room = outgoing.reserve(), if !self.outbox.is_empty() => {
                    // Nobody reads what is written, so nobody needs it.
                    let Ok(room) = room else { break };
                    if let Some(body) = self.outbox.pop_front() {
                        room.send(body);
                    }
                }
                message = next(&mut incoming), if may_read => {
                    let is_last = match message {
                        Some(message) => self.take(message).await,
                        None => true,
                    };
                    if is_last {
                        incoming = None;
                        closed.cancel();
                    }
                }
                Some(answer) = self.under_way.join_next(), if may_answer => match answer {
                    Ok(body) => self.outbox.extend(body),
                    Err(error) => tracing::error!("a request failed: {error}"),
                },
                Some(request) = requests.next(), if may_answer && incoming.is_some() => {
                    self.outbox.extend(body(&request));
                }
                Some(notice) = self.notices.recv(), if may_answer && incoming.is_some() => {
                    self.outbox.push_back(notice);
                }
            }
            while self.under_way.len() < CONCURRENCY
                && let Some(message) = self.waiting.pop_front()
            {
                self.begin(message).await;
            }
        }
    }

    fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.under_way.is_empty() && self.outbox.is_empty()
    }

    /// Takes a message when it comes, and tells whether it is the last one.
    async fn take(&mut self, message: Incoming) -> bool {
        let method = match &message {
            Incoming::Request(request) => request.method(),
            _ => "",
        };
        match method {
            "exit" => {
                // Whether it was said before decides how the server ends.
                let is_shutdown = |waiting: &Incoming| matches!(waiting, Incoming::Request(request) if request.method() == "shutdown");
                let shutdown = self.waiting.iter().position(is_shutdown);
                if let Some(shutdown) = shutdown.and_then(|at| self.waiting.remove(at)) {
                    self.begin(shutdown).await;
                }
                self.begin(message).await;
                return true;
            }
            "$/cancelRequest" if self.cancel_waiting(&message) => {}
            "$/cancelRequest" => self.begin(message).await,
            method if method.starts_with("$/") && self.refuse(&message) => {}
            _ => self.waiting.push_back(message),
        }
        false
    }

    /// Answers a request that only some servers know, which the service takes for a notification: these are passed over.
    fn refuse(&mut self, message: &Incoming) -> bool {
        let id = match message {
            Incoming::Request(request) => request.id().cloned(),
            _ => None,
        };
        let answer = id.map(|id| Response::from_error(id, Error::method_not_found()));
        self.outbox.extend(answer.as_ref().and_then(body));
        answer.is_some()
    }

    /// Cancels a request whose turn has not come, if there is such a one.
    fn cancel_waiting(&mut self, cancelling: &Incoming) -> bool {
        let Some(id) = cancelled(cancelling) else {
            return false;
        };
        let is_it = |waiting: &Incoming| matches!(waiting, Incoming::Request(request) if request.id() == Some(&id));
        let Some(at) = self.waiting.iter().position(is_it) else {
            return false;
        };
        self.waiting.remove(at);
        let answer = Response::from_error(id, Error::request_cancelled());
        self.outbox.extend(body(&answer));
        true
    }

    /// Begins to work on a message. What it changes has changed when this returns, and a request
    /// looks at the state of this moment: handlers do so before they wait for anything.
    async fn begin(&mut self, message: Incoming) {
        match message {
            Incoming::Opened(params) if self.session.is_running() => {
                sync::opened(&self.session, params);
            }
            Incoming::Changed(params) if self.session.is_running() => {
                sync::changed(&self.session, params);
            }
            Incoming::Opened(_) | Incoming::Changed(_) | Incoming::Nothing => {}
            Incoming::Request(request) => {
                if poll_fn(|context| self.service.poll_ready(context))
                    .await
                    .is_err()
                {
                    return;
                }
                let left = Left::default();
                let mut answering = Box::pin(LEFT.scope(left.clone(), self.service.call(request)));
                match poll_fn(|context| Poll::Ready(answering.as_mut().poll(context))).await {
                    Poll::Ready(answer) => self.outbox.extend(left.body(answer)),
                    Poll::Pending => {
                        self.under_way
                            .spawn(async move { left.body(answering.await) });
                    }
                }
            }
            Incoming::Response(response) => {
                // It takes them at once, unless the server has exited.
                let _ = self.responses.send(response).await;
            }
            Incoming::Invalid(answer) => self.outbox.extend(body(&answer)),
        }
    }
}

/// The next message; none ever where no more is read.
async fn next(incoming: &mut Option<mpsc::Receiver<Incoming>>) -> Option<Incoming> {
    match incoming {
        Some(incoming) => incoming.recv().await,
        None => pending().await,
    }
}

/// The request that `$/cancelRequest` names.
fn cancelled(cancelling: &Incoming) -> Option<Id> {
    let Incoming::Request(request) = cancelling else {
        return None;
    };
    serde_json::from_value(request.params()?.get("id")?.clone()).ok()
}
