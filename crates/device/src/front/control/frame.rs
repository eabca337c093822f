//! Frames: a length, a number and a body. What has begun must end in time, however slowly the other
//! side goes, and no length makes room for bytes that have not come.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use crate::front::socket::Socket;

/// Bytes of a header.
const HEADER: usize = 8;

/// A frame: the kind of a request or the status of an answer, and its body.
pub(super) type Frame = (u16, Vec<u8>);

/// A connection until a deadline.
struct Until<'a> {
    socket: &'a Socket,
    deadline: Instant,
}

impl Until<'_> {
    fn left(&self) -> io::Result<Option<Duration>> {
        match self.deadline.checked_duration_since(Instant::now()) {
            Some(left) if !left.is_zero() => Ok(Some(left)),
            _ => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

impl Read for Until<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.socket.set_patience(self.left()?)?;
        (&mut &*self.socket).read(into).map_err(timed_out)
    }
}

impl Write for Until<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.socket.set_patience(self.left()?)?;
        (&mut &*self.socket).write(data).map_err(timed_out)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A socket that loses its patience says that it would block.
fn timed_out(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => error,
    }
}

/// Reads a frame, of which the first byte may come after `idle` (`None`: whenever it likes) and the rest
/// within `patience` of it. None: the other side is done.
pub(super) fn read(
    socket: &Socket,
    longest: usize,
    idle: Option<Duration>,
    patience: Duration,
) -> io::Result<Option<Frame>> {
    let mut header = [0; HEADER];
    socket.set_patience(idle)?;
    let begun = loop {
        match (&mut &*socket).read(&mut header) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            begun => break begun.map_err(timed_out)?,
        }
    };
    if begun == 0 {
        return Ok(None);
    }
    let mut rest = Until { socket, deadline: Instant::now() + patience };
    rest.read_exact(&mut header[begun..])?;
    let [a, b, c, d, low, high, zeros @ ..] = header;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    if zeros != [0, 0] || length > longest {
        let text = format!("no frame: it says {length} bytes, expected at most {longest}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    let mut body = Vec::new();
    rest.take(length as u64).read_to_end(&mut body)?;
    if body.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some((u16::from_le_bytes([low, high]), body)))
}

/// Writes a frame, which is read within `patience`.
pub(super) fn write(
    socket: &Socket,
    number: u16,
    body: &[u8],
    patience: Duration,
) -> io::Result<()> {
    let length = u32::try_from(body.len())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a frame of 4 GiB"))?;
    let mut frame = Vec::with_capacity(HEADER + body.len());
    frame.extend(length.to_le_bytes());
    frame.extend(number.to_le_bytes());
    frame.extend([0, 0]);
    frame.extend(body);
    Until { socket, deadline: Instant::now() + patience }.write_all(&frame)
}
