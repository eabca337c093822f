//! The connections of a server. Each has a thread, and all end with the server.
//!
//! The number of places is limited. If all places are taken, a client that does not use its place
//! loses it to the next client.

use std::io::{self, BufWriter, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use super::limits::{Limits, PIECE};
use super::socket::{Listener, Replies, Socket};
use super::window::{Room, Window};
use flashgc_base::sync::lock;

/// A client: its socket, and the window of its requests under way.
pub struct Connection {
    pub socket: Socket,
    pub window: Arc<Window>,
}

/// The state that the accepting thread shares with the owner of the server.
struct Shared {
    listener: Listener,
    room: Arc<Room>,
    stopping: AtomicBool,
    places: Mutex<Vec<Place>>,
}

/// The place of a connection, with its thread.
struct Place {
    window: Arc<Window>,
    thread: JoinHandle<()>,
    /// `true` once the connection has lost its place and is ending.
    ends: bool,
}

/// A listener with its threads. When it is dropped, it closes all connections and waits for their
/// threads.
pub struct Clients {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Clients {
    /// Runs `serve` for each client that connects, in threads named after `name`. An error of
    /// `serve` ends only this connection: its client is gone, or does not speak the protocol.
    pub fn start(
        listener: Listener,
        name: &'static str,
        limits: Limits,
        serve: impl Fn(&Connection) -> io::Result<()> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let (places, room) = (Mutex::default(), Room::new(limits));
        let stopping = AtomicBool::new(false);
        let shared = Arc::new(Shared { listener, room, stopping, places });
        let accept = {
            let shared = Arc::clone(&shared);
            move || shared.accept(name, &Arc::new(serve))
        };
        let thread = std::thread::Builder::new().name(name.into()).spawn(accept)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Returns a view of the connections.
    pub fn seen(&self) -> Seen {
        Seen(Arc::downgrade(&self.shared))
    }
}

/// A view of the connections of a server. The server may have ended.
#[derive(Clone)]
pub struct Seen(Weak<Shared>);

impl Seen {
    /// Returns `true` until the server has ended.
    pub(super) fn is_there(&self) -> bool {
        self.0.strong_count() > 0
    }

    /// Returns the number of requests under way on each connection.
    pub fn connections(&self) -> Vec<usize> {
        self.windows().iter().map(|window| window.requests()).collect()
    }

    /// Ends the connections, and returns their number. New connections may follow.
    pub(super) fn end(&self) -> usize {
        // The end of one connection may end others of the same host, so all connections are counted
        // first.
        let windows = self.windows();
        windows.iter().for_each(|window| window.end());
        windows.len()
    }

    fn windows(&self) -> Vec<Arc<Window>> {
        let Some(shared) = self.0.upgrade() else { return Vec::new() };
        let places = lock(&shared.places);
        let there = places.iter().filter(|place| !place.thread.is_finished());
        there.map(|place| Arc::clone(&place.window)).collect()
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.shared.stopping.store(true, Ordering::SeqCst);
        self.shared.listener.close();
        let _ = thread.join();
        // A connection's thread may lock the list while it ends, so the lock is not held here.
        let places = std::mem::take(&mut *lock(&self.shared.places));
        places.iter().for_each(|place| place.window.end());
        for place in places {
            let _ = place.thread.join();
        }
    }
}

/// Closes the connection when it is dropped, also if its thread panics.
struct Closing(Connection);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.socket.shutdown();
    }
}

impl Shared {
    /// Accepts connections until the server stops.
    fn accept<F>(&self, name: &str, serve: &Arc<F>)
    where
        F: Fn(&Connection) -> io::Result<()> + Send + Sync + 'static,
    {
        while !self.stopping.load(Ordering::SeqCst) {
            let Ok(socket) = self.listener.accept() else {
                // For example, there are no file descriptors left: the existing connections go on.
                std::thread::sleep(Duration::from_millis(10));
                continue;
            };
            let mut places = lock(&self.places);
            places.retain(|place| !place.thread.is_finished());
            if !self.has_place(&mut places) {
                continue;
            }
            let Ok(kept) = socket.try_clone() else { continue };
            let window = Window::new(&self.room, move || kept.shutdown());
            let (serve, client) = (Arc::clone(serve), Connection { socket, window });
            let (window, client) = (Arc::clone(&client.window), Closing(client));
            let run = move || drop(serve(&client.0));
            if let Ok(thread) =
                std::thread::Builder::new().name(format!("{name}-client")).spawn(run)
            {
                places.push(Place { window, thread, ends: false });
            }
        }
    }

    /// Returns `true` if there is a place for one more client. If all places are taken, it ends the
    /// most useless connection, and returns `false` only if all are in use.
    fn has_place(&self, places: &mut [Place]) -> bool {
        let most = self.room.limits().connections;
        if places.iter().filter(|place| !place.ends).count() < most {
            return true;
        }
        let useless = places.iter_mut().filter(|place| !place.ends);
        let useless = useless.filter_map(|place| Some((place.window.useless()?, place)));
        let Some((_, place)) = useless.max_by_key(|(time, _)| *time) else { return false };
        place.window.end();
        place.ends = true;
        true
    }
}

/// Writes replies until all senders are dropped. `encode` writes a reply, and `answered` gives the
/// memory of its request back to the window. After the client is gone, replies are still taken, but
/// not written.
pub fn reply<'a, R>(
    socket: &'a Socket,
    window: &'a Window,
    replies: &Receiver<R>,
    mut encode: impl FnMut(&mut BufWriter<Replies<'a>>, &R) -> io::Result<()>,
    answered: impl Fn(&R),
) {
    let mut out = BufWriter::with_capacity(PIECE, Replies { socket, window });
    let lost = |_: &io::Error| {
        socket.shutdown();
        window.close();
    };
    let mut sent = Ok(());
    loop {
        let reply = match replies.try_recv() {
            Ok(reply) => reply,
            Err(_) => {
                // No reply waits, so the gathered bytes go out.
                if sent.is_ok() {
                    sent = out.flush().inspect_err(lost);
                }
                let Ok(reply) = replies.recv() else { break };
                reply
            }
        };
        if sent.is_ok() {
            sent = encode(&mut out, &reply).inspect_err(lost);
        }
        answered(&reply);
    }
}
