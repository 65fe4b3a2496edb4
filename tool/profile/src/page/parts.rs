//! What stands in several places of the page.

use crate::flamegraph::class_of;
use crate::names::shown;
use crate::profile::State;
use crate::words::{percent, state_of};
use maud::{Markup, html};
use ondeck_kit::wording::plain;

/// A command of ours, which a script can copy.
pub(super) fn command_box(command: &str) -> Markup {
    html! { div.command { pre { code { (plain(command)) } } } }
}

/// Sentences of ours, in which names stand between backticks.
pub(super) fn prose(text: &str) -> Markup {
    html! {
        @for (index, part) in plain(text).split('`').enumerate() {
            @if index % 2 == 1 { code.name { bdi { (part) } } } @else { (part) }
        }
    }
}

/// A name from the profile, set apart from the text around it.
pub(super) fn name(text: &str) -> Markup {
    html! { code.name { bdi { (shown(text)) } } }
}

/// A warning, which may have a command.
pub(super) fn noted(text: &str) -> Markup {
    let (said, command) = text.split_once('\n').map_or((text, None), |(said, command)| (said, Some(command)));
    html! {
        (said)
        @if let Some(command) = command { (command_box(command)) }
    }
}

/// States with their colours and parts.
pub(super) fn legend(parts: impl Iterator<Item = (State, f64)>) -> Markup {
    html! {
        p.states-said {
            @for (state, part) in parts { span { b.(class_of(state)) {} (state_of(state)) " " (percent(part)) } " " }
        }
    }
}
