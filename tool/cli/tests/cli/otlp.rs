//! `ondeck profile --otlp`: what a collector gets, and what is said if it does not take it.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

use crate::support::programs::{compiled, library};
use crate::support::{Scratch, command, refused};
use opentelemetry_proto::tonic::collector::profiles::v1development::{
    ExportProfilesPartialSuccess, ExportProfilesServiceRequest, ExportProfilesServiceResponse,
};
use prost::Message;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Output;
use std::thread::JoinHandle;

/// A server for one request: its address, and what it is sent, head and body.
fn server(status: &'static str, answer: Vec<u8>) -> (String, JoinHandle<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serve = move || {
        let (stream, _) = listener.accept().unwrap();
        let request = request(&stream);
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", answer.len());
        (&stream).write_all(&[head.as_bytes(), &answer].concat()).unwrap();
        request
    };
    (url, std::thread::spawn(serve))
}

fn request(stream: &TcpStream) -> (String, Vec<u8>) {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
    }
    let head = head.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("a length");
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    (head, body)
}

/// The program of the other tests, whose exit code is 7, with this flag.
fn profile(target: &str) -> Output {
    let arguments =
        ["profile", "--library", library(), "--rate", "1", "--otlp", target, "--", &compiled("waiters.c", &[])];
    // Somebody who runs tests behind a proxy has it here.
    command(&arguments).env("OTEL_SERVICE_NAME", "shop").env("HTTP_PROXY", "http://127.0.0.1:9").output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Locks, services and sample types of a message.
fn checked(message: &[u8]) {
    let request = ExportProfilesServiceRequest::decode(message).unwrap();
    let dictionary = request.dictionary.unwrap();
    assert!(dictionary.string_table.iter().any(|text| text == "hold"), "{:?}", dictionary.string_table);
    let resource = format!("{:?}", request.resource_profiles[0].resource);
    assert!(resource.contains("\"shop\"") && resource.contains("host.name"), "{resource}");
    let first = &request.resource_profiles[0].scope_profiles[0].profiles[0];
    let kind = first.sample_type.as_ref().unwrap().type_strindex;
    assert_eq!(dictionary.string_table[kind as usize], "delay");
    assert!(first.samples.iter().flat_map(|sample| &sample.values).sum::<i64>() > 1_000_000, "{first:?}");
}

#[test]
fn a_collector_gets_the_profile() {
    let (url, server) = server("200 OK", Vec::new());
    let run = profile(&url);
    assert_eq!(run.status.code(), Some(7), "{}", stderr(&run));
    let (head, body) = server.join().unwrap();
    assert!(head.starts_with("post /v1development/profiles http/1.1\r\n"), "{head}");
    assert!(head.contains("\r\ncontent-type: application/x-protobuf\r\n"), "{head}");
    checked(&body);
}

#[test]
fn a_file_has_the_same() {
    let scratch = Scratch::new();
    let file = scratch.path("a.pb");
    let run = profile(&file);
    assert_eq!(run.status.code(), Some(7), "{}", stderr(&run));
    checked(&std::fs::read(&file).unwrap());
}

/// The list is printed: the run is not lost.
#[test]
fn what_the_collector_says_against_it_is_told() {
    let told = |url: &str, words: &str| {
        let run = profile(url);
        let text = stderr(&run);
        assert_eq!(run.status.code(), Some(1), "{text}");
        let expected = format!("error: --otlp: {url}/v1development/profiles{words}");
        assert!(text.contains(&expected) && text.contains("\nheld\n"), "{expected} is missing in: {text}");
    };
    let (url, broken) = server("500 Internal Server Error", b"no room".to_vec());
    told(&url, " answered 500 Internal Server Error\n");
    broken.join().unwrap();
    let partial = ExportProfilesPartialSuccess { rejected_profiles: 2, error_message: "too old".to_owned() };
    let (url, picky) =
        server("200 OK", ExportProfilesServiceResponse { partial_success: Some(partial) }.encode_to_vec());
    told(&url, ": 2 profiles rejected: too old\n");
    picky.join().unwrap();
    // Nobody listens there any more.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    told(&format!("http://{closed}"), " cannot be reached: Connection refused\n");
}

#[test]
fn other_urls_are_refused_before_the_program_starts() {
    let scratch = Scratch::new();
    let file = scratch.path("started");
    let run = crate::support::ondeck(&["profile", "--library", library(), "--otlp", "https://a", "--", "touch", &file]);
    refused(&run, 2, &["--otlp", "no support for https; accepted: a file name, or http://HOST:PORT"]);
    assert!(!std::path::Path::new(&file).exists());
}
