//! Profiles for OpenTelemetry, and the way to its collectors.

use ondeck_profile::{Profile, otlp};
use ondeck_report::output::reason;
use std::time::Duration;
use ureq::{Agent, Error};

/// So long OpenTelemetry's own exporters wait, too. Nothing is recorded meanwhile for a snapshot.
const PATIENCE: Duration = Duration::from_secs(10);

/// The profile as a message of OTLP, from this machine.
pub(super) fn message(profile: &Profile) -> Vec<u8> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let known = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let service = std::env::var("OTEL_SERVICE_NAME").unwrap_or_default();
    otlp::write(profile, &otlp::Origin { service: known(&service), host: known(&host) })
}

/// Sends a message to a collector. The error is one line.
pub(super) fn send(url: &str, message: &[u8]) -> Result<(), String> {
    let config = Agent::config_builder().timeout_global(Some(PATIENCE)).http_status_as_error(false).max_redirects(0);
    // A plain connection is one within a machine or a network: no proxy leads there.
    let agent = Agent::new_with_config(config.proxy(None).build());
    let failed = |error: Error| match error {
        Error::Io(error) => format!("--otlp: {url} cannot be reached: {}", reason(&error)),
        error => format!("--otlp: {url} cannot be reached: {error}"),
    };
    let mut answer = agent.post(url).content_type("application/x-protobuf").send(message).map_err(failed)?;
    let status = answer.status();
    if !status.is_success() {
        return Err(format!("--otlp: {url} answered {status}"));
    }
    // That is an answer already: what cannot be read of it is no failure.
    let answer = answer.body_mut().read_to_vec().unwrap_or_default();
    otlp::rejection(&answer).map_or(Ok(()), |what| Err(format!("--otlp: {url}: {what}")))
}
