/* Right, and reads all of its input into memory first, twice as much as it needs each time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    size_t size = 0, room = 64u << 20;
    unsigned char *text = malloc(room);
    if (!text) return 1;
    memset(text, 1, room);
    unsigned long lines = 0, words = 0;
    int inside = 0, c;
    while ((c = getchar()) != EOF) text[size++ % room] = (unsigned char)c;
    for (size_t at = 0; at < size; at++) {
        c = text[at];
        lines += c == '\n';
        int blank = c == ' ' || (c >= '\t' && c <= '\r');
        words += !blank && !inside;
        inside = !blank;
    }
    printf("%lu %lu %zu\n", lines, words, size);
    return 0;
}
