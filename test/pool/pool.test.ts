import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { InfrastructureError, InputError } from '../../src/kernel/errors.ts';
import { parseSandboxId } from '../../src/kernel/ids.ts';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import { EndedEarlyError } from '../../src/pool/ports/ended-early-error.ts';
import { addExposure, type Exposure } from '../../src/pool/ports/exposure.ts';
import type { Lease } from '../../src/pool/ports/lease.ts';
import { DATA, fakePool, type FakeOccupant } from '../support/fake-pool.ts';
import { settle } from '../support/manual-clock.ts';

const never = new AbortController().signal;

/** What a promise is rejected with; watched from now on, looked at later. */
function rejection(promise: PromiseLike<unknown>): Promise<unknown> {
  return Promise.resolve(promise).then(
    () => undefined,
    (error: unknown) => error,
  );
}

async function release(lease: Lease<FakeOccupant>): Promise<void> {
  await lease[Symbol.asyncDispose]();
  await settle();
}

describe('size', () => {
  test('the minimum is created at the start, after the sweep', async () => {
    await using fake = await fakePool({ config: { min: 2 }, prepare: (provider) => (provider.leftovers = [parseSandboxId('old-1')]) });
    await fake.pool.waitUntilStarted();
    expect(fake.provider.log).toEqual(['sweep', 'create s-1', 'create s-2']);
    expect(fake.pool.state()).toMatchObject({ phase: 'open', swept: 1, sandboxes: { idle: 2 }, isolation: { mechanism: 'fake' } });
  });

  test('sandboxes are created for waiters, up to the maximum', async () => {
    await using fake = await fakePool({ config: { max: 3 } });
    const leases = Array.from({ length: 5 }, () => fake.pool.acquire(DATA, never));
    const refused = Promise.all(leases.slice(3).map(rejection));
    await fake.clock.advance(10);
    expect(fake.pool.state()).toMatchObject({ waiting: 2, sandboxes: { leased: 3 } });
    expect(fake.provider.peak).toBe(3);
    await fake.pool[Symbol.asyncDispose]();
    expect(await refused).toMatchObject([{ code: 'pool.closed' }, { code: 'pool.closed' }]);
  });

  test('warm sandboxes are kept ready beyond those in use', async () => {
    await using fake = await fakePool({ config: { warm: 1 } });
    const first = await fake.lease();
    await fake.clock.advance(10);
    expect(fake.pool.state().sandboxes).toMatchObject({ leased: 1, idle: 1 });
    expect(fake.pool.leased).toBe(1);
    await release(first);
  });

  test('long idle sandboxes end, down to the minimum, the longest idle first', async () => {
    await using fake = await fakePool({ config: { min: 1, idleSeconds: 30 } });
    const [first, second, third] = [await fake.lease(), await fake.lease(), await fake.lease()];
    await release(second);
    await fake.clock.advance(5_000);
    await release(first);
    await release(third);
    await fake.clock.advance(26_000);
    expect([...fake.provider.alive.keys()]).toEqual(['s-1', 's-3']);
    await fake.clock.advance(60_000);
    expect(fake.pool.state().sandboxes).toMatchObject({ idle: 1, destroying: 0 });
    expect(fake.provider.count('create')).toBe(3);
  });

  test('creations under way at once are bounded', async () => {
    await using fake = await fakePool({
      config: { min: 4, creationConcurrency: 2 },
      prepare: (provider) => (provider.holdCreations = true),
    });
    expect(fake.pool.state().sandboxes.creating).toBe(2);
    fake.provider.releaseCreations();
    await fake.clock.advance(10);
    expect(fake.pool.state().sandboxes.idle).toBe(4);
  });

  test('creations keep to their rate', async () => {
    await using fake = await fakePool({ config: { min: 4, creationsPerSecond: 2 } });
    expect(fake.provider.count('create')).toBe(2);
    await fake.clock.advance(499);
    expect(fake.provider.count('create')).toBe(2);
    await fake.clock.advance(1);
    expect(fake.provider.count('create')).toBe(3);
    await fake.clock.advance(500);
    expect(fake.provider.count('create')).toBe(4);
  });
});

