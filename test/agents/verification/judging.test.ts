import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import type { CompareMode } from '../../../src/agents/tasks/muster-schema.ts';
import { compareOutputs } from '../../../src/agents/verification/compare-outputs.ts';
import type { SuiteEvidence, TestResult } from '../../../src/agents/verification/evidence.ts';
import { judgeTests } from '../../../src/agents/verification/judge-tests.ts';

const bytes = (text: string): Buffer => Buffer.from(text);
const isEqual = (mode: CompareMode, expected: string | Uint8Array, got: string | Uint8Array): boolean =>
  compareOutputs(mode, Buffer.from(expected), Buffer.from(got)).isEqual;
type Numbers = Extract<CompareMode, { readonly mode: 'numbers' }>;
const numbers = (changes: Partial<Numbers> = {}): Numbers => ({
  mode: 'numbers',
  encoding: 'text',
  dtype: 'float64',
  tolerance: { absolute: 0, relative: 0 },
  ...changes,
});
const tolerant = numbers({ tolerance: { absolute: 0, relative: 1e-6 } });

describe('outputs', () => {
  it('as bytes are equal or differ at a place', () => {
    expect(compareOutputs({ mode: 'bytes' }, bytes('abc\n'), bytes('abc'))).toEqual({
      isEqual: false,
      difference: 'at byte 3: expected "\\n", got ""',
    });
    expect(isEqual({ mode: 'bytes' }, 'abc', 'abc')).toBe(true);
  });

  it('as numbers: NaN equals nothing, −0 equals 0, infinities equal themselves, tolerance is relative to what is expected', () => {
    expect(isEqual(numbers(), '-0 1e3', '0.0\n1000')).toBe(true);
    expect(isEqual(numbers(), 'nan', 'nan')).toBe(false);
    expect(isEqual(tolerant, 'inf', 'inf')).toBe(true);
    expect(isEqual(tolerant, 'inf', '1e308')).toBe(false);
    expect(isEqual(tolerant, '1', 'inf')).toBe(false);
    expect([isEqual(tolerant, '1000', '1000.0009'), isEqual(tolerant, '1000', '1000.0011')]).toEqual([true, false]);
    for (const got of ['', '1', '1 2 3', '1 x', '1 0x2', '1 2_0', '1,2']) expect(isEqual(tolerant, '1 2', got)).toBe(false);
  });

  it('as numbers of single precision are not accepted as double', () => {
    const exact = numbers({ tolerance: { absolute: 0, relative: 1e-12 } });
    fc.assert(
      fc.property(fc.double({ min: 0.1, max: 1e6, noNaN: true }), (value) => {
        const isRepresentable = Math.abs(Math.fround(value) - value) <= 1e-12 * value;
        expect(isEqual(exact, String(value), String(Math.fround(value)))).toBe(isRepresentable);
        expect(isEqual(exact, String(value), String(value))).toBe(true);
      }),
    );
  });

  it('as whole numbers are exact beyond 2⁵³ and within their type', () => {
    const whole = numbers({ dtype: 'int64' });
    expect(isEqual(whole, '9007199254740993', '9007199254740992')).toBe(false);
    expect(isEqual(whole, '9007199254740993', '+9007199254740993')).toBe(true);
    expect([isEqual(whole, '1', '1.0'), isEqual(numbers({ dtype: 'uint8' }), '255', '256')]).toEqual([false, false]);
  });

  it('as raw numbers and as JSON have the declared shape', () => {
    const raw = numbers({ encoding: 'raw', dtype: 'float32', shape: [2] });
    const floats = new Uint8Array(new Float32Array([1, -0]).buffer);
    expect(isEqual(raw, floats, new Uint8Array(new Float32Array([1, 0]).buffer))).toBe(true);
    expect(isEqual(raw, floats, floats.subarray(0, 7))).toBe(false);
    expect(() => isEqual(raw, floats.subarray(0, 4), floats)).toThrow(
      "the golden model's output: it has 1 numbers; the declared shape has 2",
    );
    const matrix = numbers({ encoding: 'json', shape: [2, 1] });
    expect(isEqual(matrix, '[[1],[2]]', '[[1.0],[2]]')).toBe(true);
    for (const got of ['[1,2]', '[[1,2]]', '[[1],[2],[3]]', '[["1"],[2]]', '[[1],[2]', '[[[1]],[2]]'])
      expect(isEqual(matrix, '[[1],[2]]', got)).toBe(false);
  });

  it('in a canonical form are equal if they differ only in what the form leaves out', () => {
    const form = (name: 'lines' | 'sorted-lines' | 'tokens' | 'json'): CompareMode => ({ mode: 'canonical', form: name });
    expect([isEqual(form('lines'), 'a\nb\n', 'a \r\nb'), isEqual(form('lines'), 'a\nb', 'b\na')]).toEqual([true, false]);
    expect([isEqual(form('sorted-lines'), 'a\nb\nb', 'b\na\nb\n'), isEqual(form('sorted-lines'), 'a\nb\nb', 'a\nb')]).toEqual([
      true,
      false,
    ]);
    expect([isEqual(form('tokens'), '1 2\n3', '1\n2  3'), isEqual(form('tokens'), '12', '1 2')]).toEqual([true, false]);
    expect([isEqual(form('json'), '{"a":1,"b":[2]}', '{"b": [2.0], "a": 1}'), isEqual(form('json'), '{}', '{"a":1}')]).toEqual([
      true,
      false,
    ]);
    expect(isEqual(form('json'), '{}', 'no JSON')).toBe(false);
  });
});

