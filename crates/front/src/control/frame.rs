//! Frames: a length, a number and a body. A frame that has begun must end in time. Memory grows
//! with the bytes received, whatever length the header claims.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use crate::socket::{Socket, Until, timed_out};

/// The size of a header in bytes.
const HEADER: usize = 8;

/// A frame: the kind of a request or the status of an answer, and its body.
pub(super) type Frame = (u16, Vec<u8>);

/// Reads a frame. Its first byte must arrive within `idle` (`None`: at any time), and the rest
/// within `patience` after that. Returns `None` if the other side has closed the connection.
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

/// Writes a frame, which the other side must read within `patience`.
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
