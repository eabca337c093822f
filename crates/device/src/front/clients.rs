//! The connections of a server: each has a thread, and all end with the server.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::socket::{Listener, Socket};

/// Connections at a time; more are closed at once.
const MOST: usize = 64;

/// What both the thread that accepts and who stops it see.
struct Shared {
    listener: Listener,
    stopping: AtomicBool,
    connections: Mutex<Vec<(Socket, JoinHandle<()>)>>,
}

/// A listener with its threads. Dropped, it closes all connections and waits for their threads.
pub struct Clients {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Clients {
    /// Runs `serve` for everyone who connects. What it returns is the client's fault: it is gone, or
    /// does not speak the protocol. Threads have the name `name`.
    pub fn start(
        listener: Listener,
        name: &'static str,
        serve: impl Fn(&Socket) -> io::Result<()> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let connections = Mutex::default();
        let shared = Arc::new(Shared { listener, stopping: AtomicBool::new(false), connections });
        let accept = {
            let shared = Arc::clone(&shared);
            move || shared.accept(name, &Arc::new(serve))
        };
        let thread = std::thread::Builder::new().name(name.into()).spawn(accept)?;
        Ok(Self { shared, thread: Some(thread) })
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.shared.stopping.store(true, Ordering::SeqCst);
        self.shared.listener.close();
        let _ = thread.join();
        let mut connections =
            self.shared.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let connections = std::mem::take(&mut *connections);
        for (socket, _) in &connections {
            socket.shutdown();
        }
        for (_, thread) in connections {
            let _ = thread.join();
        }
    }
}

/// Closes the connection also where its thread dies.
struct Closing(Socket);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.shutdown();
    }
}

impl Shared {
    /// Accepts connections until the server stops.
    fn accept<F>(&self, name: &str, serve: &Arc<F>)
    where
        F: Fn(&Socket) -> io::Result<()> + Send + Sync + 'static,
    {
        while !self.stopping.load(Ordering::SeqCst) {
            let Ok(socket) = self.listener.accept() else {
                // Out of file descriptors, say: what is connected goes on.
                std::thread::sleep(Duration::from_millis(10));
                continue;
            };
            let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
            connections.retain(|(_, thread)| !thread.is_finished());
            if connections.len() >= MOST {
                continue;
            }
            let Ok(kept) = socket.try_clone() else { continue };
            let (serve, socket) = (Arc::clone(serve), Closing(socket));
            let run = move || drop(serve(&socket.0));
            if let Ok(thread) =
                std::thread::Builder::new().name(format!("{name}-client")).spawn(run)
            {
                connections.push((kept, thread));
            }
        }
    }
}
