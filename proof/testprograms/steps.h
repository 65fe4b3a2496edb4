// One instruction at a time: a call during which the processor traps after each instruction. x86-64 only; elsewhere CAN_STEP
// is not defined, and what needs it is skipped.
#ifndef STEPS_H
#define STEPS_H

#include "check.h"

#ifdef __x86_64__
#define CAN_STEP
#include <ucontext.h>

#define TRAP_FLAG 0x100

// What takes so many instructions is not stepped to its end.
#define MOST_STEPS 20000

static int n_steps;
static void (*look)(int step);
// Where the thread goes on after the step that `look` is told of.
static ucontext_t *stepped;

// For `look`: the rest of the call runs at full speed.
UNUSED static void no_more_steps(void)
{
    stepped->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

// The kernel switches the trap flag off for the handler, so `look` runs at full speed.
UNUSED static void after_step(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number;
    (void)info;
    int before = errno;
    stepped = context;
    if (++n_steps > MOST_STEPS)
        no_more_steps();
    else
        look(n_steps);
    errno = before;
}

// The 128 bytes below the stack pointer may be the compiler's.
#define WITH_FLAGS(change)                                                                                             \
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\t" change "\n\tpopfq\n\tlea 128(%%rsp), %%rsp" ::: "cc", "memory")

// Calls act(), and look(1), look(2)... after its instructions. Gives their number. For one thread at a time; `act` calls
// through pointers that are resolved already, since the dynamic linker's work is thousands of steps.
UNUSED __attribute__((noinline)) static int by_steps(void (*act)(void), void (*look_after)(int step))
{
    struct sigaction trap = {.sa_sigaction = after_step, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &trap, NULL);
    look = look_after;
    n_steps = 0;
    WITH_FLAGS("orq $0x100, (%%rsp)");
    act();
    WITH_FLAGS("andq $~0x100, (%%rsp)");
    return n_steps;
}

// Whether the next instruction is the futex call that may put the stepped thread to sleep.
UNUSED static int is_about_to_sleep(void)
{
    const greg_t *registers = stepped->uc_mcontext.gregs;
    const unsigned char *next = (const unsigned char *)registers[REG_RIP];
    int operation = (int)registers[REG_RSI] & 127;
    // FUTEX_WAIT, FUTEX_WAIT_BITSET and FUTEX_LOCK_PI.
    int is_wait = operation == 0 || operation == 9 || operation == 6;
    return next[0] == 0x0f && next[1] == 0x05 && registers[REG_RAX] == SYS_futex && is_wait;
}
#endif

#endif
