use super::*;
use crate::made_up;

/// What somebody might call a function who wants to get into the page.
const HOSTILE: [&str; 6] = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script></title>",
    "\"><img src=http://example.com/a.png onerror=alert(3)>",
    "' onmouseover='alert(4)",
    "<!--<script>\u{2028}\u{2029}\u{202e}",
    "line\nbreak\tand\u{0}nothing",
];

/// The page without what is in script and style elements: what a browser shows that runs no scripts.
fn markup(page: &str) -> String {
    let mut rest = page.to_string();
    for (start, end) in [("<script", "</script>"), ("<style", "</style>")] {
        while let Some(from) = rest.find(start) {
            let to = rest[from..].find(end).expect("each element is closed") + from + end.len();
            rest.replace_range(from..to, "");
        }
    }
    rest
}

fn data(page: &str) -> serde_json::Value {
    let (_, after) = page.split_once("id=\"report\">").expect("the page has data");
    let data = after.split_once("</script>").expect("the data end").0;
    serde_json::from_str(data).expect("the data are JSON")
}

/// A profile in which every text is `text`.
fn profile_of(text: &str) -> Profile {
    let mut profile = made_up::server();
    profile.command = vec![text.into(); 3];
    profile.lock = text.into();
    profile.notes = vec![text.into()];
    profile.processes.iter_mut().for_each(|process| process.program = text.into());
    profile.locks.iter_mut().for_each(|lock| lock.name = text.into());
    profile.conditions.iter_mut().for_each(|condition| condition.name = text.into());
    for frame in &mut profile.frames {
        for place in [&mut frame.function, &mut frame.module, &mut frame.file, &mut frame.build_id] {
            *place = text.into();
        }
    }
    profile
}

