//! Rust's reqwest with the command line of C/limit.c: MODE URL name=value…

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

struct Options {
    mode: String,
    url: String,
    file: String,
    in_flight: usize,
    count: i64,
    seconds: f64,
    warm_up: f64,
    http2: bool,
    closes: bool,
}

fn options() -> Options {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() < 3 {
        eprintln!("MODE URL [in-flight=N seconds=S warm-up=S count=N file=PATH http2=1 close=1]");
        std::process::exit(2);
    }
    let mut o = Options {
        mode: arguments[1].clone(),
        url: arguments[2].clone(),
        file: String::new(),
        in_flight: 1,
        count: 0,
        seconds: 2.0,
        warm_up: 0.3,
        http2: false,
        closes: false,
    };
    for argument in &arguments[3..] {
        let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
        match name {
            "in-flight" => o.in_flight = value.parse().unwrap_or(1),
            "seconds" => o.seconds = value.parse().unwrap_or(2.0),
            "warm-up" => o.warm_up = value.parse().unwrap_or(0.3),
            "count" => o.count = value.parse().unwrap_or(0),
            "file" => o.file = value.to_string(),
            "http2" => o.http2 = value == "1",
            "close" => o.closes = value == "1",
            _ => {}
        }
    }
    if o.mode == "hold" {
        o.count = o.in_flight as i64;
    }
    o
}

/// A line of /proc/self/status, in KiB.
fn status(name: &str) -> i64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    text.lines()
        .find(|line| line.starts_with(name))
        .and_then(|line| line.split_whitespace().nth(1))
        .and_then(|value| value.parse().ok())
        .unwrap_or(0)
}

/// User and system time of the process, from /proc in ticks of a hundredth of a second.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

#[derive(Default)]
struct Tally {
    started: AtomicI64,
    succeeded: AtomicI64,
    failed: AtomicI64,
    bytes: AtomicI64,
    over: AtomicBool,
    error: Mutex<String>,
}

#[derive(serde::Deserialize)]
#[allow(dead_code)]
struct Item {
    id: i64,
    name: String,
    score: f64,
    #[serde(rename = "isActive")]
    is_active: bool,
    tags: Vec<String>,
}

async fn once(client: &reqwest::Client, o: &Options, url: String) -> Result<i64, Box<dyn std::error::Error + Send + Sync>> {
    let mut request = client.get(url.clone());
    let mut sent = 0;
    if o.mode == "upload" {
        let data = tokio::fs::read(&o.file).await?;
        sent = data.len() as i64;
        request = client.put(url).body(data);
    }
    if o.closes {
        request = request.header("Connection", "close");
    }
    let mut response = request.send().await?.error_for_status()?;
    if o.mode == "json" {
        return Ok(response.json::<Vec<Item>>().await?.len() as i64);
    }
    let mut received = 0;
    while let Some(chunk) = response.chunk().await? {
        received += chunk.len() as i64;
    }
    Ok(if sent > 0 { sent } else { received })
}

#[tokio::main]
async fn main() {
    let o = Arc::new(options());
    let mut builder = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(o.in_flight);
    if !o.http2 {
        builder = builder.http1_only();
    }
    let client = builder.build().expect("a client");
    let tally = Arc::new(Tally::default());
    let rss_before = status("VmRSS:");
    let (mut began, mut cpu_before) = (Instant::now(), cpu_seconds());
    let mut workers = Vec::new();
    for _ in 0..o.in_flight {
        let (o, client, tally) = (o.clone(), client.clone(), tally.clone());
        workers.push(tokio::spawn(async move {
            while !tally.over.load(Relaxed) {
                let number = tally.started.fetch_add(1, Relaxed) + 1;
                if o.count > 0 && number > o.count {
                    return;
                }
                // Another URL each time, as in the other clients.
                let result = once(&client, &o, format!("{}?{}", o.url, number)).await;
                if tally.over.load(Relaxed) {
                    return;
                }
                match result {
                    Ok(bytes) => {
                        tally.succeeded.fetch_add(1, Relaxed);
                        tally.bytes.fetch_add(bytes, Relaxed);
                    }
                    Err(error) => {
                        tally.failed.fetch_add(1, Relaxed);
                        *tally.error.lock().unwrap() = error.to_string();
                    }
                }
            }
        }));
    }
    if o.count == 0 {
        tokio::time::sleep(Duration::from_secs_f64(o.warm_up)).await;
        tally.succeeded.store(0, Relaxed);
        tally.bytes.store(0, Relaxed);
        began = Instant::now();
        cpu_before = cpu_seconds();
        tokio::time::sleep(Duration::from_secs_f64(o.seconds)).await;
    } else {
        for worker in workers {
            let _ = worker.await;
        }
    }
    let (seconds, cpu) = (began.elapsed().as_secs_f64(), cpu_seconds() - cpu_before);
    tally.over.store(true, Relaxed);
    println!(
        "{{\"client\": \"reqwest\", \"requests\": {}, \"failures\": {}, \"seconds\": {}, \"cpu\": {}, \"bytes\": {}, \"rss_before_kb\": {}, \"rss_peak_kb\": {}, \"error\": {:?}}}",
        tally.succeeded.load(Relaxed), tally.failed.load(Relaxed), seconds, cpu, tally.bytes.load(Relaxed),
        rss_before, status("VmHWM:"), tally.error.lock().unwrap().clone()
    );
}
