import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ReorderBuffer } from '../../src/aggregation/folding/reorder-buffer.ts';

interface Item {
  readonly name: string;
}

const item = (index: number): Item => ({ name: `episode ${index}` });

function takeAll(buffer: ReorderBuffer<Item>): string[] {
  const taken: string[] = [];
  for (let next = buffer.take(); next !== undefined; next = buffer.take()) taken.push(next.name);
  return taken;
}

test('an early outcome waits for the gap to close', () => {
  const buffer = new ReorderBuffer<Item>(4);
  buffer.put(1, item(1));
  buffer.put(3, item(3));
  expect(takeAll(buffer)).toEqual([]);
  buffer.put(0, item(0));
  expect(takeAll(buffer)).toEqual(['episode 0', 'episode 1']);
  expect([buffer.next, buffer.size]).toEqual([2, 1]);
});

test('an index counts as seen whether it waits or was taken', () => {
  const buffer = new ReorderBuffer<Item>(2);
  buffer.put(0, item(0));
  expect([0, 1, 2, 3].map((index) => buffer.hasSeen(index))).toEqual([true, false, false, false]);
  takeAll(buffer);
  expect([0, 1, 2, 3].map((index) => buffer.hasSeen(index))).toEqual([true, false, false, false]);
  expect(() => buffer.put(0, item(0))).toThrow(RangeError);
});

test('an index too far ahead is an error of the caller', () => {
  const buffer = new ReorderBuffer<Item>(3);
  buffer.put(2, item(2));
  expect(() => buffer.put(3, item(3))).toThrow(/too far ahead/);
  expect(() => buffer.put(-1, item(-1))).toThrow(RangeError);
  expect(() => buffer.put(0.5, item(0.5))).toThrow(RangeError);
  expect(() => new ReorderBuffer<Item>(0)).toThrow(RangeError);
});

test('in any order within the window, every index comes out once and in order', () => {
  const shuffles = fc.tuple(fc.integer({ min: 1, max: 12 }), fc.array(fc.nat(), { minLength: 1, maxLength: 80 }));
  fc.assert(
    fc.property(shuffles, ([capacity, choices]) => {
      const buffer = new ReorderBuffer<Item>(capacity);
      const waiting = choices.map((_, index) => index);
      const taken: string[] = [];
      for (const choice of choices) {
        const reachable = waiting.filter((index) => index < buffer.next + capacity);
        const index = reachable[choice % reachable.length] ?? 0;
        waiting.splice(waiting.indexOf(index), 1);
        buffer.put(index, item(index));
        taken.push(...takeAll(buffer));
      }
      expect(taken).toEqual(choices.map((_, index) => `episode ${index}`));
      expect(buffer.size).toBe(0);
    }),
  );
});

test('the buffer holds its whole capacity, whatever arrives last', () => {
  const buffer = new ReorderBuffer<Item>(5000);
  const indices = Array.from({ length: 5000 }, (_, index) => index);
  for (const index of indices.toReversed()) buffer.put(index, item(index));
  expect(buffer.size).toBe(5000);
  expect(takeAll(buffer)).toEqual(indices.map((index) => item(index).name));
});
