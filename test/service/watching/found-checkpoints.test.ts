import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ListedFile } from '../../../src/policy-distribution/checkpoint-source.ts';
import { findCheckpointsIn, compareNames, sortNewestFirst } from '../../../src/service/watching/found-checkpoints.ts';

const file = (path: string, revision = 'one'): ListedFile => ({ path, size: 1, address: `/run/${path}`, revision });
const names = (paths: readonly string[]): readonly string[] =>
  findCheckpointsIn(
    paths.map((path) => file(path)),
    undefined,
  ).map(({ name }) => name);

describe('the files of a run', () => {
  it('contain as checkpoints weights, and directories with weights', () => {
    expect(names(['a.safetensors', 'b.onnx', 'c/model.safetensors', 'c/deep/x', 'd/e/model-00001-of-00002.safetensors'])).toEqual([
      'a.safetensors',
      'b.onnx',
      'c',
      'd',
    ]);
  });

  it('contain much else', () => {
    expect(names(['best.json', 'log.txt', 'tensorboard/events.1', 'a.safetensors.tmp', '.safetensors-not'])).toEqual([]);
  });

  it('give a directory’s version by all of its files', () => {
    const before = findCheckpointsIn([file('c/m.onnx'), file('c/x')], undefined)[0]?.fingerprint;
    expect(findCheckpointsIn([file('c/x'), file('c/m.onnx')], undefined)[0]?.fingerprint).toBe(before);
    expect(findCheckpointsIn([file('c/x', 'two'), file('c/m.onnx')], undefined)[0]?.fingerprint).not.toBe(before);
    expect(findCheckpointsIn([file('c/m.onnx')], undefined)[0]?.fingerprint).not.toBe(before);
  });

  it('give an ONNX model’s version also by the weights beside it', () => {
    const both = (revision: string) => findCheckpointsIn([file('p.onnx'), file('p.onnx.data', revision)], undefined);
    expect(both('one').map(({ name, kind }) => [name, kind])).toEqual([['p.onnx', 'file']]);
    expect(both('two')[0]?.fingerprint).not.toBe(both('one')[0]?.fingerprint);
  });

  it('are ordered as people count, and so are any two names', () => {
    expect(
      sortNewestFirst(
        findCheckpointsIn(
          ['step-9.pt', 'step-10.pt', 'step-0100.pt'].map((path) => file(path)),
          undefined,
        ),
      ).map(({ name }) => name),
    ).toEqual(['step-0100.pt', 'step-10.pt', 'step-9.pt']);
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        fc.pre(a !== b);
        expect(Math.sign(compareNames(a, b))).toBe(-Math.sign(compareNames(b, a)));
      }),
    );
  });
});
