import { describe, expect, it } from 'vitest';
import { Permits } from '../../src/pool/permits.ts';

const never = new AbortController().signal;

describe('permits', () => {
  it('are granted in the order of requests, and several at once', async () => {
    const permits = new Permits(3);
    const [one, ...others] = await permits.acquire(3, never);
    const given: string[] = [];
    const pair = permits.acquire(2, never).finally(() => given.push('pair'));
    const single = permits.acquire(1, never).finally(() => given.push('single'));
    one?.[Symbol.dispose]();
    one?.[Symbol.dispose]();
    await Promise.resolve();
    expect(given).toEqual([]);
    for (const each of others) each[Symbol.dispose]();
    await Promise.all([pair, single]);
    expect(given).toEqual(['pair', 'single']);
    for (const each of [...(await pair), ...(await single)]) each[Symbol.dispose]();
    expect(await permits.acquire(3, never)).toHaveLength(3);
  });

  it('are all of them if more are requested', async () => {
    const permits = new Permits(1);
    const both = await permits.acquire(2, never);
    expect(both).toHaveLength(2);
    const given: string[] = [];
    const next = permits.acquire(1, never).finally(() => given.push('next'));
    await Promise.resolve();
    expect(given).toEqual([]);
    for (const each of both) each[Symbol.dispose]();
    expect(await next).toHaveLength(1);
  });

  it('pass to the next request when a waiting one is cancelled, before or while they are granted', async () => {
    const permits = new Permits(1);
    const [held] = await permits.acquire(1, never);
    const called = [new AbortController(), new AbortController()];
    const refused = called.map(({ signal }) => permits.acquire(1, signal));
    const next = permits.acquire(1, never);
    called[0]?.abort(new Error('off'));
    await expect(refused[0]).rejects.toThrow('off');
    called[1]?.abort(new Error('off, too'));
    held?.[Symbol.dispose]();
    await expect(refused[1]).rejects.toThrow('off, too');
    expect(await next).toHaveLength(1);
  });
});
