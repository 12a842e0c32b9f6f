/** A report is not what its runner writes. */
export class ReportProblem extends Error {
  override readonly name = 'ReportProblem';
}

/** Yields the lines of a text, one at a time. */
export function* splitLines(text: string): Generator<string> {
  for (let begin = 0; begin < text.length;) {
    const found = text.indexOf('\n', begin);
    const end = found === -1 ? text.length : found;
    yield text.slice(begin, end).replace(/\r$/, '');
    begin = end + 1;
  }
}
