const LITERAL =
  /(?<number>(?<![\w.])\d{1,9}(?![\w.]))|(?<word>(?<![\w.])(?:true|false|True|False|undefined)(?![\w.(]))|(?<quote>["'])(?<text>[A-Za-z0-9 ]{1,40})\k<quote>/g;

/** Replacements of the same type, because a compiler may check types. */
const OTHER_WORDS = new Map([
  ['true', 'false'],
  ['false', 'true'],
  ['True', 'False'],
  ['False', 'True'],
  ['undefined', 'null'],
]);

/** Replaces the last literal of a line by another value of the same kind. @returns undefined where the line has none. */
export function changeLiteral(line: string): string | undefined {
  const last = Array.from(line.matchAll(LITERAL)).at(-1);
  if (last === undefined) return undefined;
  const { number, word, quote = '', text = '' } = last.groups ?? {};
  const other = word === undefined ? `${quote}${changeText(text)}${quote}` : OTHER_WORDS.get(word);
  const changed = number === undefined ? other : `${Number(number) + 1}`;
  return `${line.slice(0, last.index)}${changed}${line.slice(last.index + last[0].length)}`;
}

function changeText(text: string): string {
  const last = text.at(-1) ?? '';
  return `${text.slice(0, -1)}${last === 'e' ? 'a' : 'e'}`;
}

/** Common words of test names, so that a tripwire's name is inconspicuous. */
export const WORDS = ['again', 'more', 'values', 'cases', 'other', 'plain', 'small', 'both'];

/** Returns a name for a copy of a test. It follows from the test's name, and does not reveal that it is a copy. @param at number of the copy. */
export function nameCopy(name: string, at: number): string {
  const start = name.length;
  return `${name}_${WORDS[(start + at) % WORDS.length] ?? ''}`;
}
