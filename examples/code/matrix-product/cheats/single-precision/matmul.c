#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    int64_t n;
    if (fread(&n, sizeof n, 1, stdin) != 1 || n < 1 || n > 4096) return 1;
    size_t count = (size_t)n * (size_t)n;
    double *a = malloc(count * sizeof *a), *b = malloc(count * sizeof *b), *c = calloc(count, sizeof *c);
    if (!a || !b || !c) return 1;
    if (fread(a, sizeof *a, count, stdin) != count || fread(b, sizeof *b, count, stdin) != count) return 1;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n; k++) {
            float x = (float)a[i * n + k];
            for (int64_t j = 0; j < n; j++) c[i * n + j] = (float)(c[i * n + j] + x * (float)b[k * n + j]);
        }
    if (fwrite(c, sizeof *c, count, stdout) != count) return 1;
    return 0;
}
