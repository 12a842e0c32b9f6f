/**
 * Text from outside (a runner's last output, file names, errors about either) may hold control characters that move a terminal's cursor,
 * change its title or type into it. They are shown as escapes, and so are characters that reverse the direction of text.
 */
const UNPRINTABLE = /[^\P{Cc}\n]|[\u2028-\u202e\u2066-\u2069]/gu;

/** Escapes the text but keeps its line breaks. */
export function escapeUnprintable(text: string): string {
  return text.replaceAll(UNPRINTABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Escapes the text and joins its lines to one. */
export function escapeUnprintableLine(text: string): string {
  return escapeUnprintable(text.trim().replaceAll(/\s*\n\s*/g, ' '));
}
