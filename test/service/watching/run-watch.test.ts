import { describe, expect, it } from 'vitest';
import { InfrastructureError, InputError } from '../../../src/kernel/errors.ts';
import { raceWithAbort } from '../../../src/kernel/abort.ts';
import { CheckpointChangedError } from '../../../src/policy-distribution/checkpoint-source.ts';
import { settle } from '../../support/manual-clock.ts';
import { scoreWith, WatchScene } from './watch-scene.ts';

const AN_HOUR = 3600;

describe('a watch of a run', () => {
  it('evaluates a checkpoint once it has stayed as it is, and not while it grows', async () => {
    const scene = new WatchScene();
    const ended = scene.start();
    scene.put('step-1.safetensors', 10);
    await scene.pass(20);
    scene.put('step-1.safetensors', 20);
    await scene.pass(20);
    expect(scene.evaluated).toEqual([]);
    await scene.pass(30);
    expect(scene.evaluated).toEqual(['/run/step-1.safetensors']);
    scene.stop();
    await expect(ended).rejects.toMatchObject({ name: 'AbortError' });
    expect(scene.clock.pending).toBe(0);
  });

  it('evaluates a checkpoint as soon as its marker is there, and never without', async () => {
    const scene = new WatchScene();
    const ended = scene.start({ marker: 'DONE' });
    scene.put('step-1/model.safetensors');
    scene.put('step-2.onnx');
    await scene.pass(AN_HOUR);
    expect(scene.evaluated).toEqual([]);
    scene.put('step-1/DONE');
    await scene.pass(30);
    expect(scene.evaluated).toEqual(['/run/step-1/']);
    scene.put('step-2.onnx.DONE');
    await scene.pass(30);
    expect(scene.evaluated).toEqual(['/run/step-1/', '/run/step-2.onnx']);
    scene.stop();
    await expect(ended).rejects.toThrow('interrupted');
  });

  it('takes the newest first and leaves out what it has overtaken, as people count', async () => {
    const scene = new WatchScene();
    for (const step of [90, 1000, 200]) scene.put(`step-${step}.pt`);
    await scene.start({ once: true, everyMs: 0 });
    expect(scene.evaluated).toEqual(['/run/step-1000.pt']);
    expect(scene.events.filter(({ event }) => event === 'skipped').map(({ name }) => name)).toEqual(['step-200.pt', 'step-90.pt']);
  });

  it('evaluates older ones as well where that is the policy, the newest first', async () => {
    const scene = new WatchScene();
    for (const step of [90, 1000, 200]) scene.put(`step-${step}.pt`);
    await scene.start({ once: true, everyMs: 0, stale: 'evaluate' });
    expect(scene.evaluated).toEqual(['/run/step-1000.pt', '/run/step-200.pt', '/run/step-90.pt']);
  });

  it('turns to what has come meanwhile when an evaluation is over', async () => {
    const scene = new WatchScene();
    scene.put('step-1.pt');
    const first = Promise.withResolvers<void>();
    scene.answers.set('step-1.pt', async () => {
      await first.promise;
      return scoreWith('step-1.pt', 1);
    });
    const ended = scene.start();
    await scene.pass(60);
    scene.put('step-2.pt');
    scene.put('step-3.pt');
    first.resolve();
    await scene.pass(60);
    expect(scene.evaluated).toEqual(['/run/step-1.pt', '/run/step-3.pt']);
    scene.stop();
    await expect(ended).rejects.toThrow('interrupted');
  });

  it('gives up the one that it evaluates for a newer one that is complete, where that is the policy, and not for an older one', async () => {
    const scene = new WatchScene();
    const under = (name: string): void =>
      void scene.answers.set(name, (signal) => {
        const { promise, resolve } = Promise.withResolvers<ReturnType<typeof scoreWith>>();
        // What has been played by then is answered: it is no answer to what was asked.
        signal.addEventListener('abort', () => resolve(scoreWith(name, 1)));
        return promise;
      });
    under('step-2.pt');
    scene.put('step-2.pt');
    const ended = scene.start({ stale: 'cancel' });
    await scene.pass(60);
    scene.put('step-1.pt');
    await scene.pass(300);
    expect(scene.events).toEqual([]);
    scene.put('step-3.pt');
    await scene.pass(30);
    // It may still grow.
    expect(scene.events).toEqual([]);
    await scene.pass(60);
    expect(scene.events.map((event) => `${event.event} ${event.name}`)).toEqual([
      'cancelled step-2.pt',
      'skipped step-1.pt',
      'evaluated step-3.pt',
    ]);
    expect(scene.events[0]).toEqual({ event: 'cancelled', name: 'step-2.pt', by: 'step-3.pt' });
    expect(scene.remembered.best?.name).toBe('step-3.pt');
    scene.stop();
    await expect(ended).rejects.toThrow('interrupted');
    expect(scene.clock.pending).toBe(0);
  });

  it('finishes the one that it evaluates, whatever comes, where that is the policy', async () => {
    const scene = new WatchScene();
    const first = Promise.withResolvers<void>();
    scene.put('step-1.pt');
    scene.answers.set('step-1.pt', async (signal) => {
      await first.promise;
      signal.throwIfAborted();
      return scoreWith('step-1.pt', 1);
    });
    const ended = scene.start({ stale: 'skip' });
    await scene.pass(60);
    scene.put('step-2.pt');
    await scene.pass(300);
    expect(scene.evaluated).toEqual(['/run/step-1.pt']);
    first.resolve();
    await scene.pass(60);
    expect(scene.events.map((event) => `${event.event} ${event.name}`)).toEqual(['evaluated step-1.pt', 'evaluated step-2.pt']);
    scene.stop();
    await expect(ended).rejects.toThrow('interrupted');
  });

  it('makes the next one ready while one is evaluated, another when a newer one comes, and nothing of it when the watch ends', async () => {
    const scene = new WatchScene();
    const [first, third] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    for (const [name, gate] of [
      ['step-1.pt', first],
      ['step-3.pt', third],
    ] as const)
      scene.answers.set(name, async (signal) => {
        await raceWithAbort(gate.promise, signal);
        return scoreWith(name, 1);
      });
    scene.put('step-1.pt');
    const ended = scene.start();
    await scene.pass(60);
    scene.put('step-2.pt');
    await scene.pass(90);
    expect(scene.readied).toEqual(['step-2.pt']);
    scene.put('step-3.pt');
    await scene.pass(90);
    expect([...scene.readied].sort()).toEqual(['no step-2.pt', 'step-2.pt', 'step-3.pt']);
    first.resolve();
    await scene.pass(60);
    expect(scene.evaluated).toEqual(['/run/step-1.pt', '/run/step-3.pt']);
    scene.put('step-4.pt');
    await scene.pass(90);
    scene.stop();
    await expect(ended).rejects.toThrow('interrupted');
    expect(scene.readied.slice(-2)).toEqual(['step-4.pt', 'no step-4.pt']);
    expect([scene.evaluated.length, scene.clock.pending]).toEqual([2, 0]);
  });

  it('evaluates a name again when something else stands under it', async () => {
    const scene = new WatchScene();
    scene.put('latest.pt');
    await scene.start({ once: true, everyMs: 0 });
    await scene.start({ once: true, everyMs: 0 });
    expect(scene.evaluated).toHaveLength(1);
    scene.put('latest.pt');
    await scene.start({ once: true, everyMs: 0 });
    expect(scene.evaluated).toHaveLength(2);
  });

  it('holds each to the best so far, which only one that is surely better replaces', async () => {
    const scene = new WatchScene();
    const worth = { 'step-1.pt': 10, 'step-2.pt': 5, 'step-3.pt': 11, 'step-4.pt': 20 };
    for (const [name, mean] of Object.entries(worth)) {
      scene.put(name);
      scene.answers.set(name, async () => scoreWith(name, mean));
      await scene.start({ once: true, everyMs: 0 });
    }
    const told = scene.events.flatMap((event) => (event.event === 'evaluated' ? [[event.name, event.standing, event.best.name]] : []));
    expect(told).toEqual([
      ['step-1.pt', 'first', 'step-1.pt'],
      ['step-2.pt', 'worse', 'step-1.pt'],
      ['step-3.pt', 'undecided', 'step-1.pt'],
      ['step-4.pt', 'better', 'step-4.pt'],
    ]);
    expect(scene.remembered.best?.name).toBe('step-4.pt');
    expect(scene.pointed.at(-1)).toBe('step-4.pt');
  });

  it('says where the best is later when it could not be said', async () => {
    const scene = new WatchScene();
    scene.put('step-1.pt');
    scene.isPointable = false;
    await scene.start({ once: true, everyMs: 0 });
    expect(scene.pointed).toEqual([]);
    scene.isPointable = true;
    await scene.start({ once: true, everyMs: 0 });
    expect(scene.pointed).toEqual(['step-1.pt']);
  });
});

