import { z } from 'zod';
import { InputError } from '../../../kernel/errors.ts';
import { stopOverrideSchema } from '../../../orchestrator/suite/suite.ts';
import { newEvaluationSchema } from '../../http/schemas/evaluation-schemas.ts';
import { KnownSettings } from '../../../kernel/documents/known-settings.ts';
import type { Layer } from '../../../kernel/documents/layer.ts';
import { formatProblemLine, listProblems } from '../../../kernel/documents/problems.ts';
import { isLabelPattern } from './batch-labels.ts';

const text = z.string().min(1).max(4096);
const { priority, labels, cache } = newEvaluationSchema.shape;
const ownLabels = {
  run: text.max(200).exactOptional().describe('the training run that it belongs to'),
  version: z.int().min(0).exactOptional().describe('training step of the run'),
};

const checkpointSchema = z.union(
  [
    text.describe('a path or a pattern of paths, from the directory of this file; a URI; or a SHA-256'),
    z
      .strictObject({
        files: text.describe('a path, or a pattern of paths: runs/*/step-*.safetensors'),
        labelled: text
          .refine(isLabelPattern, 'expected {run} or {version} or both, each once, as in {run}/step-{version}.safetensors')
          .exactOptional()
          .describe('how the paths end with run and version: {run}/step-{version}.safetensors'),
        ...ownLabels,
      })
      .describe('files or directories of this machine'),
    z
      .strictObject({ uri: text.describe('where the server reads the checkpoint'), ...ownLabels })
      .describe('what the server reads by its URI'),
    z.strictObject({
      sha256: z
        .string()
        .regex(/^(sha256:)?[0-9a-f]{64}$/, 'expected 64 lower-case hexadecimal digits')
        .describe('digest of a checkpoint that the server has'),
      ...ownLabels,
    }),
  ],
  { error: 'expected a path, a URI, a SHA-256, or a mapping with one of files, uri and sha256' },
);

export const batchSchema = z
  .strictObject({
    name: z
      .string()
      .regex(/^[\w.-]{1,64}$/, 'expected 1 to 64 letters, digits, ".", "_" or "-"')
      .exactOptional()
      .describe('label "batch" of its evaluations; the name of the file when left out'),
    suites: z
      .array(text)
      .min(1)
      .max(1000)
      .describe('names that the server knows, or paths of suite files (.yaml, .yml, .json) from the directory of this file'),
    checkpoints: z.array(checkpointSchema).min(1).max(10_000).describe('each is evaluated on every suite'),
    baseline: text.exactOptional().describe('a path, URI or SHA-256: each checkpoint is compared with it'),
    stop: stopOverrideSchema.exactOptional(),
    priority,
    labels,
    cache,
  })
  .describe('Muster batch');

export type BatchFile = z.infer<typeof batchSchema>;
export type BatchCheckpoint = BatchFile['checkpoints'][number];

const KNOWN = new KnownSettings(batchSchema);

/** @throws InputError `batch.invalid` that lists every problem: where, path, what was expected, what was found. */
export function parseBatch(layer: Layer): BatchFile {
  const parsed = batchSchema.safeParse(layer.value);
  if (parsed.success) return parsed.data;
  const lines = listProblems(parsed.error, layer.value, KNOWN).map((problem) => formatProblemLine(layer.findOrigin(problem.path), problem));
  throw new InputError('batch.invalid', lines.join('\n'));
}
