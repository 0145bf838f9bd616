//! Threads that compute, allocate, wait for one another and contend, in Rust, for as many seconds as the argument says. No
//! truth of its own: gdb and the benchmarks of stacks look at its stacks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

fn words(seed: u64, count: u64) -> Vec<String> {
    (0..count).map(|n| format!("{:x}", seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(n as u32 % 64))).collect()
}

fn count(words: Vec<String>, table: &Mutex<BTreeMap<String, u64>>) -> u64 {
    let mut sorted = words;
    sorted.sort_by(|a, b| b.cmp(a));
    let mut table = table.lock().unwrap();
    for word in &sorted {
        *table.entry(word[..2].to_owned()).or_default() += 1;
    }
    sorted.iter().map(|word| word.len() as u64).sum()
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(3);
    let end = Instant::now() + Duration::from_secs(seconds);
    let table = Arc::new(Mutex::new(BTreeMap::new()));
    let (sender, receiver) = mpsc::sync_channel::<Vec<String>>(4);
    let receiver = Arc::new(Mutex::new(receiver));
    let workers: Vec<_> = (0..2)
        .map(|_| {
            let (table, receiver) = (Arc::clone(&table), Arc::clone(&receiver));
            std::thread::spawn(move || {
                let mut total = 0;
                loop {
                    let next = receiver.lock().unwrap().recv();
                    match next {
                        Ok(words) => total += count(words, &table),
                        Err(_) => return total,
                    }
                }
            })
        })
        .collect();
    for seed in 1.. {
        if Instant::now() >= end {
            break;
        }
        sender.send(words(seed, 300)).unwrap();
    }
    drop(sender);
    let total: u64 = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
    println!("{total}");
}