describe('a watch that is started again', () => {
  it('evaluates nothing twice', async () => {
    const scene = new WatchScene();
    scene.put('step-1.pt');
    await scene.start({ once: true, everyMs: 0 });
    scene.put('step-2.pt');
    await scene.start({ once: true, everyMs: 0 });
    expect(scene.evaluated).toEqual(['/run/step-1.pt', '/run/step-2.pt']);
  });

  it('evaluates anew what was under way when it was interrupted', async () => {
    const scene = new WatchScene();
    scene.put('step-1.pt');
    scene.answers.set('step-1.pt', (signal) => {
      scene.answers.clear();
      const { promise, reject } = Promise.withResolvers<never>();
      signal.addEventListener('abort', () => reject(signal.reason));
      return promise;
    });
    const ended = scene.start();
    await scene.pass(30);
    scene.stop();
    await expect(ended).rejects.toThrow('interrupted');
    expect(scene.remembered.settled).toEqual([]);
    const again = new WatchScene();
    again.remembered = scene.remembered;
    again.put('step-1.pt');
    await again.start({ once: true, everyMs: 0 });
    expect(again.evaluated).toEqual(['/run/step-1.pt']);
  });

  it('tries again what could not be played', async () => {
    const scene = new WatchScene();
    scene.put('step-1.pt');
    scene.answers.set('step-1.pt', () => Promise.reject(new InputError('checkpoint.refused', 'no torch')));
    await scene.start({ once: true, everyMs: 0 });
    expect(scene.events).toEqual([{ event: 'refused', name: 'step-1.pt', code: 'checkpoint.refused', message: 'no torch' }]);
    scene.answers.clear();
    await scene.start({ once: true, everyMs: 0 });
    expect(scene.remembered.best?.name).toBe('step-1.pt');
  });
});

