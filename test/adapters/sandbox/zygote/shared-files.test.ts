import { describe, expect, it } from 'vitest';
import { SharedFiles } from '../../../../src/adapters/sandbox/zygote/shared-files.ts';
import type { SharedContent } from '../../../../src/pool/ports/shared-content.ts';

const never = new AbortController().signal;

/** An inbox that keeps what it receives, and finishes each removal only when the test lets it. */
class SlowInbox {
  readonly files = new Set<string>();
  readonly removals: PromiseWithResolvers<void>[] = [];
  deliveries = 0;

  readonly receive = async (file: string): Promise<string> => {
    await Promise.resolve();
    this.deliveries += 1;
    this.files.add(file);
    return `/inbox/${file}`;
  };

  readonly remove = async (name: string): Promise<void> => {
    const removal = Promise.withResolvers<void>();
    this.removals.push(removal);
    await removal.promise;
    for (const file of this.files) if (file.startsWith(`${name}/`)) this.files.delete(file);
  };
}

function policy(digest: string, between: (signal: AbortSignal) => Promise<void> = () => Promise.resolve()): SharedContent {
  return {
    kind: 'policy',
    digest,
    trusted: false,
    async deliver(target, signal) {
      const path = await target.upload(`${digest}/weights`, { kind: 'file', hostPath: '/weights' }, signal);
      await between(signal);
      return path;
    },
  };
}

function setUp(): { inbox: SlowInbox; places: SharedFiles; problems: unknown[] } {
  const inbox = new SlowInbox();
  const problems: unknown[] = [];
  return { inbox, problems, places: new SharedFiles(inbox, (problem) => problems.push(problem)) };
}

describe('a content that zygotes load', () => {
  it('is delivered once, under its own name, and stays until its last holder releases it', async () => {
    const { inbox, places } = setUp();
    const [one, another] = await Promise.all([places.hold(policy('a'), never), places.hold(policy('a'), never)]);
    expect([one.path, another.path]).toEqual(['/inbox/a/weights', '/inbox/a/weights']);
    expect(inbox.deliveries).toBe(1);
    one[Symbol.dispose]();
    one[Symbol.dispose]();
    await Promise.resolve();
    expect(inbox.removals).toHaveLength(0);
    another[Symbol.dispose]();
    await expect.poll(() => inbox.removals.length).toBe(1);
  });

  it('is delivered again once nothing is left of it', async () => {
    const { inbox, places } = setUp();
    (await places.hold(policy('a'), never))[Symbol.dispose]();
    await expect.poll(() => inbox.removals.length).toBe(1);
    const again = places.hold(policy('a'), never);
    await Promise.resolve();
    expect(inbox.deliveries).toBe(1);
    inbox.removals[0]?.resolve();
    expect((await again).path).toBe('/inbox/a/weights');
    expect(inbox.deliveries).toBe(2);
    expect([...inbox.files]).toEqual(['a/weights']);
  });

  it('is held by every caller that asks before the last release, in the same turn or not', async () => {
    const { inbox, places } = setUp();
    const first = await places.hold(policy('a'), never);
    const second = places.hold(policy('a'), never);
    first[Symbol.dispose]();
    await second;
    expect(inbox.removals).toHaveLength(0);
    expect([...inbox.files]).toEqual(['a/weights']);
  });

  it('is delivered by the next caller when the first was cancelled', async () => {
    const { inbox, places } = setUp();
    const calledOff = new AbortController();
    const first = places.hold(
      policy('a', async (signal) => {
        calledOff.abort(new Error('called off'));
        await Promise.resolve();
        signal.throwIfAborted();
      }),
      calledOff.signal,
    );
    const second = places.hold(policy('a'), never);
    await expect(first).rejects.toThrow('called off');
    await expect.poll(() => inbox.removals.length).toBe(1);
    inbox.removals[0]?.resolve();
    expect((await second).path).toBe('/inbox/a/weights');
    expect([...inbox.files]).toEqual(['a/weights']);
  });

  it('that cannot be delivered fails for every caller that has tried, and leaves nothing', async () => {
    const { inbox, places } = setUp();
    const broken = policy('a', () => Promise.reject(new Error('the disk is full')));
    const both = Promise.allSettled([places.hold(broken, never), places.hold(broken, never)]);
    await expect.poll(() => inbox.removals.length).toBe(1);
    inbox.removals[0]?.resolve();
    await expect.poll(() => inbox.removals.length).toBe(2);
    inbox.removals[1]?.resolve();
    expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect.poll(() => inbox.files.size).toBe(0);
  });

  it('that cannot be removed is reported', async () => {
    const { inbox, places, problems } = setUp();
    (await places.hold(policy('a'), never))[Symbol.dispose]();
    await expect.poll(() => inbox.removals.length).toBe(1);
    inbox.removals[0]?.reject(new Error('not empty'));
    await expect.poll(() => problems).toEqual([new Error('not empty')]);
  });

  it('is not awaited any more by a caller that aborts, and still by all others', async () => {
    const { inbox, places } = setUp();
    const { promise, resolve } = Promise.withResolvers<void>();
    const patient = places.hold(
      policy('a', () => promise),
      never,
    );
    const calledOff = new AbortController();
    const impatient = places.hold(policy('a'), calledOff.signal);
    calledOff.abort(new Error('called off'));
    await expect(impatient).rejects.toThrow('called off');
    resolve();
    expect((await patient).path).toBe('/inbox/a/weights');
    expect(inbox.removals).toHaveLength(0);
  });
});