#[test]
fn what_matters_is_there_without_a_script() {
    let text = markup(&page(&made_up::server()));
    for expected in [
        "<h1>Waiting for locks in mariadbd</h1>",
        "<p class=\"verdict\"><code class=\"name\"><bdi>Query_cache::unlock</bdi></code> (sql_cache.cc:674) holds <code ",
        "for 21.9 us at a time: 86 % of the waiting. Make it shorter.</p></header>",
        "<b class=\"state-6\"></b>held 86 %</span>",
        "Threads waited 12.0 s for locks in 4.0 s.",
        "<h3>Who held it meanwhile</h3>",
        "<li>12 samples were dropped",
        "one acquisition in 64 was recorded",
        "--datadir=/srv/data",
        "<rect width=\"59.2\" height=\"10\" rx=\"2\"></rect></svg><span class=\"beside\">92 %</span>",
        "<a href=\"#lock-0\"><bdi>query_cache+0x18</bdi></a>",
        "30 locks of 33 had no waits",
        "<ul class=\"advice\" aria-label=\"Why threads wait\"><li><code class=\"name\"><bdi>Query_cache::unlock</bdi></code>",
        "Initialised in <code><bdi>Query_cache::init</bdi></code>, <bdi>sql/sql_cache.cc:2512</bdi>; process 4711",
        "For 14 % of the waiting time the lock was free",
        "<span class=\"tag\">inlined</span>",
        "<li class=\"wrapper\"><code><bdi>pthread_mutex_lock</bdi></code>",
        "<dt>mean hold</dt><dd>2.30 us</dd>",
        "<dt>wake-ups</dt><dd>9.75 k</dd>",
        "Half of the waits are shorter than",
        "Not counted above: 22.8 s of waiting on 2 condition variables",
        "<bdi>buf_pool+0x880</bdi>",
        "<td>abruptly",
    ] {
        assert!(text.contains(expected), "{expected} is missing in {text}");
    }
    let order = [
        "id=\"locks\"",
        "id=\"first\"",
        "id=\"flames\"",
        "id=\"time\"",
        "id=\"each\"",
        "id=\"conditions\"",
        "id=\"run\"",
    ];
    let places: Vec<usize> = order.iter().map(|id| text.find(id).expect("it has all parts")).collect();
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn hostile_text_is_text() {
    for text in HOSTILE.iter().map(|text| text.to_string()).chain(["x".repeat(4000)]) {
        let page = page(&profile_of(&text));
        assert_eq!(page.matches("<script").count(), 2, "{text:?} opens a script");
        assert_eq!(page.matches("</script").count(), 2, "{text:?} closes a script");
        assert!(!page.contains(['\u{202e}', '\u{2028}', '\u{0}']), "{text:?}");
        let markup = markup(&page);
        for tag in ["<img", "<!--", "<title></title>"] {
            assert!(!markup.contains(tag), "{text:?} becomes {tag}");
        }
        assert!(page.len() < 3_000_000, "{} bytes", page.len());
        data(&page);
    }
}

#[test]
fn nothing_is_loaded() {
    let page = page(&made_up::server());
    let markup = markup(&page);
    assert!(page.contains("content=\"default-src 'none'; "));
    for attribute in [" src=", " srcset=", "<link", "<iframe", "<object", "<base", "http-equiv=\"refresh\"", "xlink"] {
        assert!(!markup.contains(attribute), "{attribute}");
    }
    assert!(markup.match_indices("href=\"").all(|(at, found)| markup[at + found.len()..].starts_with('#')));
    for loads in ["url(", "@import", "@font-face", "<"] {
        assert!(!STYLES.contains(loads), "the style sheet has {loads}");
    }
    for script in [SCRIPT, flamegraph::SCRIPT] {
        for loads in
            ["fetch(", "XMLHttpRequest", "import", "innerHTML", "insertAdjacentHTML", "eval(", "</script", "<!--"]
        {
            assert!(!script.contains(loads), "the script has {loads}");
        }
    }
}

#[test]
fn a_large_profile_stays_a_page() {
    let began = std::time::Instant::now();
    let page = page(&made_up::large());
    let took = began.elapsed();
    assert!(page.len() < 6_000_000, "{} bytes", page.len());
    println!("{} bytes in {took:.1?}", page.len());
    let text = markup(&page);
    assert_eq!(text.matches("<details class=\"lock\"").count(), MOST_DETAILS);
    assert!(text.contains("The 50 locks with the most waiting. 950 others with less waiting are in the table only."));
    assert_eq!(text.matches("<tr><th").count(), text.matches("<tr>").count(), "a row begins with its name");
}

#[test]
fn programs_that_did_not_wait_have_a_page() {
    for (profile, words) in [
        (made_up::calm(), "If you expected waiting: was there load"),
        (made_up::silent(), "records the C library's locks only"),
    ] {
        let text = markup(&page(&profile));
        assert!(text.contains(words) && !text.contains("id=\"flames\"") && !text.contains("id=\"each\""), "{text}");
    }
}

#[test]
fn the_graphs_of_a_lock_are_in_the_data() {
    let data = data(&page(&made_up::server()));
    let graphs = data["graphs"].as_array().unwrap();
    assert_eq!(graphs.len(), 3);
    let root = &graphs[0][0][0];
    assert_eq!((&root[0], &root[2]), (&0.into(), &11_126_400_000.0.into()));
    let label = root[1].as_u64().unwrap() as usize;
    assert_eq!(data["labels"][label][0], "query_cache+0x18");
    assert_eq!(data["title"], "Waiting for locks in mariadbd");
}

#[test]
fn who_woke_stands_where_nobody_is_known_to_hold() {
    let mut profile = made_up::server();
    profile.lock = words::FROM_KERNEL.to_owned();
    profile.locks.iter_mut().for_each(|lock| lock.wakers = std::mem::take(&mut lock.holders));
    // Who ended its waits is not known.
    profile.locks[1].wakers.clear();
    profile.locks[0].kind = crate::LockKind::RwLock;
    let text = markup(&page(&profile));
    for expected in ["<h3>Who woke the waiting threads</h3>", "<small>rwlock</small>", ">woken by<"] {
        assert!(text.contains(expected), "{expected} is missing in {text}");
    }
    for wrong in ["it meanwhile", "held meanwhile", "Holds by length"] {
        assert!(!text.contains(wrong), "{wrong} stands in {text}");
    }
    let held = markup(&page(&made_up::server()));
    assert!(!held.contains("woke the waiting") && !held.contains("woken by"));
    let heads =
        ["<h3>Who held it meanwhile</h3>", "<h4>Who held it meanwhile</h4>", "data-others=\"Who held it meanwhile\""];
    for expected in heads {
        assert!(held.contains(expected), "{expected} is missing in {held}");
    }
}

/// All of them, folded, and the one command among the warnings.
#[test]
fn files_without_names_are_at_the_end() {
    let mut profile = made_up::server();
    profile.notes = vec![crate::Note::with_command("because 2. Fetch them:", "fetch <a>")];
    profile.notes.extend(["a", "b"].map(|file| format!("{file}: {}", crate::symbols::NO_DEBUG_FILE).into()));
    let text = markup(&page(&profile));
    let (_, end) = text.split_once("id=\"run\"").expect("it has its end");
    for expected in [
        "because 2. Fetch them:<div class=\"command\"><pre><code>fetch &lt;a&gt;</code></pre></div></li>",
        "<details class=\"data\"><summary>2 files without debug symbols</summary>",
        "<li>a: no debug file",
    ] {
        assert!(end.contains(expected), "{expected} is missing in {end}");
    }
}