describe('a watch in trouble', () => {
  it('waits for a run that has written nothing yet', async () => {
    const scene = new WatchScene();
    scene.listing = () => Promise.reject(new InputError('checkpoint.missing', 'nothing there'));
    const ended = scene.start();
    await scene.pass(AN_HOUR);
    expect(scene.events).toEqual([{ event: 'troubled', name: '/run', message: 'nothing there' }]);
    scene.listing = undefined;
    scene.put('step-1.pt');
    await scene.pass(60);
    expect(scene.evaluated).toEqual(['/run/step-1.pt']);
    scene.stop();
    await expect(ended).rejects.toThrow('interrupted');
  });

  it('survives an outage of the store, and ends with its error when that does not', async () => {
    const scene = new WatchScene();
    scene.put('step-1.pt');
    scene.listing = () => Promise.reject(new InfrastructureError('checkpoint.read', 'the store is away'));
    const ended = scene.start();
    await scene.pass(AN_HOUR);
    scene.listing = undefined;
    await scene.pass(60);
    expect(scene.evaluated).toHaveLength(1);
    scene.listing = () => Promise.reject(new InfrastructureError('checkpoint.read', 'the store is away'));
    await scene.pass(24 * AN_HOUR);
    await expect(ended).rejects.toThrow('the store is away');
  });

  it('looks again at a checkpoint that changed while it was read', async () => {
    const scene = new WatchScene();
    scene.put('step-1.pt');
    scene.answers.set('step-1.pt', () => {
      scene.answers.clear();
      return Promise.reject(new CheckpointChangedError('/run/step-1.pt', 'it grew'));
    });
    const ended = scene.start();
    await scene.pass(60);
    expect(scene.remembered.best?.name).toBe('step-1.pt');
    scene.stop();
    await expect(ended).rejects.toThrow('interrupted');
  });

  it('ends when one evaluation after the other fails for the machine’s sake', async () => {
    const scene = new WatchScene();
    scene.put('step-1.pt');
    scene.answers.set('step-1.pt', () => Promise.reject(new InfrastructureError('sandbox.unavailable', 'no sandboxes')));
    const ended = scene.start();
    await scene.pass(300);
    await expect(ended).rejects.toThrow('no sandboxes');
    expect(scene.evaluated).toHaveLength(3);
  });

  it('that is to end by itself is refused a run that is not there', async () => {
    const scene = new WatchScene();
    scene.listing = () => Promise.reject(new InputError('checkpoint.missing', 'nothing there'));
    await expect(scene.start({ once: true, everyMs: 0 })).rejects.toThrow('nothing there');
  });

  it('is refused a file', async () => {
    const scene = new WatchScene();
    scene.listing = async () => ({ kind: 'file', files: [] });
    await expect(scene.start()).rejects.toMatchObject({ kind: 'input', code: 'watch.file' });
    await settle();
    expect(scene.clock.pending).toBe(0);
  });
});
