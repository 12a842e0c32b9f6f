/**
 * What a condition of a chart's `if` is, as Helm's templates have it: `.Values.x`, `"text"`, `not`, `and`, `or`, `eq` and `int`, in brackets.
 *
 * @param lookUp gives the value of `.Values.x`.
 * @throws Error for anything else.
 */
export function condition(text: string, lookUp: (expression: string) => unknown): boolean {
  const words = text.match(/\(|\)|"[^"]*"|[^\s()]+/g) ?? [];
  let next = 0;
  const one = (): unknown => {
    const word = words[next];
    next += 1;
    if (word === undefined || word === ')') throw new Error(`cannot read the condition ${text}`);
    if (word.startsWith('"')) return word.slice(1, -1);
    if (word.startsWith('.')) return lookUp(word);
    if (word !== '(') return call(word);
    const value = one();
    if (words[next] !== ')') throw new Error(`cannot read the condition ${text}`);
    next += 1;
    return value;
  };
  const call = (name: string): unknown => {
    const values: unknown[] = [];
    while (next < words.length && words[next] !== ')') values.push(one());
    const [first, second] = values;
    switch (name) {
      case 'not':
        return !first;
      case 'and':
        return values.every(Boolean);
      case 'or':
        return values.some(Boolean);
      case 'eq':
        return first === second;
      case 'int':
        return Math.trunc(Number(first));
      default:
        throw new Error(`cannot read the condition ${text}`);
    }
  };
  const value = one();
  if (next !== words.length) throw new Error(`cannot read the condition ${text}`);
  return Boolean(value);
}
