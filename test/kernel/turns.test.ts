import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { EventLoopTurns } from '../../src/kernel/turns.ts';

describe('EventLoopTurns', () => {
  it('lets the first step of a turn of the event loop continue at once', async () => {
    const turns = new EventLoopTurns();
    const seen: string[] = [];
    const step = turns.next().then(() => seen.push('the step'));
    const turn = nextTurn().then(() => seen.push('the next turn'));
    await Promise.all([step, turn]);
    expect(seen).toEqual(['the step', 'the next turn']);
  });

  it('lets one step continue in each turn, in the order of their requests', async () => {
    const turns = new EventLoopTurns();
    const seen: string[] = [];
    const steps = ['a', 'b', 'c'].map((name) => turns.next().then(() => seen.push(name)));
    for (let turn = 1; turn <= 3; turn += 1) {
      await nextTurn();
      seen.push(`turn ${turn}`);
    }
    await Promise.all(steps);
    expect(seen).toEqual(['a', 'b', 'turn 1', 'c', 'turn 2', 'turn 3']);
  });

  it('runs events between two steps before the second, with their immediate effects', async () => {
    const turns = new EventLoopTurns();
    const seen: string[] = [];
    const steps = [1, 2].map((number) => turns.next().then(() => seen.push(`step ${number}`)));
    process.nextTick(() => {
      seen.push('a request');
      queueMicrotask(() => seen.push('its answer'));
    });
    await Promise.all(steps);
    expect(seen.indexOf('its answer')).toBeLessThan(seen.indexOf('step 2'));
  });

  it('runs each step in its own turn when a step requests another', async () => {
    const turns = new EventLoopTurns();
    const seen: string[] = [];
    const work = async (name: string): Promise<void> => {
      for (const part of [1, 2]) {
        await turns.next();
        seen.push(`${name}${part}`);
      }
    };
    await Promise.all([work('a'), work('b')]);
    expect(seen).toEqual(['a1', 'b1', 'a2', 'b2']);
  });
});
