import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { pullOrder, type HeldFile } from '../../../src/adapters/sandbox/remote/pull-order.ts';
import type { CheckpointFile } from '../../../src/policy-distribution/checkpoint.ts';
import { safetensorsFile, trained, weights, type Tensors } from '../../policy-distribution/safetensors-file.ts';
import { ScratchDirectory } from '../../policy-distribution/scratch-directory.ts';
import { extent } from '../../support/full-form.ts';
import { FaultyProxy, type Fault } from '../../support/faulty-proxy.ts';
import { OriginFixture } from './origin-fixture.ts';

nock.restore();

const PROJECT = path.join(import.meta.dirname, '../../..');
const PYTHON = path.join(PROJECT, '.venv/bin/python');
const NAME = 'policy.safetensors';
const answerSchema = z.object({
  kind: z.string(),
  received: z.number().optional(),
  deltas: z.number().optional(),
  message: z.string().optional(),
});
type Answer = z.infer<typeof answerSchema>;

const W = weights(700_000, 1);
const F = Float32Array.from(weights(300_000, 3), (word) => word / 65_536);
/** Of one layout: tensors that stay, change in some words, in most, and altogether. */
const BEFORE: Tensors = { stays: W, sparse: W, dense: W, floats: F, other: weights(600_000, 5) };
const AFTER: Tensors = {
  stays: W,
  sparse: trained(W, 0.01, 2),
  dense: W.map((word) => word ^ 1),
  floats: F.map((value, i) => (i % 1000 === 0 ? value + 1 : value)),
  other: weights(600_000, 6),
};

/** A program that fetches with a file of the checkpoint before beside it, through a proxy that spoils the answers that a test names. */
class Fixture implements AsyncDisposable {
  readonly origins: OriginFixture;
  readonly directory: ScratchDirectory;
  readonly #proxies: FaultyProxy[] = [];
  #fetched = 0;

  private constructor(origins: OriginFixture, directory: ScratchDirectory) {
    this.origins = origins;
    this.directory = directory;
  }

  static async open(): Promise<Fixture> {
    return new Fixture(await OriginFixture.open(), await ScratchDirectory.make());
  }

  async hold(content: Uint8Array): Promise<HeldFile> {
    const { digest } = await this.origins.put(NAME, content);
    return { digest, path: await this.directory.put(`held/${digest}`, content) };
  }

  async proxied(fault: Fault): Promise<FaultyProxy> {
    const url = new URL(await this.origins.origin.link(await this.origins.put('any', 'any')));
    const proxy = await FaultyProxy.before(url.origin);
    this.#proxies.push(proxy);
    let isSpoilt = false;
    proxy.spoil(() => {
      const now = isSpoilt ? ({ kind: 'none' } as const) : fault;
      isSpoilt = true;
      return now;
    });
    return proxy;
  }

