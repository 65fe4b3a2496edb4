/* Sends each signal that can be caught and stops nobody to its process group, and says which it did not get once. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile int seen[65];
static void count(int signal) { seen[signal]++; }
static int is_sent(int i) {
    return i != SIGKILL && i != SIGSTOP && i != SIGTSTP && i != SIGTTIN && i != SIGTTOU && i != 32 && i != 33;
}
int main(void) {
    for (int i = 1; i <= 64; i++) signal(i, count);
    for (int i = 1; i <= 64; i++) if (is_sent(i)) kill(0, i);
    for (int i = 0; i < 10; i++) usleep(30000);
    for (int i = 1; i <= 64; i++) if (seen[i] != is_sent(i)) printf("signal %d: %d times\n", i, seen[i]);
    return 7;
}
