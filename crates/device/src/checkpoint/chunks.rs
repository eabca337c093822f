//! Stores the bytes of a checkpoint in chunks of up to 64 KiB, each with a check sum. The header of
//! a chunk can name a run of equal bytes that precedes the chunk. Such a run takes no room. So the
//! parts of a large drive that were never written cost nothing.

use std::io;

use crate::codec::{Get, Put, crc};
use crate::media::Media;

pub(super) const MAGIC: u32 = 0x3243_4746; // "FGC2"
const CHUNK: usize = 1 << 16;
const HEADER: usize = 32;
/// The least number of equal bytes that is stored as a run.
const LEAST_RUN: usize = 1 << 13;

/// Returns the most bytes that a stream of `stream` bytes takes in chunks.
pub(super) fn most_bytes(stream: u64) -> u64 {
    // A run has at least LEAST_RUN bytes, and costs at most one more header.
    let cuts = stream.div_ceil((CHUNK - HEADER) as u64) + stream / LEAST_RUN as u64 + 2;
    stream + cuts * HEADER as u64
}

/// Cuts the bytes that are put into it into chunks, and writes these.
#[derive(Debug)]
pub(super) struct Sink {
    tag: u32,
    begin: u64,
    at: u64,
    end: u64,
    /// The header and the bytes of the next chunk.
    buffer: Vec<u8>,
    /// The number of equal bytes before the next chunk.
    run: u64,
    fill: u8,
    index: u32,
    sum: u32,
}

impl Sink {
    /// Returns a sink that writes from `at` on, and not beyond `end`.
    pub(super) fn new(tag: u32, at: u64, end: u64) -> Self {
        let mut buffer = Vec::with_capacity(CHUNK);
        buffer.resize(HEADER, 0);
        Self { tag, begin: at, at, end, buffer, run: 0, fill: 0, index: 0, sum: 0 }
    }

    pub(super) fn put(&mut self, media: &mut dyn Media, mut bytes: &[u8]) -> io::Result<()> {
        if bytes.len() >= LEAST_RUN && is_run(bytes) {
            return self.put_run(media, bytes[0], bytes.len());
        }
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(CHUNK - self.buffer.len()));
            self.buffer.extend_from_slice(now);
            bytes = later;
            if self.buffer.len() == CHUNK {
                self.write_chunk(media)?;
            }
        }
        Ok(())
    }

    /// Puts the same byte `count` times.
    pub(super) fn put_run(
        &mut self,
        media: &mut dyn Media,
        fill: u8,
        count: usize,
    ) -> io::Result<()> {
        if count < LEAST_RUN {
            return self.put(media, &[fill; LEAST_RUN][..count]);
        }
        if self.buffer.len() > HEADER || (self.run > 0 && self.fill != fill) {
            self.write_chunk(media)?;
        }
        self.fill = fill;
        self.run += count as u64;
        Ok(())
    }

    /// Writes the last chunk. Returns the number of bytes written, and the check sum of all chunks'
    /// check sums.
    pub(super) fn finish(&mut self, media: &mut dyn Media) -> io::Result<(u64, u32)> {
        if self.buffer.len() > HEADER || self.run > 0 {
            self.write_chunk(media)?;
        }
        Ok((self.at - self.begin, self.sum))
    }

    fn write_chunk(&mut self, media: &mut dyn Media) -> io::Result<()> {
        let len = self.buffer.len();
        if self.at + len as u64 > self.end {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut put = Put::new(&mut self.buffer);
        put.u32(MAGIC).u32(0).u32(self.index).u32(len as u32);
        put.u64(self.run).u64(self.fill.into());
        let sum = crc(self.tag, &self.buffer);
        Put::new(&mut self.buffer[4..]).u32(sum);
        self.sum = crc(self.sum, &sum.to_le_bytes());
        media.write_at(self.at, &self.buffer)?;
        self.at += len as u64;
        self.index += 1;
        self.run = 0;
        self.buffer.truncate(HEADER);
        Ok(())
    }
}

/// Reads the chunks back.
pub(super) struct Source<'a> {
    media: &'a dyn Media,
    tag: u32,
    at: u64,
    end: u64,
    chunk: Vec<u8>,
    /// The number of bytes of the chunk that were taken.
    read: usize,
    /// The number of bytes left of the run before the chunk.
    run: u64,
    fill: u8,
    index: u32,
    sum: u32,
}

impl<'a> Source<'a> {
    /// Returns a source of the chunks between `at` and `end`.
    pub(super) fn new(media: &'a dyn Media, tag: u32, at: u64, end: u64) -> Self {
        Self { media, tag, at, end, chunk: vec![], read: 0, run: 0, fill: 0, index: 0, sum: 0 }
    }

