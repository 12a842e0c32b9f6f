/**
 * What comes from outside (a runner's last words, names of files, an error's account of either) may hold control characters that move a
 * terminal's cursor, change its title or type into it. They are shown as escapes, and so are those that turn text around.
 */
const UNPRINTABLE = /[^\P{Cc}\n]|[\u2028-\u202e\u2066-\u2069]/gu;

/** The text with its lines kept. */
export function escapeUnprintable(text: string): string {
  return text.replaceAll(UNPRINTABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The text on one line. */
export function escapeUnprintableLine(text: string): string {
  return escapeUnprintable(text.trim().replaceAll(/\s*\n\s*/g, ' '));
}