describe('a run of tests', () => {
  const tripwire = { id: 'wire', file: 'f', changed: 'a', literal: 'b' };
  const pinned = { failToPass: ['a', 'b'], passToPass: ['c'], tripwires: [tripwire] };
  const good: readonly TestResult[] = [
    { id: 'a', status: 'passed' },
    { id: 'b', status: 'passed' },
    { id: 'c', status: 'passed' },
    { id: 'wire', status: 'failed' },
  ];
  const run = (results: readonly TestResult[], problem: string | null = null): SuiteEvidence['runs'][number] => ({
    order: 'listed',
    ending: { kind: 'exited', code: 1 },
    results: [...results],
    problem,
    output: '',
    seconds: 1,
  });
  const share = (...runs: (readonly TestResult[])[]): number =>
    judgeTests(
      pinned,
      runs.map((results) => run(results)),
    ).share;
  const having = (id: string, status: TestResult['status']): readonly TestResult[] =>
    good.map((one) => (one.id === id ? { id, status } : one));

  it('passes when exactly the pinned tests ran, once each, whatever the exit status, in every run', () => {
    expect([share(good), share(good, good), share()]).toEqual([1, 1, 0]);
    expect(judgeTests(pinned, [run(good)]).problems).toEqual([]);
  });

  it('counts skipped, xfailed, xpassed and missing tests as failed', () => {
    for (const status of ['failed', 'error', 'skipped', 'xfailed', 'xpassed'] as const)
      expect([share(having('a', status)), share(having('c', status)), share(good, having('b', status))]).toEqual([0.5, 0, 0.5]);
    expect([share(good.slice(1)), share(good.filter(({ id }) => id !== 'c')), share([])]).toEqual([0.5, 0, 0]);
  });

  it('is void with a doubled or unknown test, an unreadable report, or a tripwire that did not fail', () => {
    expect([share([...good, { id: 'a', status: 'passed' }]), share([...good, { id: 'new', status: 'passed' }])]).toEqual([0, 0]);
    for (const status of ['passed', 'skipped', 'xfailed'] as const) expect(share(having('wire', status), good)).toBe(0);
    expect(share(good.slice(0, 3))).toBe(0);
    const unreadable = judgeTests(pinned, [run([], 'it is empty')]);
    expect([unreadable.share, unreadable.problems[0]]).toEqual([0, 'the report cannot be read: it is empty']);
  });
});
