//! The picture of a trace in the page: as it is, without a script.

use crate::drawing::lanes_in_page;
use crate::timeline::Lanes;
use maud::{Markup, PreEscaped, html};
use ondeck_kit::page::json;

pub(super) fn section(lanes: &Lanes) -> Markup {
    let alternative = format!("{}. {}", lanes.title, lanes.text);
    html! {
        section.timeline id={ "fig-" (lanes.id) } {
            h3 { (lanes.title) }
            p.caption { (lanes.caption) }
            // Written by a library that escapes all text.
            div.lanes tabindex="0" role="region" aria-label={ "Picture: " (lanes.title) } {
                (PreEscaped(lanes_in_page(lanes, &alternative)))
            }
            script type="application/json" { (PreEscaped(json(lanes))) }
            details.data {
                summary { "In words and numbers" }
                p.text { (lanes.text) }
                (lanes.table().html(&lanes.title))
            }
        }
    }
}
