#include <stdio.h>
#include <unistd.h>

/* Says what there is in its root file system, and leaves a file. */
int main(int argc, char **argv) {
  FILE *out = fopen("/app/out", "w");
  if (argc < 2 || !out) return 1;
  fprintf(out, "hello %s\n", argv[1]);
  printf("hello %s: %s /usr/bin/python3, %s /bin/sh\n", argv[1], access("/usr/bin/python3", F_OK) ? "no" : "a", access("/bin/sh", F_OK) ? "no" : "a");
  return fclose(out);
}
