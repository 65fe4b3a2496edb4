/* Becomes the program that its arguments name. */
#include <unistd.h>
int main(int argc, char **argv)
{
    (void)argc;
    execl(argv[1], argv[1], argv[2], (char *)0);
    return 1;
}
