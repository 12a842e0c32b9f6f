import { gunzipSync, gzipSync } from 'node:zlib';
import { z } from 'zod';
import type { NewStep } from '../../../agents/arena/trajectories.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import type { Fields } from './firestore-values.ts';

/** A document holds 1 MiB with the names of its fields. */
const PART_BYTES = 900_000;
/** A commit holds 10 MiB, and bytes travel as base64. */
const MOST_PARTS = 7;
/** Of a step's documents; a text that was cut may be of a step that another Muster stored. */
const MOST_BYTES = 64 * 2 ** 20;

const textsSchema = z.object({ action: z.string(), answer: z.string(), delta: z.string().nullable() });
type Texts = z.infer<typeof textsSchema>;

export interface WrittenStep {
  readonly fields: Fields;
  /** What does not fit, each for a document of its own. */
  readonly parts: readonly Buffer[];
}

/**
 * A step as documents: its texts are fields that people can read in the console. Where they are longer than a document may be, they are compressed
 * and cut into parts.
 *
 * @param at in milliseconds.
 * @throws InfrastructureError `trajectories.too-large` when a step does not fit into one commit.
 */
export function writeStep({ number, digest, action, answer, delta }: NewStep, at: number): WrittenStep {
  const texts: Texts = { action: JSON.stringify(action), answer, delta: delta === undefined ? null : JSON.stringify(delta) };
  const bytes = Object.values(texts).reduce((sum, text) => sum + Buffer.byteLength(text ?? ''), 0);
  if (bytes <= PART_BYTES) return { fields: { number, digest, at, parts: 0, ...texts }, parts: [] };
  const packed = gzipSync(JSON.stringify(texts));
  const count = Math.ceil(packed.length / PART_BYTES);
  if (count > MOST_PARTS) {
    const most = (MOST_PARTS * PART_BYTES) / 1e6;
    throw new InfrastructureError(
      'trajectories.too-large',
      `step ${number} has ${(packed.length / 1e6).toFixed(1)} MB, compressed; Firestore takes ${most} MB; lower server.maxBodyBytes`,
    );
  }
  const parts = Array.from({ length: count }, (_, i) => packed.subarray(i * PART_BYTES, (i + 1) * PART_BYTES));
  return { fields: { number, digest, at, parts: count }, parts };
}

/** The texts of a step that was cut. @throws Error when they are not what `writeStep` has made. */
export function joinParts(parts: readonly Buffer[]): Texts {
  return textsSchema.parse(JSON.parse(gunzipSync(Buffer.concat(parts), { maxOutputLength: MOST_BYTES }).toString()));
}
