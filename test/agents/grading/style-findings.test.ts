import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { computeStyle, findChangedLines, readFindings } from '../../../src/agents/grading/style-findings.ts';

const text = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 12 }).map((lines) => lines.map((line) => `${line}\n`).join(''));
const linesOf = (content: string): readonly number[] => Array.from({ length: content.split('\n').length - 1 }, (_, i) => i + 1);

describe('the findings of a linter on changed lines', () => {
  it('count lines that differ: without them both versions of a file are the same', () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const changed = findChangedLines(before, after);
        const keep = (content: string, isChanged: (line: number) => boolean): readonly (string | undefined)[] =>
          linesOf(content).flatMap((line) => (isChanged(line) ? [] : [content.split('\n')[line - 1]]));
        expect(keep(before, changed.before)).toEqual(keep(after, changed.after));
        expect(linesOf(before).filter(findChangedLines(before, before).before)).toEqual([]);
      }),
    );
    const { before, after } = findChangedLines('one\ntwo\nthree\n', 'one\n2\n2.5\nthree\n');
    expect([[1, 2, 3].filter(before), [1, 2, 3, 4].filter(after)]).toEqual([[2], [2, 3]]);
  });

  it('are read as most linters print them', () => {
    const printed = './a.py:3:1: F401 unused\nb/c.py:12: long: line\n/app/d.py:1:2:3\nFound 3 errors.\n  indented:4: no\n';
    expect(readFindings(printed, '/app')).toEqual([
      { path: '/app/a.py', line: 3 },
      { path: '/app/b/c.py', line: 12 },
      { path: '/app/d.py', line: 1 },
    ]);
  });

  it('give a share from -1 to 1, above 0 for fewer findings than before', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), (before, after) => {
        const style = computeStyle(before, after);
        expect(Math.abs(style)).toBeLessThanOrEqual(1);
        expect(Math.sign(style)).toBe(Math.sign(before - after));
      }),
    );
    expect([computeStyle(0, 0), computeStyle(3, 0), computeStyle(0, 3), computeStyle(3, 1)]).toEqual([0, 1, -1, 0.5]);
  });
});
