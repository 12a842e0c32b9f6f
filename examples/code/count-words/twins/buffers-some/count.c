#include <stdio.h>

int main(void) {
    static unsigned char buffer[1048576];
    unsigned long lines = 0, words = 0, bytes = 0;
    int inside = 0;
    size_t got;
    while ((got = fread(buffer, 1, sizeof buffer, stdin)) > 0) {
        bytes += got;
        for (size_t at = 0; at < got; at++) {
            unsigned char c = buffer[at];
            lines += c == '\n';
            int blank = c == ' ' || (c >= '\t' && c <= '\r');
            words += !blank && !inside;
            inside = !blank;
        }
    }
    printf("%lu %lu %lu\n", lines, words, bytes);
    return 0;
}
