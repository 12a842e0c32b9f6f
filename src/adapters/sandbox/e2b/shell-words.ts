/** Formats words as one line that a POSIX shell splits into the same words. */
export function formatShellLine(words: readonly string[]): string {
  return words.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(' ');
}