  async fetch(file: CheckpointFile, bases: readonly HeldFile[], proxy?: FaultyProxy): Promise<{ answer: Answer; content: Buffer }> {
    const into = path.join(this.directory.path, `fetched-${(this.#fetched += 1)}`);
    const link = new URL(await this.origins.origin.link(file));
    const url = proxy ? `${proxy.url}${link.pathname}${link.search}` : link.href;
    const running = promisify(execFile)(PYTHON, ['-I', path.join(PROJECT, 'runner/pull.py')]);
    running.child.stdin?.end(pullOrder(into, [{ ...file, url }], bases));
    const { stdout } = await running;
    return { answer: answerSchema.parse(JSON.parse(stdout)), content: await readFile(path.join(into, file.path)) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const proxy of this.#proxies) await proxy[Symbol.asyncDispose]();
    await this.origins[Symbol.asyncDispose]();
    await this.directory[Symbol.asyncDispose]();
  }
}

describe('a file that is fetched where the one before is', () => {
  it('comes as a delta, and is identical', async () => {
    await using fixture = await Fixture.open();
    const content = safetensorsFile(AFTER);
    const [base, file] = [await fixture.hold(safetensorsFile(BEFORE)), await fixture.origins.put(NAME, content)];
    const fetched = await fixture.fetch(file, [base]);
    expect(fetched.content.equals(content)).toBe(true);
    expect(fetched.answer).toMatchObject({ kind: 'done', deltas: 1, received: fixture.origins.origin.served.bytes });
    expect(fixture.origins.origin.served.bytes).toBeLessThan(0.4 * content.length);
  });

  it('of an unknown format also comes as a delta', async () => {
    await using fixture = await Fixture.open();
    const before = randomBytes(3_000_003);
    const after = Buffer.from(before);
    for (let i = 0; i < 100; i += 1) after[i * 30_000] = i;
    after[after.length - 1] = 1;
    const base = await fixture.hold(before);
    const file = await fixture.origins.put('network.onnx', after);
    const fetched = await fixture.fetch(file, [base]);
    expect(fetched.content.equals(after)).toBe(true);
    expect(fetched.answer.deltas).toBe(1);
  });

  it.each([
    ['that is not what it is called', (bytes: Buffer) => bytes.fill(7, 5_000, 6_000)],
    ['of another size', (bytes: Buffer) => bytes.subarray(8)],
  ])('comes whole in the end where the base is one %s', async (_, spoil) => {
    await using fixture = await Fixture.open();
    const content = safetensorsFile(AFTER);
    const [base, file] = [await fixture.hold(safetensorsFile(BEFORE)), await fixture.origins.put(NAME, content)];
    await writeFile(base.path, spoil(safetensorsFile(BEFORE)));
    const fetched = await fixture.fetch(file, [base]);
    expect(fetched.content.equals(content)).toBe(true);
    expect(fetched.answer).toMatchObject({ kind: 'done', deltas: 0 });
  });

  it('comes whole when the base is gone, or unknown to the server', async () => {
    await using fixture = await Fixture.open();
    const content = safetensorsFile(AFTER);
    const file = await fixture.origins.put(NAME, content);
    const base = await fixture.hold(safetensorsFile(BEFORE));
    await mkdir(path.join(fixture.directory.path, 'empty'));
    const gone = { ...base, path: path.join(fixture.directory.path, 'empty/gone') };
    const unknown = { digest: `sha256:${'0'.repeat(64)}`, path: base.path };
    for (const held of [gone, unknown]) {
      const fetched = await fixture.fetch(file, [held]);
      expect(fetched.content.equals(content)).toBe(true);
      expect(fetched.answer).toMatchObject({ kind: 'done', deltas: 0 });
    }
  });

  it('is identical wherever the connection of the delta breaks, and when a bit of it flips', async () => {
    await using fixture = await Fixture.open();
    const content = safetensorsFile(AFTER);
    const [base, file] = [await fixture.hold(safetensorsFile(BEFORE)), await fixture.origins.put(NAME, content)];
    await fixture.fetch(file, [base]);
    const { bytes } = fixture.origins.origin.served;
    // In the answer's head, in a block, and behind the last one: each fetch starts a Python, and reads megabytes twice.
    const parts = extent({ short: 3, full: 10 });
    const places = Array.from({ length: parts }, (_, part) => Math.floor((bytes * part) / parts));
    const cuts = places.map((after): Fault => ({ kind: 'cut', after }));
    // In a block, in the index, in what stands behind it.
    const flips = [bytes / 3, bytes - 100, bytes - 1].map((at): Fault => ({ kind: 'flip', bit: 8 * Math.floor(at) + 3 }));
    for (const fault of [...cuts, ...flips]) {
      const { answer, content: fetched } = await fixture.fetch(file, [base], await fixture.proxied(fault));
      expect([fault, answer.kind, fetched.equals(content)]).toEqual([fault, 'done', true]);
    }
  });
});
