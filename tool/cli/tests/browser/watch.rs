//! What a page must not do: complain, fail, or ask for anything that is not in it.

use serde_json::Value;

/// Whatever is wrong in what Chromium told, in words. `page` is the one address that may be asked for.
pub(crate) fn complaints(events: &[Value], page: &str) -> Vec<String> {
    events.iter().filter_map(|event| complaint(event, page)).collect()
}

fn complaint(event: &Value, page: &str) -> Option<String> {
    let params = &event["params"];
    match event["method"].as_str()? {
        "Runtime.exceptionThrown" => Some(format!("not caught: {}", params["exceptionDetails"])),
        "Runtime.consoleAPICalled" if is_serious(&params["type"]) => Some(format!("console: {}", params["args"])),
        "Log.entryAdded" if is_serious(&params["entry"]["level"]) => Some(format!("log: {}", params["entry"])),
        "Network.requestWillBeSent" => asked_for(params["request"]["url"].as_str()?, page),
        "Network.webSocketCreated" | "Network.webTransportCreated" => Some(format!("connects: {}", params["url"])),
        "Inspector.targetCrashed" => Some("the page has crashed".to_owned()),
        _ => None,
    }
}

fn is_serious(level: &Value) -> bool {
    ["warning", "error", "assert"].iter().any(|serious| level == serious)
}

/// What stands in the page itself is no request, though Chromium tells of it as of one.
fn asked_for(url: &str, page: &str) -> Option<String> {
    let is_within = url == page || url.starts_with("data:") || url.starts_with("blob:");
    (!is_within).then(|| format!("asks for {url}"))
}
