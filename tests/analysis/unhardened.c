/* Has a buffer that the protections would guard; CMakeLists.txt takes them all away. */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    char name[64];
    snprintf(name, sizeof name, "%s", argv[argc - 1]);
    return strlen(name) == 0;
}
