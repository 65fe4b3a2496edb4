// For the tests' programs in C and C++: which of their threads sleep for a lock or the like.
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int n_in_futex(void)
{
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; (task = readdir(tasks));) {
        char path[300];
        int call = -1;
        snprintf(path, sizeof path, "/proc/self/task/%s/syscall", task->d_name);
        FILE *file = fopen(path, "r");
        // Of a thread that runs it has a word instead of a number.
        if (file && fscanf(file, "%d", &call) == 1 && call == SYS_futex)
            n++;
        if (file)
            fclose(file);
    }
    closedir(tasks);
    return n;
}

// Waits for threads and not for time: on a busy machine they come late.
static void until_in_futex(int least)
{
    while (n_in_futex() < least)
        usleep(1000);
}
