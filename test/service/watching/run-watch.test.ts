import { describe, expect, it } from 'vitest';
import { InfrastructureError, InputError } from '../../../src/kernel/errors.ts';
import { raceWithAbort } from '../../../src/kernel/abort.ts';
import { CheckpointChangedError } from '../../../src/policy-distribution/checkpoint-source.ts';
import { settle } from '../../support/manual-clock.ts';
import { scoreWith, WatchFixture } from './watch-fixture.ts';

const AN_HOUR = 3600;

describe('a watch of a run', () => {
  it('evaluates a checkpoint once it is unchanged for a while, and not while it grows', async () => {
    const fixture = new WatchFixture();
    const ended = fixture.start();
    fixture.put('step-1.safetensors', 10);
    await fixture.pass(20);
    fixture.put('step-1.safetensors', 20);
    await fixture.pass(20);
    expect(fixture.evaluated).toEqual([]);
    await fixture.pass(30);
    expect(fixture.evaluated).toEqual(['/run/step-1.safetensors']);
    fixture.stop();
    await expect(ended).rejects.toMatchObject({ name: 'AbortError' });
    expect(fixture.clock.pending).toBe(0);
  });

  it('evaluates a checkpoint as soon as its marker is there, and never without', async () => {
    const fixture = new WatchFixture();
    const ended = fixture.start({ marker: 'DONE' });
    fixture.put('step-1/model.safetensors');
    fixture.put('step-2.onnx');
    await fixture.pass(AN_HOUR);
    expect(fixture.evaluated).toEqual([]);
    fixture.put('step-1/DONE');
    await fixture.pass(30);
    expect(fixture.evaluated).toEqual(['/run/step-1/']);
    fixture.put('step-2.onnx.DONE');
    await fixture.pass(30);
    expect(fixture.evaluated).toEqual(['/run/step-1/', '/run/step-2.onnx']);
    fixture.stop();
    await expect(ended).rejects.toThrow('interrupted');
  });

  it('takes the newest first and skips older ones, as people count', async () => {
    const fixture = new WatchFixture();
    for (const step of [90, 1000, 200]) fixture.put(`step-${step}.pt`);
    await fixture.start({ once: true, everyMs: 0 });
    expect(fixture.evaluated).toEqual(['/run/step-1000.pt']);
    expect(fixture.events.filter(({ event }) => event === 'skipped').map(({ name }) => name)).toEqual(['step-200.pt', 'step-90.pt']);
  });

  it('with the policy for all, also evaluates older ones, the newest first', async () => {
    const fixture = new WatchFixture();
    for (const step of [90, 1000, 200]) fixture.put(`step-${step}.pt`);
    await fixture.start({ once: true, everyMs: 0, stale: 'evaluate' });
    expect(fixture.evaluated).toEqual(['/run/step-1000.pt', '/run/step-200.pt', '/run/step-90.pt']);
  });

  it('evaluates what an earlier watch skipped where older ones are evaluated as well', async () => {
    const fixture = new WatchFixture();
    for (const step of [90, 1000]) fixture.put(`step-${step}.pt`);
    for (const stale of ['skip', 'skip', 'evaluate', 'evaluate'] as const) await fixture.start({ once: true, everyMs: 0, stale });
    expect(fixture.evaluated).toEqual(['/run/step-1000.pt', '/run/step-90.pt']);
  });

  it('continues with newer checkpoints when an evaluation is over', async () => {
    const fixture = new WatchFixture();
    fixture.put('step-1.pt');
    const first = Promise.withResolvers<void>();
    fixture.answers.set('step-1.pt', async () => {
      await first.promise;
      return scoreWith('step-1.pt', 1);
    });
    const ended = fixture.start();
    await fixture.pass(60);
    fixture.put('step-2.pt');
    fixture.put('step-3.pt');
    first.resolve();
    await fixture.pass(60);
    expect(fixture.evaluated).toEqual(['/run/step-1.pt', '/run/step-3.pt']);
    fixture.stop();
    await expect(ended).rejects.toThrow('interrupted');
  });

  it('with the policy for the newest, gives up an evaluation for a newer complete checkpoint, and not for an older one', async () => {
    const fixture = new WatchFixture();
    const under = (name: string): void =>
      void fixture.answers.set(name, (signal) => {
        const { promise, resolve } = Promise.withResolvers<ReturnType<typeof scoreWith>>();
        // What has been played by then is answered: it is no answer to what was asked.
        signal.addEventListener('abort', () => resolve(scoreWith(name, 1)));
        return promise;
      });
    under('step-2.pt');
    fixture.put('step-2.pt');
    const ended = fixture.start({ stale: 'cancel' });
    await fixture.pass(60);
    fixture.put('step-1.pt');
    await fixture.pass(300);
    expect(fixture.events).toEqual([]);
    fixture.put('step-3.pt');
    await fixture.pass(30);
    // It may still grow.
    expect(fixture.events).toEqual([]);
    await fixture.pass(60);
    expect(fixture.events.map((event) => `${event.event} ${event.name}`)).toEqual([
      'cancelled step-2.pt',
      'skipped step-1.pt',
      'evaluated step-3.pt',
    ]);
    expect(fixture.events[0]).toEqual({ event: 'cancelled', name: 'step-2.pt', by: 'step-3.pt' });
    expect(fixture.remembered.best?.name).toBe('step-3.pt');
    fixture.stop();
    await expect(ended).rejects.toThrow('interrupted');
    expect(fixture.clock.pending).toBe(0);
  });

  it('with the policy to finish, completes an evaluation whatever comes', async () => {
    const fixture = new WatchFixture();
    const first = Promise.withResolvers<void>();
    fixture.put('step-1.pt');
    fixture.answers.set('step-1.pt', async (signal) => {
      await first.promise;
      signal.throwIfAborted();
      return scoreWith('step-1.pt', 1);
    });
    const ended = fixture.start({ stale: 'skip' });
    await fixture.pass(60);
    fixture.put('step-2.pt');
    await fixture.pass(300);
    expect(fixture.evaluated).toEqual(['/run/step-1.pt']);
    first.resolve();
    await fixture.pass(60);
    expect(fixture.events.map((event) => `${event.event} ${event.name}`)).toEqual(['evaluated step-1.pt', 'evaluated step-2.pt']);
    fixture.stop();
    await expect(ended).rejects.toThrow('interrupted');
  });

  it('prepares the next checkpoint during an evaluation, another if a newer one comes, and drops it when the watch ends', async () => {
    const fixture = new WatchFixture();
    const [first, third] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    for (const [name, gate] of [
      ['step-1.pt', first],
      ['step-3.pt', third],
    ] as const)
      fixture.answers.set(name, async (signal) => {
        await raceWithAbort(gate.promise, signal);
        return scoreWith(name, 1);
      });
    fixture.put('step-1.pt');
    const ended = fixture.start();
    await fixture.pass(60);
    fixture.put('step-2.pt');
    await fixture.pass(90);
    expect(fixture.readied).toEqual(['step-2.pt']);
    fixture.put('step-3.pt');
    await fixture.pass(90);
    expect([...fixture.readied].sort()).toEqual(['no step-2.pt', 'step-2.pt', 'step-3.pt']);
    first.resolve();
    await fixture.pass(60);
    expect(fixture.evaluated).toEqual(['/run/step-1.pt', '/run/step-3.pt']);
    fixture.put('step-4.pt');
    await fixture.pass(90);
    fixture.stop();
    await expect(ended).rejects.toThrow('interrupted');
    expect(fixture.readied.slice(-2)).toEqual(['step-4.pt', 'no step-4.pt']);
    expect([fixture.evaluated.length, fixture.clock.pending]).toEqual([2, 0]);
  });

  it('evaluates a name again when its file has changed', async () => {
    const fixture = new WatchFixture();
    fixture.put('latest.pt');
    await fixture.start({ once: true, everyMs: 0 });
    await fixture.start({ once: true, everyMs: 0 });
    expect(fixture.evaluated).toHaveLength(1);
    fixture.put('latest.pt');
    await fixture.start({ once: true, everyMs: 0 });
    expect(fixture.evaluated).toHaveLength(2);
  });

  it('compares each with the best so far, which only a certainly better one replaces', async () => {
    const fixture = new WatchFixture();
    const worth = { 'step-1.pt': 10, 'step-2.pt': 5, 'step-3.pt': 11, 'step-4.pt': 20 };
    for (const [name, mean] of Object.entries(worth)) {
      fixture.put(name);
      fixture.answers.set(name, async () => scoreWith(name, mean));
      await fixture.start({ once: true, everyMs: 0 });
    }
    const standings = fixture.events.flatMap((event) =>
      event.event === 'evaluated' ? [[event.name, event.standing, event.best.name]] : [],
    );
    expect(standings).toEqual([
      ['step-1.pt', 'first', 'step-1.pt'],
      ['step-2.pt', 'worse', 'step-1.pt'],
      ['step-3.pt', 'undecided', 'step-1.pt'],
      ['step-4.pt', 'better', 'step-4.pt'],
    ]);
    expect(fixture.remembered.best?.name).toBe('step-4.pt');
    expect(fixture.pointed.at(-1)).toBe('step-4.pt');
  });

  it('writes the record of the best later if it could not be written', async () => {
    const fixture = new WatchFixture();
    fixture.put('step-1.pt');
    fixture.isPointable = false;
    await fixture.start({ once: true, everyMs: 0 });
    expect(fixture.pointed).toEqual([]);
    fixture.isPointable = true;
    await fixture.start({ once: true, everyMs: 0 });
    expect(fixture.pointed).toEqual(['step-1.pt']);
  });
});

