//! The locks that are taken in both orders.

use super::parts::prose;
use super::stacks::frames;
use crate::findings::lock_order;
use crate::profile::Profile;
use crate::wrappers::Tops;
use maud::{Markup, html};
use ondeck_report::wording::plain;

pub(super) fn section(profile: &Profile, tops: &Tops) -> Markup {
    if profile.order.is_empty() {
        return html! {};
    }
    html! {
        section.part id="order" {
            h2 { "Locks that are taken in both orders" }
            p.caption { "Deadlocks that have not happened yet: they need threads that take these locks at the same time." }
            @for (sentence, stacks) in lock_order::told(profile) {
                article {
                    p { (prose(&sentence)) }
                    @for (line, stack) in &stacks {
                        details.stack {
                            summary { (plain(line)) }
                            (frames(profile, tops, *stack))
                        }
                    }
                }
            }
        }
    }
}