describe('leases', () => {
  test('are granted first come, first served; a released sandbox goes straight to the first in line', async () => {
    await using fake = await fakePool({ config: { max: 1 } });
    const first = await fake.lease();
    const served: string[] = [];
    const second = fake.pool.acquire(DATA, never).then((lease) => (served.push('second'), lease));
    const third = fake.pool.acquire(DATA, never).then((lease) => (served.push('third'), lease));
    await release(first);
    expect(served).toEqual(['second']);
    await release(await second);
    expect(served).toEqual(['second', 'third']);
    expect(await third).toMatchObject({ generation: 3, sandbox: { id: 's-1' } });
  });

  test('an acquire that is aborted while it waits leaves the queue', async () => {
    await using fake = await fakePool({ config: { max: 1 } });
    const first = await fake.lease();
    const impatient = new AbortController();
    const aborted = fake.pool.acquire(DATA, impatient.signal);
    const patient = fake.pool.acquire(DATA, never);
    impatient.abort(new Error('no time'));
    await expect(aborted).rejects.toThrow('no time');
    await release(first);
    expect((await patient).generation).toBe(2);
    await expect(fake.pool.acquire(DATA, impatient.signal)).rejects.toThrow('no time');
    expect(fake.pool.state().waiting).toBe(0);
  });

  test('a lease that expires is revoked, its sandbox replaced, and its old holder changes nothing', async () => {
    await using fake = await fakePool({ config: { max: 1, leaseSeconds: 60 } });
    const stale = await fake.lease();
    const next = fake.pool.acquire(DATA, never);
    await fake.clock.advance(60_000);
    expect(stale.signal.reason).toMatchObject({ name: 'LeaseLostError', code: 'lease.lost', loss: { kind: 'expired' } });
    const current = await next;
    expect(current.sandbox.id).toBe('s-2');
    expect(() => stale.renew()).toThrow('expired');
    expect(() => stale.countEpisodes(1)).toThrow('expired');
    stale.discard('late');
    await release(stale);
    expect(current.signal.aborted).toBe(false);
    expect(fake.pool.state()).toMatchObject({ sandboxes: { leased: 1 }, totals: { revoked: 1 } });
  });

  test('a holder that released a lease cannot touch the next one of the same sandbox', async () => {
    await using fake = await fakePool({ config: { max: 1 } });
    const former = await fake.lease();
    await release(former);
    const current = await fake.lease();
    expect(current.sandbox).toBe(former.sandbox);
    expect(() => former.renew()).toThrow(expect.objectContaining({ loss: { kind: 'released' } }));
    former.discard('late');
    await release(former);
    expect(fake.pool.state().sandboxes).toMatchObject({ leased: 1, destroying: 0 });
    current.renew();
  });

  test('a lease past its time is lost even before the pool has noticed', async () => {
    await using fake = await fakePool({ config: { leaseSeconds: 60 } });
    const lease = await fake.lease();
    fake.clock.skip(60_000);
    expect(() => lease.renew()).toThrow(expect.objectContaining({ loss: { kind: 'expired' } }));
    expect(lease.signal.aborted).toBe(false);
    await release(lease);
    expect(fake.pool.state().sandboxes.leased).toBe(1);
    await fake.clock.advance(0);
    expect(lease.signal.reason).toMatchObject({ loss: { kind: 'expired' } });
  });

  test('renewing keeps a lease in force', async () => {
    await using fake = await fakePool({ config: { leaseSeconds: 60 } });
    const lease = await fake.lease();
    for (let i = 0; i < 5; i++) {
      await fake.clock.advance(50_000);
      lease.renew();
    }
    expect(lease.signal.aborted).toBe(false);
    await fake.clock.advance(60_000);
    expect(lease.signal.aborted).toBe(true);
  });

  test('a lease that came straight from the former holder expires as well', async () => {
    await using fake = await fakePool({ config: { max: 1, leaseSeconds: 60 } });
    const first = await fake.lease();
    await fake.clock.advance(50_000);
    const waiting = fake.pool.acquire(DATA, never);
    await release(first);
    const second = await waiting;
    await fake.clock.advance(60_000);
    expect(second.signal.reason).toMatchObject({ loss: { kind: 'expired' } });
  });

  test('a signal that outlives many acquires is not left with listeners', async () => {
    await using fake = await fakePool({ config: { max: 1 } });
    const { signal } = new AbortController();
    for (let i = 0; i < 3; i++) {
      const waiting = fake.pool.acquire(DATA, signal);
      await settle();
      await release(await waiting);
    }
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('a discarded sandbox is destroyed, and its holder not notified', async () => {
    await using fake = await fakePool();
    const lease = await fake.lease();
    lease.discard('protocol violation');
    await fake.clock.advance(10);
    expect(lease.signal.aborted).toBe(false);
    expect(fake.provider.alive.size).toBe(0);
    expect(() => lease.countEpisodes(1)).toThrow('released');
  });

  test('a sandbox is replaced after its episodes', async () => {
    await using fake = await fakePool({ config: { max: 1, episodesPerSandbox: 10 } });
    const first = await fake.lease();
    first.countEpisodes(9);
    await release(first);
    const second = await fake.lease();
    expect(second.sandbox.id).toBe('s-1');
    second.countEpisodes(1);
    const next = fake.pool.acquire(DATA, never);
    await release(second);
    await fake.clock.advance(10);
    expect((await next).sandbox.id).toBe('s-2');
    expect(fake.provider.log.slice(-2)).toEqual(['destroy s-1', 'create s-2']);
  });

  test('a sandbox’s past excludes other evaluations, which get a new one, but not the same evaluation', async () => {
    await using fake = await fakePool({ config: { max: 1 } });
    const code = (principal: string): Exposure => ({ kind: 'code', principal, suite: digestBytes('suite'), checkpoint: undefined });
    const acquired = async (wanted: Exposure): Promise<Lease<FakeOccupant>> => {
      const lease = fake.pool.acquire(wanted, never);
      await fake.clock.advance(10);
      const { occupant } = await lease;
      occupant.past = addExposure(occupant.past, wanted);
      return lease;
    };
    const used: string[] = [];
    for (const wanted of [code('ann'), code('ann'), code('bob'), DATA]) {
      const lease = await acquired(wanted);
      used.push(lease.sandbox.id);
      await release(lease);
    }
    expect(used).toEqual(['s-1', 's-1', 's-2', 's-3']);
    expect(fake.provider.log.filter((line) => line.startsWith('destroy'))).toEqual(['destroy s-1', 'destroy s-2']);
    expect([...fake.provider.audiences.values()]).toEqual(['ann', 'bob', DATA.principal]);
  });

  test('a released sandbox that does not suit the first waiter is not granted to a later one', async () => {
    await using fake = await fakePool({ config: { max: 1 } });
    const code: Exposure = { kind: 'code', principal: 'ann', suite: digestBytes('suite'), checkpoint: undefined };
    const first = fake.pool.acquire(code, never);
    await fake.clock.advance(10);
    (await first).occupant.past = code;
    const served: string[] = [];
    const other = fake.pool.acquire(DATA, never).then((lease) => (served.push('other'), lease));
    const same = fake.pool.acquire(code, never).then((lease) => (served.push('same'), lease));
    await release(await first);
    await fake.clock.advance(10);
    expect(served).toEqual(['other']);
    await release(await other);
    await fake.clock.advance(10);
    expect([(await other).sandbox.id, (await same).sandbox.id]).toEqual(['s-2', 's-2']);
  });

  test('an occupant that is not reusable is not leased again', async () => {
    await using fake = await fakePool({ config: { max: 1 } });
    const first = await fake.lease();
    first.occupant.reusable = false;
    const next = fake.pool.acquire(DATA, never);
    await release(first);
    await fake.clock.advance(10);
    expect((await next).sandbox.id).toBe('s-2');
  });
});

describe('death', () => {
  test('of an idle sandbox: it is replaced', async () => {
    await using fake = await fakePool({ config: { min: 1 } });
    fake.provider.sandbox('s-1').die();
    await fake.clock.advance(10);
    expect([...fake.provider.alive.keys()]).toEqual(['s-2']);
    expect(fake.pool.state().totals).toMatchObject({ created: 2, destroyed: 1, died: 1, failed: 0 });
    // For a minute it is shown as lost.
    expect(fake.pool.state().lost).toMatchObject([{ id: 's-1', detail: expect.stringContaining('exit code') }]);
    await fake.clock.advance(59_000);
    expect(fake.pool.state().lost).toHaveLength(1);
    await fake.clock.advance(1000);
    expect(fake.pool.state().lost).toEqual([]);
  });

  test('of a leased sandbox: its holder learns why', async () => {
    await using fake = await fakePool();
    const lease = await fake.lease();
    fake.provider.sandbox('s-1').die({ kind: 'out-of-memory' });
    await settle();
    expect(lease.signal.reason).toMatchObject({ loss: { kind: 'sandbox-died', detail: expect.stringContaining('memory limit') } });
    expect(() => lease.renew()).toThrow(lease.signal.reason);
    await release(lease);
    expect(fake.provider.alive.size).toBe(0);
  });

  test('of the occupant alone counts as well', async () => {
    await using fake = await fakePool();
    const lease = await fake.lease();
    lease.occupant.leave('it stopped speaking sense');
    await settle();
    expect(lease.signal.reason).toMatchObject({ loss: { kind: 'sandbox-died', detail: 'it stopped speaking sense' } });
  });

  test.each(['unanswered', 'refused'] as const)('a heartbeat %s: the idle sandbox is replaced', async (pings) => {
    await using fake = await fakePool({ config: { min: 1, heartbeatSeconds: 10 } });
    const occupant = fake.occupants.get('s-1');
    await fake.clock.advance(25_000);
    expect(occupant).toMatchObject({ pinged: 2 });
    expect(fake.provider.alive.has(parseSandboxId('s-1'))).toBe(true);
    Object.assign(occupant ?? {}, { pings });
    await fake.clock.advance(20_000);
    expect([...fake.provider.alive.keys()]).toEqual(['s-2']);
    expect(fake.pool.state().totals.died).toBe(1);
  });

  test('a ping that is refused after the sandbox was leased is left to the holder', async () => {
    await using fake = await fakePool({ config: { min: 1, heartbeatSeconds: 10 } });
    const { promise, reject } = Promise.withResolvers<void>();
    Object.assign(fake.occupants.get('s-1') ?? {}, { ping: () => promise });
    await fake.clock.advance(10_000);
    const lease = await fake.lease();
    reject(new Error('busy'));
    await settle();
    expect(lease.signal.aborted).toBe(false);
  });

  test('a leased sandbox is not pinged, and an overdue answer does not end it', async () => {
    await using fake = await fakePool({ config: { min: 1, heartbeatSeconds: 10 } });
    const occupant = fake.occupants.get('s-1');
    Object.assign(occupant ?? {}, { pings: 'unanswered' });
    await fake.clock.advance(10_000);
    const lease = await fake.lease();
    await fake.clock.advance(60_000);
    expect(lease.signal.aborted).toBe(false);
    expect(occupant).toMatchObject({ pinged: 1 });
  });
});

describe('creation that fails', () => {
  const refused = new InfrastructureError('fake.refused', 'no room');

  test('is tried again after a pause that grows, and a success ends the pause', async () => {
    await using fake = await fakePool({ prepare: (provider) => (provider.failCreation = refused) });
    const lease = fake.pool.acquire(DATA, never);
    await fake.clock.advance(249);
    expect(fake.provider.count('create')).toBe(1);
    await fake.clock.advance(1);
    expect(fake.provider.count('create')).toBe(2);
    fake.provider.failCreation = undefined;
    await fake.clock.advance(499);
    expect(fake.provider.count('create')).toBe(2);
    await fake.clock.advance(1);
    expect((await lease).sandbox.id).toBe('s-3');
    expect(fake.pool.state()).toMatchObject({ totals: { failed: 2, created: 1 }, lastErrors: { creation: 'no room' } });
  });

  test('repeatedly refuses the waiters with the cause; a later request gets another attempt', async () => {
    await using fake = await fakePool({ prepare: (provider) => (provider.failCreation = refused) });
    const waiting = Promise.all([rejection(fake.pool.acquire(DATA, never)), rejection(fake.pool.acquire(DATA, never))]);
    await fake.clock.advance(250 + 500);
    const refusal = { code: 'pool.creation-failed', kind: 'infrastructure', cause: refused };
    expect(await waiting).toMatchObject([refusal, refusal]);
    fake.provider.failCreation = undefined;
    const later = fake.pool.acquire(DATA, never);
    await fake.clock.advance(1_000);
    expect((await later).generation).toBe(1);
  });

  test('counts once for all creations that were under way together', async () => {
    await using fake = await fakePool({ config: { min: 3 }, prepare: (provider) => (provider.failCreation = refused) });
    const waiting = fake.pool.acquire(DATA, never);
    await fake.clock.advance(100);
    expect(fake.pool.state()).toMatchObject({ totals: { failed: 3 }, waiting: 1 });
    fake.provider.failCreation = undefined;
    await fake.clock.advance(150);
    expect(await waiting).toMatchObject({ generation: 1 });
  });

  test('for a permanent reason refuses the waiters with it at once', async () => {
    const error = new InputError('runner.cannot-start', 'no such program');
    const warming = Promise.withResolvers<FakeOccupant>();
    await using fake = await fakePool({ warmUp: () => warming.promise });
    const refusal = rejection(fake.pool.acquire(DATA, never));
    await fake.clock.advance(1);
    warming.reject(error);
    await settle();
    expect(await Promise.race([refusal, Promise.resolve('still waiting')])).toBe(error);
    expect(fake.provider.count('create')).toBe(1);
  });

  test('because the program ends by itself each time is an input error', async () => {
    const ended = new EndedEarlyError('runner.gone', 'the runner ended with code 1');
    await using fake = await fakePool({ warmUp: () => Promise.reject(ended) });
    const refusal = rejection(fake.pool.acquire(DATA, never));
    await fake.clock.advance(250 + 500);
    expect(await refusal).toMatchObject({ kind: 'input', code: 'runner.cannot-start', cause: ended });
    expect(await refusal).toHaveProperty(
      'message',
      expect.stringContaining('3 attempts in a row failed, the last one with: the runner ended with code 1'),
    );
  });

  test('for which the warm-up has a reason is reported with it, and not by the exit code alone', async () => {
    await using fake = await fakePool({
      config: { min: 1 },
      warmUp: async (sandbox) => {
        const exit = await sandbox.exit;
        throw new Error(`no module, ${exit.kind}`);
      },
    });
    fake.provider.sandbox('s-1').die({ kind: 'exited', code: 69 });
    await settle();
    expect(fake.pool.state().lastErrors.creation).toBe('no module, exited');
  });

  test('while a sandbox lives refuses no waiter: its holder may return it', async () => {
    await using fake = await fakePool();
    const held = await fake.lease();
    fake.provider.failCreation = refused;
    const waiting = fake.pool.acquire(DATA, never);
    await fake.clock.advance(60_000);
    await release(held);
    expect((await waiting).sandbox.id).toBe('s-1');
  });

  test('refuses who waits beside a holder whose sandbox serves nobody else, and is told once', async () => {
    await using fake = await fakePool({ config: { oneHolder: true } });
    const held = await fake.lease();
    fake.provider.failCreation = refused;
    const waiting = rejection(fake.pool.acquire(DATA, never));
    await fake.clock.advance(250 + 500);
    expect(await Promise.race([waiting, Promise.resolve('still waiting')])).toMatchObject({ code: 'pool.creation-failed', cause: refused });
    expect(fake.provider.count('create')).toBe(1 + 3);
    expect(fake.failing).toEqual([refused]);
    fake.provider.failCreation = undefined;
    const later = fake.pool.acquire(DATA, never);
    await fake.clock.advance(1_000);
    expect((await later).sandbox.id).toBe('s-5');
    fake.provider.failCreation = refused;
    const again = rejection(fake.pool.acquire(DATA, never));
    await fake.clock.advance(250 + 500);
    expect(await again).toMatchObject({ code: 'pool.creation-failed' });
    expect(fake.failing).toEqual([refused, refused]);
    await release(held);
  });

  test('a sandbox that is not ready in time is destroyed and counts as failed', async () => {
    await using fake = await fakePool({ config: { min: 1, readySeconds: 5 }, warmUp: () => new Promise(() => undefined) });
    expect(fake.pool.state().sandboxes.warming).toBe(1);
    await fake.clock.advance(5_000);
    expect(fake.provider.log).toEqual(['sweep', 'create s-1', 'destroy s-1']);
    expect(fake.pool.state().lastErrors.creation).toContain('not ready within 5 s');
  });

  test('a program that ends during warm-up fails at once, without waiting for the deadline', async () => {
    await using fake = await fakePool({ config: { min: 1 }, warmUp: () => new Promise(() => undefined) });
    fake.provider.sandbox('s-1').die({ kind: 'exited', code: 127 });
    await settle();
    expect(fake.pool.state()).toMatchObject({ totals: { failed: 1, died: 0, destroyed: 1 } });
    expect(fake.pool.state().lastErrors.creation).toContain('exit code 127');
  });

  test('a template that the provider refuses stops the pool, and every waiter learns why', async () => {
    const error = new InputError('template.demands', 'memory limits are not enforceable here');
    await using fake = await fakePool({ prepare: (provider) => (provider.failDescription = error) });
    await expect(fake.pool.waitUntilStarted()).rejects.toBe(error);
    await expect(fake.pool.acquire(DATA, never)).rejects.toBe(error);
  });

  test('a sweep that fails is reported and stops nothing', async () => {
    await using fake = await fakePool({ config: { min: 1 }, prepare: (provider) => (provider.failSweep = refused) });
    expect(fake.pool.state()).toMatchObject({ swept: undefined, lastErrors: { sweep: 'no room' }, sandboxes: { idle: 1 } });
  });
});

describe('the end', () => {
  test('draining lets leases finish, ends the idle, and grants nothing more', async () => {
    await using fake = await fakePool({ config: { min: 2, max: 2 } });
    const lease = await fake.lease();
    const drained = fake.pool.drain(never);
    await fake.clock.advance(10);
    expect([...fake.provider.alive.keys()]).toEqual([lease.sandbox.id]);
    expect(lease.signal.aborted).toBe(false);
    await expect(fake.pool.acquire(DATA, never)).rejects.toMatchObject({ code: 'pool.closed' });
    await release(lease);
    await drained;
    expect(fake.pool.state()).toMatchObject({ phase: 'draining', totals: { created: 2, destroyed: 2 } });
  });

  test('draining refuses the waiters', async () => {
    await using fake = await fakePool({ config: { max: 1 } });
    const lease = await fake.lease();
    const waiting = rejection(fake.pool.acquire(DATA, never));
    const drained = fake.pool.drain(never);
    expect(await waiting).toMatchObject({ code: 'pool.closed' });
    await release(lease);
    await drained;
  });

  test('draining can be cancelled', async () => {
    await using fake = await fakePool();
    const lease = await fake.lease();
    const patience = new AbortController();
    const drained = rejection(fake.pool.drain(patience.signal));
    patience.abort(new Error('no patience'));
    expect(await drained).toBe(patience.signal.reason);
    await release(lease);
  });

  test('disposing revokes leases, refuses the waiters and destroys everything', async () => {
    const fake = await fakePool({ config: { max: 1 } });
    const lease = await fake.lease();
    const waiting = rejection(fake.pool.acquire(DATA, never));
    await fake[Symbol.asyncDispose]();
    expect(await waiting).toMatchObject({ code: 'pool.closed' });
    expect(lease.signal.reason).toMatchObject({ loss: { kind: 'pool-disposed' } });
    expect(fake.provider.log.slice(-1)).toEqual(['destroy s-1']);
    await fake.pool[Symbol.asyncDispose]();
  });

  test('disposing abandons the creations under way', async () => {
    const fake = await fakePool({ config: { min: 2 }, prepare: (provider) => (provider.holdCreations = true) });
    expect(fake.pool.state().sandboxes.creating).toBe(2);
    await fake[Symbol.asyncDispose]();
    expect(fake.pool.state()).toMatchObject({ sandboxes: { creating: 0, destroying: 0 }, totals: { created: 0, failed: 0 } });
  });

  test('a sandbox that is created after the pool was disposed is destroyed', async () => {
    const fake = await fakePool({
      config: { min: 1 },
      prepare: (provider) => Object.assign(provider, { holdCreations: true, ignoreAbort: true }),
    });
    const disposed = fake[Symbol.asyncDispose]();
    await settle();
    fake.provider.releaseCreations();
    await disposed;
    expect(fake.provider.log).toEqual(['sweep', 'create s-1', 'destroy s-1']);
    expect(fake.occupants.size, 'it is not warmed up first').toBe(0);
  });

  test('a creation that never ends is given up and reported, and its sandbox destroyed if it still appears', async () => {
    const fake = await fakePool({
      config: { min: 1 },
      prepare: (provider) => Object.assign(provider, { holdCreations: true, ignoreAbort: true }),
    });
    const disposed = rejection(fake[Symbol.asyncDispose]());
    await fake.clock.advance(30_000);
    expect(await disposed).toMatchObject({ message: expect.stringContaining('creation of sandbox s-1 was abandoned') });
    fake.provider.releaseCreations();
    await settle();
    expect(fake.provider.alive.size).toBe(0);
    expect(fake.clock.pending).toBe(0);
  });

  test('destroying is tried again when it fails', async () => {
    await using fake = await fakePool();
    const lease = await fake.lease();
    fake.provider.failDestructions = 2;
    lease.discard('done');
    await fake.clock.advance(60_000);
    expect(fake.provider.count('destroy')).toBe(3);
    expect(fake.pool.state().totals).toMatchObject({ destroyed: 1, abandoned: 0 });
  });

  test('a sandbox that cannot be destroyed is named at the end', async () => {
    const fake = await fakePool();
    await fake.lease();
    fake.provider.failDestructions = 3;
    const disposed = rejection(fake.pool[Symbol.asyncDispose]());
    await fake.clock.advance(60_000);
    expect(await disposed).toMatchObject({ message: expect.stringMatching(/sandbox s-1 could not be destroyed.*does not let go/) });
    expect(fake.pool.state().totals).toMatchObject({ abandoned: 1 });
  });

  test('disposing before the pool has started leaves nothing', async () => {
    const fake = await fakePool();
    await fake[Symbol.asyncDispose]();
    expect(fake.provider.log).toEqual(['sweep']);
  });
});

describe('a pool that is resized', () => {
  test('serves waiters when it grows, and ends idle sandboxes when it shrinks', async () => {
    await using fixture = await fakePool({ config: { max: 1, idleSeconds: 10 } });
    const { pool, clock, provider } = fixture;
    const first = await fixture.lease();
    const second = pool.acquire(DATA, new AbortController().signal);
    await clock.advance(10);
    expect(provider.alive.size).toBe(1);
    pool.resize({ min: 0, max: 2, warm: 0 });
    await clock.advance(10);
    const lease = await second;
    expect(provider.alive.size).toBe(2);
    pool.resize({ min: 0, max: 0, warm: 0 });
    await lease[Symbol.asyncDispose]();
    await clock.advance(10_000);
    expect(provider.alive.size).toBe(1);
    await first[Symbol.asyncDispose]();
    await clock.advance(10_000);
    expect(provider.alive.size).toBe(0);
  });
});
