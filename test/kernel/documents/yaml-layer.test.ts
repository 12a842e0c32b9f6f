import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { InputError } from '../../../src/kernel/errors.ts';
import { YAML_BOUNDS } from '../../../src/kernel/documents/yaml-document.ts';
import { parseYamlLayer } from '../../../src/kernel/documents/yaml-layer.ts';

const read = (text: string): unknown => parseYamlLayer('suite.yaml', text, 'suite.invalid').value;

/** Each mapping has nine times the values of the one before it. */
const aliasBomb = (levels: number): string =>
  Array.from(
    { length: levels },
    (_, i) =>
      `a${i}: &a${i} [${Array(9)
        .fill(i === 0 ? 'x' : `*a${i - 1}`)
        .join(', ')}]`,
  ).join('\n');
/** Each list holds the one before it, so that aliases followed are as deep as there are lines. */
const aliasLadder = (rungs: number): string =>
  Array.from({ length: rungs }, (_, i) => `a${i}: &a${i} [${i === 0 ? 'x' : `*a${i - 1}`}]`).join('\n');

test.each([
  [
    'an alias that stands within its own anchor',
    'name: x\ntasks: &all [1, *all]',
    'suite.yaml:2: the alias *all stands within &all itself',
  ],
  ['an alias of the whole document', '&whole\nname: *whole', 'suite.yaml:2: the alias *whole stands within &whole itself'],
  ['an alias within its anchor, some levels further in', 'a: &x\n  b:\n    - c: *x', 'suite.yaml:3: the alias *x stands within &x itself'],
  ['an alias before its anchor', 'a: *x\nb: &x 1', 'suite.yaml:1: '],
  ['aliases that stand for 9⁹ values', aliasBomb(9), 'with its aliases followed the text has more than 200000 values'],
  ['aliases that nest lists in lists', aliasLadder(70), 'suite.yaml:65: more than 64 lists and mappings are nested'],
  ['lists in lists in one line', `a: ${'['.repeat(20_000)}`, 'suite.yaml:1: more than 64 lists and mappings are nested'],
  ['closed lists in lists', `a: ${'['.repeat(66)}${']'.repeat(66)}`, 'more than 64 lists and mappings'],
  ['lists in lists by dashes', '- '.repeat(5000), 'more than 64 lists and mappings'],
  ['mappings by indentation', Array.from({ length: 1000 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'), 'more than 64 lists and mappings'],
  ['more tokens than any suite', `a: [${'1,'.repeat(YAML_BOUNDS.tokens)}]`, 'suite.yaml:1: more than 500000 tokens; split the file'],
  ['a text that is too long', `a: ${'x'.repeat(YAML_BOUNDS.characters)}`, 'at most 4194304 are read'],
  ['a key that stands twice', 'a: 1\nb: 2\na: 3', 'suite.yaml:3: the key "a" occurs twice'],
  ['a key that stands twice, once in quotes', '1: x\n"1": y', 'suite.yaml:2: the key "1" occurs twice'],
  ['a list as a key', '? [a, b]\n: 1', 'suite.yaml:1: a key is a list, a mapping or an alias'],
  ['an alias as a key', 'a: &k x\n*k : 1', 'suite.yaml:2: a key is a list, a mapping or an alias'],
  ['a second document', 'a: 1\n---\nb: 1', 'suite.yaml:2: a second document begins'],
  ['a text in UTF-16', Buffer.from('\uFEFFname: x', 'utf16le').toString('utf8'), 'suite.yaml:1: this is not UTF-8 text'],
  ['a list in place of a mapping', '- a', 'expected a mapping of settings, got ["a"]'],
])('%s is refused, by its line', (_, text, expected) => {
  expect(() => read(text)).toThrow(expect.objectContaining({ kind: 'input', code: 'suite.invalid' }));
  expect(() => read(text)).toThrow(expected);
});

test('a text is refused as no YAML at its grammar error only', () => {
  expect(() => read('name: x\n\ty: 1')).toThrow(/suite\.yaml:2: Tabs are not allowed as indentation; expected YAML$/);
  expect(() => read('a: 1\na: 2')).toThrow(/expected it once$/);
});

test('finite aliases are followed, an anchor can be redefined, and used a hundred times', () => {
  const uses = Array(100).fill('*base').join(', ');
  expect(read(`base: &base { low: 0 }\ntasks: [${uses}]\nother: &base 3\nlast: *base`)).toEqual({
    base: { low: 0 },
    tasks: Array.from({ length: 100 }, () => ({ low: 0 })),
    other: 3,
    last: 3,
  });
});

test('forty thousand keys are read in time that grows with their number', () => {
  // Comparing each key with all others took a minute.
  const keys = Array.from({ length: 40_000 }, (_, i) => [`k${i}`, i]);
  expect(read(keys.map(([key, value]) => `${key}: ${value}`).join('\n'))).toEqual(Object.fromEntries(keys));
});

test('a text nested to the bound is read', () => {
  const text = `${'{"a":'.repeat(YAML_BOUNDS.depth)}1${'}'.repeat(YAML_BOUNDS.depth)}`;
  expect(JSON.stringify(read(text))).toBe(text);
});

const fragments = fc.constantFrom(
  'a',
  ': ',
  '\n',
  '  ',
  '- ',
  '[',
  ']',
  '{',
  '}',
  ', ',
  '&x ',
  '*x',
  '? ',
  '"',
  "'",
  '| ',
  '!!map ',
  '---',
  '# ',
  '<<',
  '\t',
);

test('every text gives a value or an error', () => {
  const texts = fc.oneof(
    fc
      .array(fc.oneof({ weight: 9, arbitrary: fragments }, { weight: 1, arbitrary: fc.string({ maxLength: 3 }) }), { maxLength: 60 })
      .map((parts) => parts.join('')),
    fc.string({ maxLength: 60 }),
  );
  fc.assert(
    fc.property(texts, (text) => {
      expect(outcomeOf(text)).toMatch(/^(\{|suite\.yaml:\d+: )/);
    }),
    { numRuns: 2000 },
  );
});

/** Returns the value as JSON, whose aliases are followed to their end, or the error's message. */
function outcomeOf(text: string): string {
  try {
    return JSON.stringify(read(text));
  } catch (error) {
    if (error instanceof InputError) return error.message;
    throw error;
  }
}