describe('a watch that is started again', () => {
  it('evaluates nothing twice', async () => {
    const fixture = new WatchFixture();
    fixture.put('step-1.pt');
    await fixture.start({ once: true, everyMs: 0 });
    fixture.put('step-2.pt');
    await fixture.start({ once: true, everyMs: 0 });
    expect(fixture.evaluated).toEqual(['/run/step-1.pt', '/run/step-2.pt']);
  });

  it('evaluates an interrupted checkpoint again', async () => {
    const fixture = new WatchFixture();
    fixture.put('step-1.pt');
    fixture.answers.set('step-1.pt', (signal) => {
      fixture.answers.clear();
      const { promise, reject } = Promise.withResolvers<never>();
      signal.addEventListener('abort', () => reject(signal.reason));
      return promise;
    });
    const ended = fixture.start();
    await fixture.pass(30);
    fixture.stop();
    await expect(ended).rejects.toThrow('interrupted');
    expect(fixture.remembered.settled).toEqual([]);
    const again = new WatchFixture();
    again.remembered = fixture.remembered;
    again.put('step-1.pt');
    await again.start({ once: true, everyMs: 0 });
    expect(again.evaluated).toEqual(['/run/step-1.pt']);
  });

  it('retries a checkpoint that could not be played', async () => {
    const fixture = new WatchFixture();
    fixture.put('step-1.pt');
    fixture.answers.set('step-1.pt', () => Promise.reject(new InputError('checkpoint.refused', 'no torch')));
    await fixture.start({ once: true, everyMs: 0 });
    expect(fixture.events).toEqual([{ event: 'refused', name: 'step-1.pt', code: 'checkpoint.refused', message: 'no torch' }]);
    fixture.answers.clear();
    await fixture.start({ once: true, everyMs: 0 });
    expect(fixture.remembered.best?.name).toBe('step-1.pt');
  });

  it('evaluates a skipped checkpoint when the newer one could not be played and is gone', async () => {
    const fixture = new WatchFixture();
    for (const name of ['step-1.pt', 'step-2.pt', 'step-3.pt']) fixture.put(name);
    fixture.answers.set('step-3.pt', () => Promise.reject(new InputError('checkpoint.refused', 'two files of weights')));
    await fixture.start({ once: true, everyMs: 0 });
    expect(fixture.evaluated).toEqual(['/run/step-3.pt']);
    fixture.files.delete('step-3.pt');
    await fixture.start({ once: true, everyMs: 0 });
    await fixture.start({ once: true, everyMs: 0 });
    expect(fixture.evaluated).toEqual(['/run/step-3.pt', '/run/step-2.pt']);
  });
});

