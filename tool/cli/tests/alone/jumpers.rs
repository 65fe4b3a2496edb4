//! Functions that leave the lock by a jump. On a busy machine they seldom wait for each other, and so it is seldom seen how they
//! took it.

use crate::alone;
use crate::common::{Scratch, ondeck};
use crate::library::library;
use crate::programs::compiled;

/// Functions whose last act is the unlock: optimised, it is a jump, and they are not on the stack any more. One is called by
/// its name, one by another's last act, one through a pointer; and two through one pointer.
const JUMPERS: &str = r"
#include <pthread.h>
#include <unistd.h>
#define APART __attribute__((noinline))
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
#define HOLDS(name, lock, ms) \
    APART static void name(void) { pthread_mutex_lock(&lock); usleep(1000 * ms); pthread_mutex_unlock(&lock); }
HOLDS(named, mutex, 2)
HOLDS(inner, mutex, 3)
HOLDS(pointed, mutex, 4)
HOLDS(first, other, 9)
HOLDS(second, other, 9)
static volatile int n;
APART static void outer(void) { n++; inner(); }
static void (*volatile pointer)(void) = pointed;
static void (*volatile both[2])(void) = { first, second };
APART static void *works(void *argument)
{
    for (int i = 0; i < 20; i++) {
        named();
        outer();
        pointer();
        both[i & 1]();
    }
    return argument;
}
int main(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, works, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
";

#[test]
fn who_leaves_the_lock_by_a_jump_is_named_and_nobody_instead() {
    let _cores = alone();
    let scratch = Scratch::new("jumpers");
    let (program, out) = (compiled(&scratch, "jumpers", JUMPERS, &["-O2"]), scratch.path("profile.json"));
    // By the default rate, of most holds only the unlock is known.
    let flags = ["--format", "json", "--out", &out, "--no-prediction", "--", &program];
    assert_eq!(ondeck(&[&["profile", "--library", library()], &flags[..]].concat()).code, Some(0));
    let profile = ondeck_profile::json::from_json(&std::fs::read_to_string(&out).unwrap()).unwrap();
    let names = |lock: &str| {
        let lock = profile.locks.iter().find(|one| one.name == lock).expect("it was used");
        let of = |site: &ondeck_profile::Site| ondeck_profile::busiest(&profile, &[*site]).unwrap_or_default().0;
        lock.holders.iter().map(of).collect::<std::collections::BTreeSet<String>>()
    };
    assert_eq!(names("mutex"), ["inner", "named", "pointed"].map(str::to_owned).into());
    let unknown = "[unknown, called by works]";
    let of_two = names("other");
    assert!(of_two.iter().all(|name| ["first", "second", unknown].contains(&name.as_str())), "{of_two:?}");
}
