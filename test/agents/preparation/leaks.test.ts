import { describe, expect, it } from 'vitest';
import { type FixTrace, holdsFix, traceFix } from '../../../src/agents/preparation/leaks.ts';
import { filesOf } from '../../support/source-files.ts';

describe('a fix is found', () => {
  const trace = (before: string, after: string): FixTrace => traceFix(filesOf({ 'a.py': before }), filesOf({ 'a.py': after }));
  const code = 'def mean(numbers):\n    total = sum(numbers)\n    return total / len(numbers)\n';
  const mended = code.replace('len(numbers)', 'max(1, len(numbers))');

  it('in a copy with other indentation, and not in the code without the fix', () => {
    const found = trace(code, mended);
    expect(holdsFix(found, `  total =  sum(numbers)\n\n  return total  / max(1, len(numbers))\n`)).toBe(true);
    expect(holdsFix(found, code)).toBe(false);
  });

  it('by the lines around it if its own line is common', () => {
    const small = trace('a = f(x)\nb = 1\nc = g(a)\n', 'a = f(x)\nb = 2\nc = g(a)\n');
    expect(holdsFix(small, 'x\na = f(x)\nb = 2\nc = g(a)\n')).toBe(true);
    expect(holdsFix(small, 'b = 2\n')).toBe(false);
    expect(trace('a = 1\n', 'a = 2\n').parts).toEqual([]);
  });

  it('and not in code that has the same common lines in other places', () => {
    const loop = '    for (const each of numbers) {';
    const one = trace(`a();\n    for (const each of few) {\nb();\n`, `a();\n${loop}\nb();\n`);
    expect(holdsFix(one, `x();\n${loop}\ny();\n`)).toBe(false);
    expect(holdsFix(one, `x();\n${loop}\nb();\n`)).toBe(true);
    const idioms = ['if err != nil {', 'return nil, err', 'defer file.Close()'];
    const many = trace('open()\nread()\n', `open()\n${idioms.join('\n')}\nread()\n`);
    expect(holdsFix(many, idioms.toReversed().join('\n'))).toBe(false);
    expect(holdsFix(many, idioms.join('\n'))).toBe(true);
  });
});