    /// Returns the check sum of all chunks' check sums, or `None` if bytes are left to read.
    pub(super) fn sum(&self) -> Option<u32> {
        let is_done = self.at == self.end && self.run == 0 && self.read == self.chunk.len();
        is_done.then_some(self.sum)
    }

    fn read_chunk(&mut self) -> io::Result<()> {
        let index = self.index;
        let damaged = || {
            let text = format!("chunk {index} is damaged");
            Err(io::Error::new(io::ErrorKind::InvalidData, text))
        };
        let left = (self.end - self.at).min(CHUNK as u64) as usize;
        if left < HEADER {
            return damaged();
        }
        self.chunk.resize(left, 0);
        self.media.read_at(self.at, &mut self.chunk)?;
        let mut get = Get::new(&self.chunk);
        let (magic, sum, number, len) = (get.u32(), get.u32(), get.u32(), get.u32() as usize);
        let (run, fill) = (get.u64(), get.u64());
        if (magic, number) != (MAGIC, index) || len < HEADER || len > left || fill > 0xff {
            return damaged();
        }
        self.chunk.truncate(len);
        self.chunk[4..8].fill(0);
        if sum != crc(self.tag, &self.chunk) {
            return damaged();
        }
        (self.sum, self.read) = (crc(self.sum, &sum.to_le_bytes()), HEADER);
        (self.run, self.fill) = (run, fill as u8);
        self.at += len as u64;
        self.index += 1;
        Ok(())
    }
}

impl io::Read for Source<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.run == 0 && self.read == self.chunk.len() {
            if self.at == self.end {
                return Ok(0);
            }
            self.read_chunk()?;
        }
        if self.run > 0 {
            let count = into.len().min(usize::try_from(self.run).unwrap_or(usize::MAX));
            into[..count].fill(self.fill);
            self.run -= count as u64;
            return Ok(count);
        }
        let ready = &self.chunk[self.read..];
        let count = ready.len().min(into.len());
        into[..count].copy_from_slice(&ready[..count]);
        self.read += count;
        Ok(count)
    }
}

/// Returns `true` if `bytes` is not empty and all of them are equal.
fn is_run(bytes: &[u8]) -> bool {
    bytes.split_first().is_some_and(|(_, rest)| rest == &bytes[..rest.len()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::MemMedia;
    use flashgc_base::rng::Stream;
    use std::io::Read;

    /// Puts pieces of noise and runs of one byte, of any length. They are read back, runs take no
    /// room, and a flipped bit anywhere is found.
    #[test]
    fn a_stream_of_noise_and_runs_comes_back_and_damage_is_found() {
        let mut rng = Stream::new(1, "chunks");
        for _ in 0..40 {
            let mut media = MemMedia::new(2 << 20);
            let (mut sink, mut stream, mut noise) = (Sink::new(7, 100, 2 << 20), vec![], 0);
            for _ in 0..rng.below(12) {
                let most = 1 << rng.below(19);
                let count = 1 + rng.below(most) as usize;
                let byte = rng.below(256) as u8;
                match rng.below(3) {
                    0 => sink.put_run(&mut media, byte, count).unwrap(),
                    1 => sink.put(&mut media, &vec![byte; count]).unwrap(),
                    _ => {
                        let bytes: Vec<u8> = (0..count).map(|_| rng.below(256) as u8).collect();
                        sink.put(&mut media, &bytes).unwrap();
                        stream.extend_from_slice(&bytes);
                        noise += count as u64;
                        continue;
                    }
                }
                stream.resize(stream.len() + count, byte);
            }
            let (bytes, sum) = sink.finish(&mut media).unwrap();
            assert!(bytes <= most_bytes(stream.len() as u64));
            assert!(bytes <= noise + 12 * (LEAST_RUN + 3 * HEADER) as u64, "{bytes} of {noise}");
            let read = |media: &MemMedia| {
                let mut source = Source::new(media, 7, 100, 100 + bytes);
                let mut data = Vec::new();
                source.read_to_end(&mut data)?;
                Ok::<_, io::Error>((data, source.sum()))
            };
            assert!(read(&media).unwrap() == (stream, Some(sum)));
            for _ in 0..if bytes == 0 { 0 } else { 20 } {
                let (at, bit) = (100 + rng.below(bytes as u32) as usize, 1 << rng.below(8));
                media.bytes()[at] ^= bit;
                assert_eq!(read(&media).unwrap_err().kind(), io::ErrorKind::InvalidData);
                media.bytes()[at] ^= bit;
            }
        }
    }

    #[test]
    fn a_sink_does_not_write_beyond_its_end() {
        let mut media = MemMedia::new(1 << 20);
        let mut sink = Sink::new(7, 0, 1 << 17);
        let written = sink.put(&mut media, &(0..=255).cycle().take(1 << 18).collect::<Vec<u8>>());
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert!(media.image()[1 << 17..].iter().all(|&byte| byte == 0));
    }
}
