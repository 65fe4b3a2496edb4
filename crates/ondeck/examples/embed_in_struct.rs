//! A lock in every object: 8 bytes each, nothing to allocate, nothing to destroy. A million accounts, and transfers
//! between any two of them, by several threads. `cargo run --release --example embed_in_struct -p ondeck`
//!
//! ```text
//! 1000000 accounts of 16 bytes, 400000 transfers, 100000000 in all before and after
//! ```

use ondeck::Mutex;
use std::thread;

const ACCOUNTS: usize = 1_000_000;
const THREADS: u64 = 4;
const TRANSFERS: u64 = 100_000;

struct Account {
    balance: Mutex<u64>,
}

/// Moves `amount` if it is there. Both locks are taken in the order of their addresses, so two transfers in opposite
/// directions cannot wait for each other.
fn transfer(from: &Account, to: &Account, amount: u64) {
    if std::ptr::eq(from, to) {
        return;
    }
    let (mut source, mut target);
    if std::ptr::from_ref(from) < std::ptr::from_ref(to) {
        source = from.balance.lock();
        target = to.balance.lock();
    } else {
        target = to.balance.lock();
        source = from.balance.lock();
    }
    if let Some(rest) = source.checked_sub(amount) {
        *source = rest;
        *target += amount;
    }
}

fn total(accounts: &[Account]) -> u64 {
    accounts.iter().map(|account| *account.balance.lock()).sum()
}

fn main() {
    let accounts: Vec<Account> = (0..ACCOUNTS).map(|_| Account { balance: Mutex::new(100) }).collect();
    let before = total(&accounts);
    thread::scope(|scope| {
        for seed in 1..=THREADS {
            let accounts = &accounts;
            scope.spawn(move || {
                let mut random = seed;
                let mut pick = move || {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (random >> 33) as usize % ACCOUNTS
                };
                for _ in 0..TRANSFERS {
                    transfer(&accounts[pick()], &accounts[pick()], 7);
                }
            });
        }
    });
    assert_eq!(total(&accounts), before);
    println!(
        "{ACCOUNTS} accounts of {} bytes, {} transfers, {before} in all before and after",
        size_of::<Account>(),
        THREADS * TRANSFERS,
    );
}
