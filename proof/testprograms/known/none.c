// No use of a lock at all: what a profile says then must not look like a program without contention.
#include "known.h"

int main(int n, char **arguments)
{
    watchdog();
    CHECK(n == 2);
    sleep_ns(50 * MS);
    known_write(arguments[1], "exit");
    return 0;
}
