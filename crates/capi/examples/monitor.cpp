// An account whose functions call each other: each enters the monitor, whoever calls it. A withdrawal waits for money.
//
// Prints: 0 left
#include <iostream>
#include <ondeck.hpp>
#include <thread>

class Account {
public:
    void deposit(long amount) {
        ondeck::monitor_guard inside(monitor_);
        balance_ += amount;
        inside.pulse_all();
    }

    void deposit_twice(long amount) {
        ondeck::monitor_guard inside(monitor_);
        deposit(amount);  // Enters again.
        deposit(amount);
    }

    void withdraw(long amount) {
        ondeck::monitor_guard inside(monitor_);
        inside.wait([&] { return balance_ >= amount; });
        balance_ -= amount;
    }

    long balance() {
        ondeck::monitor_guard inside(monitor_);
        return balance_;
    }

private:
    ondeck::monitor monitor_;
    long balance_ = 0;
};

int main() {
    Account account;
    std::thread first([&] { account.withdraw(30); }), second([&] { account.withdraw(70); });
    account.deposit_twice(50);
    first.join();
    second.join();
    std::cout << account.balance() << " left\n";
}
