// A process and its children, each with its own lock at the same address: a child that exits, one that ends by _exit, and
// one of a daemon's kind, whose parent is gone. None changes the parent's figures.
#include "known.h"
#include <sys/prctl.h>

static pthread_mutex_t everywhere = PTHREAD_MUTEX_INITIALIZER;
static struct known *known_everywhere;
static const char *path;

WAITS(waits_in_parent, known_everywhere, 0)
WAITS(waits_in_child, known_everywhere, 0)

static void be_child(int n_rounds, const char *ended)
{
    known_begin();
    known_forked();
    for (int round = 0; round < n_rounds; round++)
        holds(known_everywhere, waits_in_child, 1, 10 * MS);
    known_write(path, ended);
}

static void leave_a_daemon(void)
{
    pid_t daemon = fork();
    CHECK(daemon >= 0);
    if (daemon == 0) {
        CHECK(setsid() > 0);
        be_child(5, "exit");
        exit(0);
    }
    _exit(0);
}

static pid_t start_child(int number)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child != 0)
        return child;
    if (number == 0) {
        be_child(2, "exit");
        exit(0);
    } else if (number == 1) {
        be_child(3, "abruptly");
        _exit(0);
    } else {
        leave_a_daemon();
    }
    _exit(1);
}

int main(int n, char **arguments)
{
    pid_t children[3];
    known_begin();
    CHECK(n == 2);
    path = arguments[1];
    known_everywhere = KNOWN_MUTEX("*everywhere*", &everywhere);
    // The daemon becomes our child when its parent is gone, so that we know when it is done.
    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    for (int round = 0; round < 3; round++)
        holds(known_everywhere, waits_in_parent, 1, 10 * MS);
    for (int i = 0; i < 3; i++)
        children[i] = start_child(i);
    holds(known_everywhere, waits_in_parent, 1, 20 * MS);
    for (int i = 0; i < 3; i++)
        child_is_well(children[i], "a child");
    child_is_well(-1, "the daemon");
    known_write(path, "exit");
    return 0;
}