describe('a watch in trouble', () => {
  it('waits for a run that has written nothing yet', async () => {
    const fixture = new WatchFixture();
    fixture.listing = () => Promise.reject(new InputError('checkpoint.missing', 'nothing there'));
    const ended = fixture.start();
    await fixture.pass(AN_HOUR);
    expect(fixture.events).toEqual([{ event: 'troubled', name: '/run', message: 'nothing there' }]);
    fixture.listing = undefined;
    fixture.put('step-1.pt');
    await fixture.pass(60);
    expect(fixture.evaluated).toEqual(['/run/step-1.pt']);
    fixture.stop();
    await expect(ended).rejects.toThrow('interrupted');
  });

  it('survives an outage of the store, and ends with its error if the outage lasts', async () => {
    const fixture = new WatchFixture();
    fixture.put('step-1.pt');
    fixture.listing = () => Promise.reject(new InfrastructureError('checkpoint.read', 'the store is away'));
    const ended = fixture.start();
    await fixture.pass(AN_HOUR);
    fixture.listing = undefined;
    await fixture.pass(60);
    expect(fixture.evaluated).toHaveLength(1);
    fixture.listing = () => Promise.reject(new InfrastructureError('checkpoint.read', 'the store is away'));
    await fixture.pass(24 * AN_HOUR);
    await expect(ended).rejects.toThrow('the store is away');
  });

  it('reads a checkpoint again that changed while it was read', async () => {
    const fixture = new WatchFixture();
    fixture.put('step-1.pt');
    fixture.answers.set('step-1.pt', () => {
      fixture.answers.clear();
      return Promise.reject(new CheckpointChangedError('/run/step-1.pt', 'it grew'));
    });
    const ended = fixture.start();
    await fixture.pass(60);
    expect(fixture.remembered.best?.name).toBe('step-1.pt');
    fixture.stop();
    await expect(ended).rejects.toThrow('interrupted');
  });

  it('ends when consecutive evaluations fail because of the machine', async () => {
    const fixture = new WatchFixture();
    fixture.put('step-1.pt');
    fixture.answers.set('step-1.pt', () => Promise.reject(new InfrastructureError('sandbox.unavailable', 'no sandboxes')));
    const ended = fixture.start();
    await fixture.pass(300);
    await expect(ended).rejects.toThrow('no sandboxes');
    expect(fixture.evaluated).toHaveLength(3);
  });

  it('with --once is refused for a missing run', async () => {
    const fixture = new WatchFixture();
    fixture.listing = () => Promise.reject(new InputError('checkpoint.missing', 'nothing there'));
    await expect(fixture.start({ once: true, everyMs: 0 })).rejects.toThrow('nothing there');
  });

  it('is refused for a file', async () => {
    const fixture = new WatchFixture();
    fixture.listing = async () => ({ kind: 'file', files: [] });
    await expect(fixture.start()).rejects.toMatchObject({ kind: 'input', code: 'watch.file' });
    await settle();
    expect(fixture.clock.pending).toBe(0);
  });
});
