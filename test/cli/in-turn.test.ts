import { describe, expect, it } from 'vitest';
import { runInTurn } from '../../src/cli/terminal/in-turn.ts';
import { settle } from '../support/manual-clock.ts';

describe('tasks in a row', () => {
  it('get ready during the turn of the one before, and get their own turn on request', async () => {
    const log: string[] = [];
    const results = runInTurn(3, async (position, { after }) => {
      log.push(`${position} gets ready`);
      await after;
      log.push(`${position} is done`);
      return position;
    });
    for await (const result of results) {
      await settle();
      log.push(`${result} is taken`);
    }
    expect(log).toEqual([
      '0 gets ready',
      '1 gets ready',
      '0 is done',
      '0 is taken',
      '2 gets ready',
      '1 is done',
      '1 is taken',
      '2 is done',
      '2 is taken',
    ]);
  });

  it('are abandoned when no more are requested', async () => {
    const ends: string[] = [];
    const results = runInTurn(3, async (position, { after, abandoned }) => {
      const { promise, resolve } = Promise.withResolvers<string>();
      abandoned.addEventListener('abort', () => resolve('abandoned'));
      ends.push(`${position} ${await Promise.race([after.then(() => 'done'), promise])}`);
      return position;
    });
    for await (const _result of results) break;
    expect(ends).toEqual(['0 done', '1 abandoned']);
  });
});
