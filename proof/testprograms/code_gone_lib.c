// A library that calls back.
void call(void (*back)(void));

void call(void (*back)(void))
{
    back();
    __asm__ volatile("" ::: "memory");
}
