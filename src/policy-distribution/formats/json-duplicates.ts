/**
 * Finds the first duplicate object key in a JSON text; undefined without any. `JSON.parse` silently keeps the last of two members, so two readers of
 * one file may see different values.
 *
 * @param text valid JSON; the answer for any other text has no meaning.
 */
export function findDuplicateKey(text: string): string | undefined {
  const open: (Set<string> | undefined)[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '{') open.push(new Set());
    else if (character === '[') open.push(undefined);
    else if (character === '}' || character === ']') open.pop();
    else if (character === '"') {
      const end = findClosingQuote(text, at);
      if (isKey(text, end + 1)) {
        const keys = open.at(-1);
        const key = String(JSON.parse(text.slice(at, end + 1)));
        if (keys?.has(key) === true) return key;
        keys?.add(key);
      }
      at = end;
    }
  }
  return undefined;
}

/** This avoids a regular expression: on one string of many megabytes its backtracking would exhaust the stack. */
function findClosingQuote(text: string, openingQuote: number): number {
  for (let at = openingQuote + 1; ; at += 1) {
    at = text.indexOf('"', at);
    if (at < 0) return text.length;
    let backslashes = 0;
    while (text[at - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
}

/** Whether a colon comes next. */
function isKey(text: string, position: number): boolean {
  let at = position;
  while (' \t\r\n'.includes(text[at] ?? ':')) at += 1;
  return text[at] === ':';
}
