// A library with a thread-local; tls_in_malloc.c opens many copies of it.
__thread int value;
int *address_of_value(void);

int *address_of_value(void)
{
    return &value;
}
