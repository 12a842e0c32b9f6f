import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { markup } from '../../../src/faces/report/text/markup.ts';

const ENTITIES: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" };

/** What a browser reads of escaped text. */
function read(html: string): string {
  return html.replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity);
}

describe('a template of markup', () => {
  it('escapes inserted values, and leaves its own text', () => {
    expect(markup`<b title="${'a"b'}">${'<i>&</i>'}</b>`.toString()).toBe('<b title="a&quot;b">&lt;i&gt;&amp;&lt;/i&gt;</b>');
  });

  it('inserts markup unchanged, lists in order, and nothing for undefined', () => {
    const items = ['a', '<b>'].map((text) => markup`<li>${text}</li>`);
    expect(markup`<ul>${items}${undefined}${[1, [2]]}</ul>`.toString()).toBe('<ul><li>a</li><li>&lt;b&gt;</li>12</ul>');
  });

  it('cannot be escaped by any inserted value', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-composite' }), (text) => {
        const html = markup`${text}`.toString();
        expect(html).not.toMatch(/[<>"']|&(?!amp;|lt;|gt;|quot;|#39;)/);
        expect(read(html)).toBe(text);
      }),
    );
  });

  it('shows control characters and those that turn text around as escapes', () => {
    expect(markup`${'a\u0000b\u202Ec'}`.toString()).toBe(String.raw`a\u0000b\u202ec`);
  });

  it('refuses an attribute without quotes, where a space would begin another one', () => {
    expect(() => markup`<b title=${'x onclick'}></b>`).toThrow(RangeError);
  });
});
