import { changeLiteral, nameCopy } from './changed-literal.ts';
import type { TripwireDraft } from './language-adapter.ts';

/** The form of tests in languages with braces. */
export interface BlockForm {
  /** The first line of a test; groups `indent` and `name`. */
  readonly header: RegExp;
  /** A line that has to come right before it, and is copied with it. */
  readonly attribute?: RegExp;
  findId(name: string, lines: readonly string[], at: number): string | undefined;
}

const DECIDES = /assert|expect|equal|require|check|[=!]=/i;
/** Failure messages, numbers of assertions and their times decide nothing. */
const REPORTS = /error|fatal|log|print|panic|throw|\bplan\b|time|sleep|wait/i;

/** Drafts copies of tests, each with the literal of its last assertion changed. */
export function draftBlocks(path: string, text: string, ids: readonly string[], form: BlockForm): readonly TripwireDraft[] {
  const lines = text.split('\n');
  const known = new Set(ids);
  return lines.flatMap((line, start) => {
    const { indent = '', name = '' } = form.header.exec(line)?.groups ?? {};
    const first = form.attribute === undefined ? start : start - 1;
    if (name === '' || form.attribute?.test(lines[first] ?? '') === false) return [];
    const of = form.findId(name, lines, start);
    const end = findEnd(lines, start, indent);
    if (of === undefined || !known.has(of) || end === undefined) return [];
    const changed = changeLast(lines.slice(start + 1, end));
    const [wire, restored] = [nameCopy(name, 0), nameCopy(name, 1)];
    if (changed === undefined || text.includes(wire) || text.includes(restored)) return [];
    const at = end + 1;
    const block = (as: string, assertion: string): string => {
      const body = lines.slice(start + 1, end).map((each, i) => (i === changed.at ? assertion : each));
      return `${['', ...lines.slice(first, start), line.replace(name, as), ...body, lines[end] ?? ''].join('\n')}\n`;
    };
    const idAs = (as: string): string => `${of.slice(0, of.length - name.length)}${as}`;
    return [
      {
        tripwire: { id: idAs(wire), changed: changed.line.trim(), literal: changed.literal.trim() },
        of,
        wire: { id: idAs(wire), path, at, block: block(wire, changed.line) },
        restored: { id: idAs(restored), path, at, block: block(restored, changed.literal) },
      },
    ];
  });
}

/** Finds the line that closes what a line opens. */
function findEnd(lines: readonly string[], start: number, indent: string): number | undefined {
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => line.startsWith(`${indent}}`) && /^\s*\}[);,]*\s*$/.test(line));
  const left = rest.findIndex((line) => line.trim() !== '' && !line.startsWith(`${indent} `) && !line.startsWith(`${indent}\t`));
  return end === -1 || left < end ? undefined : start + 1 + end;
}

/** Changes the literal in the last line that tells right from wrong. */
export function changeLast(body: readonly string[]): { readonly at: number; readonly line: string; readonly literal: string } | undefined {
  const isTried = (line: string): boolean => !REPORTS.test(line.replace(COMPARED, '')) && changeCompared(line) !== undefined;
  const telling = body.findLastIndex((line) => DECIDES.test(line) && changeCompared(line) !== undefined && !/^\s*(\/\/|\/?\*)/.test(line));
  const at = telling === -1 ? body.findLastIndex(isTried) : telling;
  const literal = body[at];
  const line = literal === undefined ? undefined : changeCompared(literal);
  return literal === undefined || line === undefined ? undefined : { at, line, literal };
}

const COMPARED = /(?<=[=!]=\s{0,4})(?:\d{1,9}(?![\w.])|"[A-Za-z0-9 ]{1,40}")/;

/** Changes the literal of a comparison, where there is one: a literal after it may be a failure message. */
function changeCompared(line: string): string | undefined {
  const found = COMPARED.exec(line);
  if (found === null) return changeLiteral(line);
  const changed = changeLiteral(found[0]);
  return changed === undefined ? undefined : `${line.slice(0, found.index)}${changed}${line.slice(found.index + found[0].length)}`;
}
