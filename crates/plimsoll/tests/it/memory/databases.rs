//! Redis and PostgreSQL, as observed.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;

use super::{quiet_load, run_within, serve};

/// Answers with `begin` once, and then with `piece` for ever.
fn endless(mut stream: TcpStream, begin: &[u8], piece: impl Fn(u64) -> Vec<u8>) -> io::Result<()> {
    stream.write_all(begin)?;
    for number in 0.. {
        stream.write_all(&piece(number))?;
    }
    Ok(())
}

#[track_caller]
fn check_redis(begin: &'static str, piece: &'static str, text: &str) {
    let pieces = piece.repeat((64 << 10) / piece.len()).into_bytes();
    let address = serve(move |mut stream| {
        let mut command = [0; 1024];
        let _sent = stream.read(&mut command)?;
        endless(stream, begin.as_bytes(), |_| pieces.clone())
    });
    eprintln!("{begin:?}");
    run_within(
        64,
        &quiet_load(&format!("[targets.cache.observe]\nredis = \"redis://{address}\"\n")),
        &[text],
    );
}

#[test]
fn what_a_redis_answers_is_not_read_beyond_its_limit() {
    let beyond = "more than 1048576 bytes";
    check_redis("$1073741824\r\n", "x", beyond);
    check_redis("*1000000000\r\n", ":1\r\n", beyond);
    check_redis("*1000000000\r\n", "*0\r\n", beyond);
    check_redis("*1\r\n", "*1\r\n", "Redis cannot be queried");
    check_redis("+", "x", beyond);
}

/// A message of the protocol.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
    [&[kind][..], &length, body].concat()
}

#[track_caller]
fn check_postgres(begin: &[u8], piece: impl Fn(u64) -> Vec<u8> + Send + Sync + Clone + 'static, text: &str) {
    let begin = begin.to_vec();
    eprintln!("{}", begin_of(&[&begin[..], &piece(0)].concat()));
    let address = serve(move |mut stream| {
        let mut sent = [0; 4096];
        let _startup = stream.read(&mut sent)?;
        stream.write_all(&[message(b'R', &[0; 4]), message(b'Z', b"I")].concat())?;
        let _query = stream.read(&mut sent)?;
        endless(stream, &begin, piece.clone())
    });
    let url = format!("postgresql://a@{address}/a?sslmode=disable");
    run_within(128, &quiet_load(&format!("[targets.db.observe]\npostgres = \"{url}\"\n")), &[text]);
}

fn begin_of(piece: &[u8]) -> String {
    piece[..piece.len().min(20)].escape_ascii().to_string()
}

#[test]
fn what_a_postgresql_answers_is_not_read_beyond_its_limit() {
    let beyond = "more than 8388608 bytes";
    let many = "more than 100000 rows";
    let one_column = message(b'T', &[&[0, 1][..], b"a\0", &[0; 18]].concat());
    let row = message(b'D', &[&[0, 1, 0, 0, 0, 4][..], b"text"].concat());
    let rows = row.repeat(4_000);
    check_postgres(&one_column, move |_| rows.clone(), many);
    let long_row = message(b'D', &[&[0, 1, 0, 0, 0xfd, 0xe8][..], &[b'x'; 65_000]].concat());
    check_postgres(&one_column, move |_| long_row.clone(), beyond);
    let huge_row = [&one_column[..], b"D\x40\0\0\0\0\x01\x3f\xff\xff\xf6"].concat();
    check_postgres(&huge_row, |_| vec![b'x'; 64 << 10], beyond);
    let huge_error = b"E\x40\0\0\0SERROR\0M";
    check_postgres(huge_error, |_| vec![b'x'; 64 << 10], beyond);
    let notice = message(b'N', b"SNOTICE\0C00000\0Mhello\0\0").repeat(1_000);
    check_postgres(b"", move |_| notice.clone(), beyond);
    let parameters = |batch: u64| {
        (0..1_000).flat_map(|n| message(b'S', format!("{batch}.{n}\0\0").as_bytes())).collect::<Vec<u8>>()
    };
    check_postgres(b"", parameters, beyond);
}
