//! What `explain` tells first of event loops: which function asks for what they wait for, and how many of their connections are in use.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use tempfile::TempDir;

use crate::first_causes::expect_first;
use crate::harness::Case;
use crate::python::some_interpreter;
use crate::recording::{Recording, needs_recording};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("first_causes::questions_in_a_row", questions_in_a_row),
        Case::new("first_causes::lock_around_a_question", lock_around_a_question),
        Case::new("first_causes::pool_of_one", pool_of_one),
    ]
}

/// A server outside of the recording, which answers each line after 30 ms; its port.
pub fn slow_server() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let port = listener.local_addr()?.port();
    let answer = |mut connection: TcpStream| -> Result<()> {
        let mut questions = BufReader::new(connection.try_clone()?);
        while questions.read_line(&mut String::new())? > 0 {
            thread::sleep(Duration::from_millis(30));
            connection.write_all(b"answer\n")?;
        }
        Ok(())
    };
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            thread::spawn(move || answer(connection));
        }
    });
    Ok(port)
}

/// What is recorded of a script that asks the server.
fn of_client(script: &str) -> Result<Recording> {
    needs_recording()?;
    let (folder, python, port) = (TempDir::new()?, some_interpreter()?, slow_server()?.to_string());
    let file = folder.path().join("client.py");
    fs::write(&file, script)?;
    Recording::of(&[], &[&python.display().to_string(), &file.display().to_string(), &port])
}

const IN_A_ROW: &str = "
import asyncio, sys
async def look_up(row):
    reader, writer = await asyncio.open_connection('127.0.0.1', int(sys.argv[1]))
    question = ','.join(str(row * number) for number in range(2000))
    writer.write(question.encode() + b'\\n')
    answer = await reader.readline()
    writer.close()
    return answer
async def load_all():
    return [await look_up(row) for row in range(50)]
asyncio.run(load_all())
";

/// Each is awaited before the next one is asked: the loop's stack says nothing of that.
fn questions_in_a_row() -> Result<()> {
    let named = ["Between these waits it ran mostly look_up (client.py:", "for one thing at a time"];
    expect_first(&of_client(IN_A_ROW)?, "outside", 1.2, &named)
}

const LOCKED: &str = "
import asyncio, sys
async def ask(lock, reader, writer):
    for row in range(12):
        async with lock:
            question = ','.join(str(row * number) for number in range(2000))
            writer.write(question.encode() + b'\\n')
            await reader.readline()
async def main():
    lock = asyncio.Lock()
    connections = [await asyncio.open_connection('127.0.0.1', int(sys.argv[1])) for _ in range(5)]
    await asyncio.gather(*(ask(lock, *connection) for connection in connections))
asyncio.run(main())
";

/// Of five connections one is in use at a time: no limit of theirs.
fn lock_around_a_question() -> Result<()> {
    let named = ["Between these waits it ran mostly ask", "Of the 5 connections"];
    expect_first(&of_client(LOCKED)?, "outside", 1.4, &named)
}

const POOL_OF_ONE: &str = "
import asyncio, sys
async def load(pool, row):
    reader, writer = await pool.get()
    question = ','.join(str(row * number) for number in range(2000))
    writer.write(question.encode() + b'\\n')
    await reader.readline()
    pool.put_nowait((reader, writer))
async def main():
    pool = asyncio.Queue()
    pool.put_nowait(await asyncio.open_connection('127.0.0.1', int(sys.argv[1])))
    await asyncio.gather(*(load(pool, row) for row in range(60)))
asyncio.run(main())
";

/// Sixty tasks ask at once, over one connection: nobody asks this process, and its loop is not idle.
fn pool_of_one() -> Result<()> {
    let named = ["Between these waits it ran mostly load", "let more in (a pool"];
    expect_first(&of_client(POOL_OF_ONE)?, "outside", 1.4, &named)
}
