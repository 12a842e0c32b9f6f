import { gunzipSync, gzipSync } from 'node:zlib';
import { z } from 'zod';
import type { AgentEpisodeId } from '../../../agents/arena/episode-ids.ts';
import type { NewStep, StoredStep } from '../../../agents/arena/trajectories.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import { readAgentStep } from '../../store/sql/agent-episode-row.ts';
import { readNumber } from '../../store/sql/schema/columns.ts';
import type { Row } from '../../store/sql/schema/database.ts';
import { joinPath, PARTS, STEPS } from './episode-queries.ts';
import type { FirestoreClient, Write } from './firestore-client.ts';
import { formatValue, type Fields, type StoredDocument } from './firestore-values.ts';

/** The largest number of steps that one request reads: each has up to a megabyte, and divided ones have more. */
const READ_AT_ONCE = 50;
const REMOVED_AT_ONCE = 200;
/** Firestore limits a document to 1 MiB, the names of its fields included. */
const PART_BYTES = 900_000;
/** Firestore limits a commit to 10 MiB, and bytes travel as base64. */
const MOST_PARTS = 7;
/** The largest text that is read from a step's documents, which another Muster may have stored and divided. */
const MOST_BYTES = 64 * 2 ** 20;

const textsSchema = z.object({ action: z.string(), answer: z.string(), delta: z.string().nullable() });
type Texts = z.infer<typeof textsSchema>;

interface WrittenStep {
  readonly fields: Fields;
  /** The parts that do not fit, each for a document of its own. */
  readonly parts: readonly Buffer[];
}

/** The documents of steps, below those of their episodes. */
export class StepDocuments {
  readonly #client: FirestoreClient;

  constructor(client: FirestoreClient) {
    this.#client = client;
  }

  async read(id: AgentEpisodeId, after: number, limit: number): Promise<readonly StoredStep[]> {
    const steps: StoredStep[] = [];
    while (steps.length < limit) {
      const asked = Math.min(limit - steps.length, READ_AT_ONCE);
      const found = await this.#query(id, steps.at(-1)?.number ?? after, asked);
      for (const { row } of found) steps.push(readAgentStep(await this.#readParts(id, row)));
      if (found.length < asked) break;
    }
    return steps;
  }

  async isStored(id: AgentEpisodeId, step: NewStep): Promise<boolean> {
    const [stored] = await this.read(id, step.number - 1, 1);
    return stored?.number === step.number && stored.digest === step.digest && stored.answer === step.answer;
  }

  async remove(id: AgentEpisodeId): Promise<void> {
    for (;;) {
      const found = await this.#query(id, 0, REMOVED_AT_ONCE, ['number', 'parts']);
      if (found.length === 0) return;
      const paths = found.flatMap(({ row }) => listPaths(id, readNumber(row, 'number'), readNumber(row, 'parts')));
      await this.#client.commit(paths.map((path) => ({ kind: 'remove', path })));
    }
  }

  #query(id: AgentEpisodeId, after: number, limit: number, select?: readonly string[]): Promise<readonly StoredDocument[]> {
    return this.#client.query({
      collection: STEPS,
      parent: joinPath(id),
      where: [{ field: 'number', op: 'GREATER_THAN', value: formatValue(after) }],
      orderBy: ['number'],
      limit,
      ...(select === undefined ? {} : { select }),
    });
  }

  /** Adds the texts that did not fit into the step's document. */
  async #readParts(id: AgentEpisodeId, row: Row): Promise<Row> {
    const count = readNumber(row, 'parts');
    if (count === 0) return row;
    const [, ...paths] = listPaths(id, readNumber(row, 'number'), count);
    const parts = await Promise.all(paths.map((path) => this.#client.get(path)));
    const bytes = z.array(z.instanceof(Buffer)).safeParse(parts.map((part) => part?.row['bytes']));
    if (!bytes.success) throw new InfrastructureError('store.unreadable', `a part of a step of ${id} is missing`);
    return { ...row, ...joinParts(bytes.data) };
  }
}

/** @param at in milliseconds. @throws InfrastructureError as `writeStep` does. */
export function createStepWrites(id: AgentEpisodeId, step: NewStep, at: number): readonly Write[] {
  const { fields, parts } = writeStep(step, at);
  const documents = [fields, ...parts.map((bytes) => ({ bytes }))];
  return listPaths(id, step.number, parts.length).map((path, i) => ({ kind: 'create', path, fields: documents[i] ?? {} }));
}

/** Lists the path of the step's own document, then those of its parts. */
function listPaths(id: AgentEpisodeId, number: number, parts: number): readonly string[] {
  const path = `${joinPath(id)}/${STEPS}/${number}`;
  return [path, ...Array.from({ length: parts }, (_, i) => `${path}/${PARTS}/${i}`)];
}

/**
 * Writes a step as documents. Its texts are fields that people can read in the console. Texts that are too long for a document are compressed and
 * divided into parts.
 *
 * @param at in milliseconds. @throws InfrastructureError `trajectories.too-large` when a step does not fit into one commit.
 */
function writeStep({ number, digest, action, answer, delta }: NewStep, at: number): WrittenStep {
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

/** Joins the parts of a step's texts. @throws Error when `writeStep` has not made them. */
function joinParts(parts: readonly Buffer[]): Texts {
  return textsSchema.parse(JSON.parse(gunzipSync(Buffer.concat(parts), { maxOutputLength: MOST_BYTES }).toString()));
}
