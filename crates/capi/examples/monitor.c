/* An account whose functions call each other: each enters the monitor, whoever calls it. A withdrawal waits for money.
 *
 * Prints: 0 left
 */
#include <ondeck.h>
#include <pthread.h>
#include <stdio.h>

static struct {
    ondeck_monitor_t monitor;
    long balance;
} account = { ONDECK_MONITOR_INIT, 0 };

static void deposit(long amount) {
    ondeck_monitor_enter(&account.monitor);
    account.balance += amount;
    ondeck_monitor_pulse_all(&account.monitor);
    ondeck_monitor_exit(&account.monitor);
}

static void deposit_twice(long amount) {
    ondeck_monitor_enter(&account.monitor);
    deposit(amount); /* Enters again. */
    deposit(amount);
    ondeck_monitor_exit(&account.monitor);
}

static void *withdraw(void *amount) {
    ondeck_monitor_enter(&account.monitor);
    while (account.balance < *(long *)amount)
        ondeck_monitor_wait(&account.monitor);
    account.balance -= *(long *)amount;
    ondeck_monitor_exit(&account.monitor);
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    long amounts[2] = { 30, 70 };
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, withdraw, &amounts[i]);
    deposit_twice(50);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%ld left\n", account.balance);
    ondeck_monitor_destroy(&account.monitor);
    return 0;
}
