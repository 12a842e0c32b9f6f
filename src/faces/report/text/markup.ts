import { escapeUnprintable } from '../../../kernel/text/printable.ts';

/** Text that is HTML already. The class stays in here, so `markup` alone makes it, and nothing gets into a page unescaped. */
class MarkupText {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

export type { MarkupText as Markup };

/** What a template accepts: strings and numbers are escaped, markup is inserted as it is, lists are joined. */
export type Content = MarkupText | string | number | undefined | readonly Content[];

/**
 * Makes HTML or SVG from a template: markup`<td title="${name}">${name}</td>`. The template itself is trusted; inserted values are not: each becomes
 * text or the value of a quoted attribute, never a tag. Attributes that browsers interpret (`href`, `style`) accept only our own numbers.
 *
 * @throws RangeError when an attribute's value is not in quotes, where escaping would not suffice.
 */
export function markup(template: TemplateStringsArray, ...contents: readonly Content[]): MarkupText {
  const parts = template.map((part, position) => {
    if (part.endsWith('=') && position < contents.length) throw new RangeError(`the value of an attribute needs quotes: ${part}`);
    return part + renderText(contents[position]);
  });
  return new MarkupText(parts.join(''));
}

function renderText(content: Content): string {
  if (content === undefined) return '';
  if (content instanceof MarkupText) return content.toString();
  if (typeof content === 'string') return escapeMarkup(content);
  if (typeof content === 'number') return String(content);
  return content.map(renderText).join('');
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escapeMarkup(text: string): string {
  return escapeUnprintable(text).replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}
