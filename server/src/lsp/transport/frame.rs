//! Messages as bytes: a header with `Content-Length`, a blank line, and so many bytes.

use std::io::{self, BufRead, Read, Write};

/// A longer message is none: no text that is read is that long, however it is escaped.
const LONGEST: u64 = 8 << 30;
/// So many bytes of a line are looked at together where no header is found.
const LONGEST_LINE: usize = 8 << 10;
/// What a header that has come in part needs to be kept.
const HEADER: usize = 64;
/// Room for a body is made as its bytes come: at first for so many, then for as many again.
const FIRST: usize = 64 << 10;

const LENGTH: &[u8] = b"content-length:";

/// The next body; `None` at the end of the input, even in the middle of a message. What is no header
/// is skipped up to the next `Content-Length`, and the log says so. `announced` is told the body's length before it comes.
///
/// # Errors
/// If the input cannot be read.
pub fn read(
    input: &mut impl BufRead,
    announced: impl FnOnce(usize),
) -> io::Result<Option<Vec<u8>>> {
    let (mut length, mut skipped) = (None, 0);
    let mut line = Vec::new();
    loop {
        let kept = line.len();
        input
            .by_ref()
            .take(LONGEST_LINE as u64)
            .read_until(b'\n', &mut line)?;
        let has_ended = line.len() == kept;
        if !has_ended && !line.ends_with(b"\n") && line.len() >= LONGEST_LINE {
            let passed = line.len() - HEADER;
            skipped += passed;
            line.drain(..passed);
            continue;
        }
        let is_blank = line.iter().all(u8::is_ascii_whitespace);
        match header(&line) {
            Header::Length(bytes, before) => {
                length = Some(bytes);
                skipped += before;
            }
            Header::Other => {}
            Header::None => skipped += if is_blank { 0 } else { line.len() },
        }
        if skipped > 0 && (has_ended || is_blank && length.is_some()) {
            tracing::warn!(
                "{skipped} bytes of the input are no header of a message, and were skipped: expected \
                 `Content-Length: N`"
            );
        }
        match length {
            _ if has_ended => return Ok(None),
            Some(length) if is_blank => {
                announced(length);
                return body(input, length);
            }
            _ => line.clear(),
        }
    }
}

enum Header {
    /// The length of the body in bytes, and how many bytes before it are no header.
    Length(usize, usize),
    /// `Content-Type`, which says nothing new.
    Other,
    None,
}

/// What a line says. Behind a body that was longer than its header said, the next header is in the
/// middle of a line.
fn header(line: &[u8]) -> Header {
    let line = line.to_ascii_lowercase();
    if line.starts_with(b"content-type:") {
        return Header::Other;
    }
    let Some(at) = memchr::memmem::rfind(&line, LENGTH) else {
        return Header::None;
    };
    let length = std::str::from_utf8(&line[at + LENGTH.len()..]).ok();
    let length = length.and_then(|length| length.trim().parse::<u64>().ok());
    let length = length.filter(|&length| length <= LONGEST);
    match length.and_then(|length| usize::try_from(length).ok()) {
        Some(length) => Header::Length(length, at),
        None => Header::None,
    }
}

/// A body of `length` bytes in a buffer of that size, in which nothing has been moved about.
fn body(input: &mut impl BufRead, length: usize) -> io::Result<Option<Vec<u8>>> {
    let mut body = Vec::new();
    while body.len() < length {
        let more = (length - body.len()).min(body.len().max(FIRST));
        body.reserve_exact(more);
        if input.by_ref().take(more as u64).read_to_end(&mut body)? < more {
            let found = body.len();
            tracing::warn!("the input ends behind {found} of a message's {length} bytes");
            return Ok(None);
        }
    }
    Ok(Some(body))
}

/// Writes a message.
///
/// # Errors
/// If the output cannot be written.
pub fn write(output: &mut impl Write, body: &[u8]) -> io::Result<()> {
    write!(output, "Content-Length: {}\r\n\r\n", body.len())?;
    output.write_all(body)?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mut input: &[u8]) -> Vec<String> {
        let mut bodies = Vec::new();
        while let Some(body) = read(&mut input, |_| {}).expect("bytes can be read") {
            bodies.push(String::from_utf8(body).expect("a text"));
        }
        bodies
    }

    #[test]
    fn a_message_comes_back_as_it_was_written() {
        let mut bytes = Vec::new();
        for body in ["{}", "", "é"] {
            write(&mut bytes, body.as_bytes()).expect("a vector takes it");
        }
        assert_eq!(all(&bytes), ["{}", "", "é"]);
        // However little of it comes at a time.
        let mut slow = io::BufReader::with_capacity(1, &bytes[..]);
        assert_eq!(
            read(&mut slow, |_| {}).expect("a body").as_deref(),
            Some(&b"{}"[..])
        );
    }

    #[test]
    fn headers_come_in_any_form() {
        let input =
            b"content-LENGTH:2\nContent-Type: application/vscode-jsonrpc; charset=utf-8\n\n{}\
            \r\n\r\n\nContent-Type: x\r\nContent-Length:  2 \r\n\r\n[]";
        assert_eq!(all(input), ["{}", "[]"]);
    }

    #[test]
    fn what_is_no_header_is_skipped_up_to_the_next_length() {
        for noise in [
            "garbage\r\n\r\n",
            "Content-Length: abc\r\n\r\n{}",
            "Content-Length: -2\r\n\r\n{}",
            "Content-Length: 1000000000000000000\r\n\r\n{\"jsonrpc\": 1}\r\n",
            "Content-Length: 99999999999999999999999\r\n\r\n",
            "Content-Length:\r\n\r\n",
            "Content-Type: x\r\n\r\n{}",
            "\0\u{1}é\n: \n",
            &"x".repeat(3 * LONGEST_LINE + 17),
            &format!("{}\n", "Content-Lengt".repeat(LONGEST_LINE)),
        ] {
            let input = format!("{noise}Content-Length: 2\r\n\r\n{{}}Content-Length: 2\r\n\r\n[]");
            assert_eq!(all(input.as_bytes()), ["{}", "[]"], "{noise:.40}");
        }
        for shift in 0..80 {
            let noise = "x".repeat(LONGEST_LINE - shift);
            let input = format!("{noise}Content-Length: 2\r\n\r\n{{}}");
            assert_eq!(all(input.as_bytes()), ["{}"], "{shift}");
        }
    }

    #[test]
    fn a_body_that_does_not_come_takes_no_memory() {
        assert_eq!(all(b"Content-Length: 8000000000\r\n\r\n{"), [""; 0]);
        assert_eq!(all(b"Content-Length: 2"), [""; 0]);
        let mut input = &b"abcdef"[..];
        let body = body(&mut input, 5).expect("bytes").expect("a body");
        assert_eq!((body.capacity(), &*body), (5, &b"abcde"[..]));
    }
}
