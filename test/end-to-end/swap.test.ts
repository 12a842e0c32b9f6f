import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../src/app/configuration.ts';
import { Muster } from '../../src/app/main.ts';
import type { Summary } from '../../src/orchestrator/results/summary.ts';
import { safetensorsFile } from '../policy-distribution/safetensors-file.ts';
import { extent } from '../support/full-form.ts';
import { Stage } from './stage.ts';

const EPISODES = 40;
const SANDBOXES = 4;
/** More than what is loaded in each sandbox by itself. */
const SHARED_NUMBERS = 2 ** 20 + 1;

const suite = {
  name: 'identity',
  files: path.join(import.meta.dirname, 'suites/environments'),
  environment: { entry: 'identity:Identity', kwargs: {} },
  seed: 5,
  reward: { bounds: [0, 1] },
  stop: { rule: 'fixed', episodes: EPISODES },
};

/** A policy that does always the same, of which nothing else is known. */
function identity(value: number, padding: number): Buffer {
  const architecture = {
    format: 'muster-mlp/1',
    layers: ['l'],
    activation: 'tanh',
    action: { kind: 'continuous', squash: 'clip' },
    normalise: false,
  };
  const tensors = { 'l.bias': Float32Array.of(value), padding: new Float32Array(padding).fill(value) };
  return withMatrix(safetensorsFile({ ...tensors, 'l.weight': Float32Array.of(0) }, { muster: JSON.stringify(architecture) }));
}

/** A layer's weights have two dimensions. The header stays as long as it is. */
function withMatrix(file: Buffer): Buffer {
  const from = '"l.weight":{"dtype":"F32","shape":[1],';
  const at = file.indexOf(from);
  const header = Number(file.readBigUInt64LE());
  const text = file
    .subarray(8, 8 + header)
    .toString()
    .replace(from, '"l.weight":{"dtype":"F32","shape":[1,1],');
  expect(at).toBeGreaterThan(0);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, Buffer.from(text), file.subarray(8 + header)]);
}

const lineSchema = z.object({ checkpoint: z.string(), outcome: z.object({ kind: z.literal('completed'), return: z.number() }) });

async function linesOf(out: string): Promise<readonly z.infer<typeof lineSchema>[]> {
  const lines = (await readFile(path.join(out, 'episodes.ndjson'), 'utf8')).trimEnd().split('\n');
  return lines.map((line) => lineSchema.parse(JSON.parse(line)));
}

describe('checkpoints that are evaluated one after the other while the next is made ready', () => {
  it.each([
    ['loaded in each sandbox', 4, extent({ short: 8, full: 16 })],
    ['shared by all sandboxes', SHARED_NUMBERS, extent({ short: 4, full: 6 })],
  ])('(%s) are never mixed', async (_, padding, count) => {
    await using stage = await Stage.open();
    await using muster = await Muster.open(
      loadConfig({
        file: await stage.config(),
        environment: { HOME: stage.directory },
        flags: [{ name: 'sandboxes', path: ['pool', 'max'], value: SANDBOXES }],
      }),
    );
    const values = Array.from({ length: count }, (__, i) => Math.fround((i + 1) / (count + 1)));
    const policies = await Promise.all(values.map((value, i) => stage.write(`step-${i}.safetensors`, identity(value, padding))));
    const answers: Promise<Summary>[] = [];
    for (const [i, checkpoint] of policies.entries()) {
      const before = answers.at(-1);
      const options = { out: stage.path(`out-${i}`), ...(before && { after: before }) };
      answers.push(muster.evaluate({ suite, checkpoint }, options));
    }
    const summaries = await Promise.all(answers);
    for (const [i, { official }] of summaries.entries()) {
      expect(official).toMatchObject({ episodes: EPISODES, min: values[i], max: values[i], failures: {} });
      const lines = await linesOf(stage.path(`out-${i}`));
      expect(new Set(lines.map(({ checkpoint }) => checkpoint))).toEqual(new Set([official.checkpoint.digest]));
      expect(new Set(lines.map(({ outcome }) => outcome.return))).toEqual(new Set([values[i]]));
    }
    expect(new Set(summaries.map(({ official }) => official.checkpoint.digest)).size).toBe(count);
  });
});
