//! One page in one window: what a reader does with it, and what is seen of it.

use crate::chromium::Chromium;
use crate::watch;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::path::Path;

/// Functions that every expression of a test can use.
const HELPERS: &str = include_str!("helpers.js");

/// How a window is set up before a page is opened in it.
#[derive(Clone, Copy)]
pub(crate) struct Window {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Device pixels per pixel of the page: what magnification in the browser changes, as it makes the page narrower.
    pub(crate) magnification: f64,
    pub(crate) scripts: bool,
}

pub(crate) const WIDE: Window = Window { width: 1280, height: 900, magnification: 1.0, scripts: true };
pub(crate) const PHONE: Window = Window { width: 360, height: 740, magnification: 1.0, scripts: true };

/// A point of the window, in pixels of the page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

pub(crate) struct Tab {
    chromium: Chromium,
    line: String,
    url: String,
    /// Somebody has asked what the page complained of.
    is_judged: bool,
}

impl Tab {
    /// Opens a page and waits until it has been loaded; of what it then draws, nothing is known yet.
    pub(crate) fn open(page: &Path, window: Window) -> Self {
        let mut chromium = Chromium::start();
        let whole = |chromium: &mut Chromium, method: &str, params: &Value| {
            chromium.call(None, method, params).unwrap_or_else(|error| panic!("{error}"))
        };
        let target = whole(&mut chromium, "Target.createTarget", &json!({"url": "about:blank"}));
        let line = json!({"targetId": target["targetId"], "flatten": true});
        let line = whole(&mut chromium, "Target.attachToTarget", &line);
        let line = line["sessionId"].as_str().expect("a line to a tab has a name").to_owned();
        let url = format!("file://{}", escaped(page));
        let mut tab = Self { chromium, line, url, is_judged: false };
        for domain in ["Page", "Runtime", "Log", "Network", "Inspector", "Accessibility"] {
            tab.call(&format!("{domain}.enable"), json!({}));
        }
        tab.resize(window);
        tab.call("Emulation.setScriptExecutionDisabled", json!({"value": !window.scripts}));
        let opened = tab.call("Page.navigate", json!({"url": tab.url}));
        assert!(opened["errorText"].is_null(), "{}: {}", page.display(), opened["errorText"]);
        tab.chromium.wait_for("Page.loadEventFired");
        tab
    }

    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.try_call(method, params).unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) fn try_call(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.chromium.call(Some(&self.line), method, &params)
    }

    /// Value of an expression in the page, or of the promise that it is.
    pub(crate) fn eval<T: DeserializeOwned>(&mut self, expression: &str) -> T {
        let expression = format!("(() => {{ {HELPERS}\nreturn ({expression}\n); }})()");
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut outcome = self.call("Runtime.evaluate", params);
        let failure = &outcome["exceptionDetails"];
        assert!(failure.is_null(), "{failure}\nin {expression}");
        let value = outcome["result"]["value"].take();
        serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}\nin {expression}"))
    }

    /// Waits, frame by frame, until the expression is true.
    pub(crate) fn until(&mut self, expression: &str) {
        let came: bool = self.eval(&format!("until(() => ({expression}))"));
        assert!(came, "this did not come true within ten seconds: {expression}");
    }

    /// The data that the page of a profile carries.
    pub(crate) fn report(&mut self) -> Value {
        self.eval("JSON.parse(document.getElementById('report').textContent)")
    }

    pub(crate) fn resize(&mut self, window: Window) {
        let Window { width, height, magnification, .. } = window;
        let size = json!({"width": width, "height": height, "deviceScaleFactor": magnification, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Makes the page believe in a medium, `screen` or `print`, and in a preference, `light` or `dark`.
    pub(crate) fn media(&mut self, medium: &str, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"media": medium, "features": features}));
        self.eval::<bool>("frames(2)");
    }

    /// Brings the first element that matches into the window and gives its rectangle: left, top, width, height.
    pub(crate) fn rectangle(&mut self, selector: &str) -> [f64; 4] {
        let selector = Value::from(selector);
        self.eval(&format!("rectangle(document.querySelector({selector}))"))
    }

    pub(crate) fn middle(&mut self, selector: &str) -> Spot {
        let [left, top, width, height] = self.rectangle(selector);
        assert!(width > 0.0 && height > 0.0, "{selector} cannot be seen");
        Spot { x: left + width / 2.0, y: top + height / 2.0 }
    }

    fn mouse(&mut self, kind: &str, spot: Spot, pressed: bool) {
        let (button, buttons) = if pressed { ("left", 1) } else { ("none", 0) };
        let event =
            json!({"type": kind, "x": spot.x, "y": spot.y, "button": button, "buttons": buttons, "clickCount": 1});
        self.call("Input.dispatchMouseEvent", event);
    }

    pub(crate) fn hover(&mut self, spot: Spot) {
        self.mouse("mouseMoved", spot, false);
    }

    /// Clicks on the middle of an element as a mouse does.
    pub(crate) fn click(&mut self, selector: &str) {
        let spot = self.middle(selector);
        self.hover(spot);
        self.mouse("mousePressed", spot, true);
        self.mouse("mouseReleased", spot, true);
        self.eval::<bool>("frames(2)");
    }

    /// Strikes a key by its name in the standard of key values.
    pub(crate) fn strike(&mut self, key: &str) {
        let (code, number, text) = match key {
            "Tab" => (key, 9, ""),
            "Enter" => (key, 13, "\r"),
            "Escape" => (key, 27, ""),
            " " => ("Space", 32, " "),
            "End" => (key, 35, ""),
            "Home" => (key, 36, ""),
            "ArrowLeft" => (key, 37, ""),
            "ArrowUp" => (key, 38, ""),
            "ArrowRight" => (key, 39, ""),
            "ArrowDown" => (key, 40, ""),
            "+" => ("NumpadAdd", 107, "+"),
            "0" => ("Digit0", 48, "0"),
            _ => panic!("no test strikes {key}"),
        };
        let event =
            |kind: &str| json!({"type": kind, "key": key, "code": code, "windowsVirtualKeyCode": number, "text": text});
        self.call("Input.dispatchKeyEvent", event("keyDown"));
        self.call("Input.dispatchKeyEvent", event("keyUp"));
        self.eval::<bool>("frames(2)");
    }

    /// Types a text where the focus is.
    pub(crate) fn write(&mut self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
        self.eval::<bool>("frames(2)");
    }

    /// A picture of a rectangle of the page (left, top, width, height), as large on the picture as `scale` says.
    pub(crate) fn picture(&mut self, [x, y, width, height]: [f64; 4], scale: f64) -> Vec<u8> {
        let clip = json!({"x": x, "y": y, "width": width, "height": height, "scale": scale});
        let params = json!({"format": "png", "captureBeyondViewport": true, "clip": clip});
        let picture = self.call("Page.captureScreenshot", params);
        decoded(&picture)
    }

    /// The page as it is printed, with what the reader's printer would be told.
    pub(crate) fn print(&mut self) -> Vec<u8> {
        let printed = self.call("Page.printToPDF", json!({"printBackground": false, "preferCSSPageSize": true}));
        decoded(&printed)
    }

    /// Everything that should not have happened since the page was opened.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        // Whatever an earlier action set off has been told before this is answered.
        let _ = self.try_call("Runtime.evaluate", json!({"expression": "1"}));
        self.is_judged = true;
        watch::complaints(self.chromium.events(), &self.url)
    }
}

impl Drop for Tab {
    /// Whatever a test is about, its page must not have complained.
    fn drop(&mut self) {
        if !self.is_judged && !std::thread::panicking() {
            assert_eq!(self.complaints(), Vec::<String>::new(), "{}", self.url);
        }
    }
}

fn decoded(outcome: &Value) -> Vec<u8> {
    BASE64_STANDARD.decode(outcome["data"].as_str().expect("it has data")).expect("it is Base64")
}

/// The path as part of an address.
fn escaped(path: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte);
    let letter = |byte: &u8| if plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") };
    path.to_str().expect("a path that is text").bytes().map(|byte| letter(&byte)).collect()
}
