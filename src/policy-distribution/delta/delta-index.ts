import { JsonProblem, parseText } from '../../kernel/json-bounds.ts';
import { getMessage } from '../../kernel/errors.ts';
import { BLOCK_BYTES } from './delta-block.ts';
import { BLOCK_KINDS, indexSchema, MalformedDelta, INDEX_BOUNDS, type DeltaIndex } from './delta-format.ts';
import { readJsonText } from '../formats/json-in-file.ts';
import type { ReadAt } from '../formats/read-at.ts';

export interface DeltaIndexOrder {
  /** It is shown to people. */
  readonly address: string;
  /** Bytes of the unpacked index. */
  readonly size: number;
  /** Bytes of all blocks together, in the delta. */
  readonly payloadBytes: number;
}

/** @throws MalformedDelta when a position or size in it is wrong. */
export async function readDeltaIndex({ size, payloadBytes }: DeltaIndexOrder, readAt: ReadAt): Promise<DeltaIndex> {
  const text = await readJsonText(readAt, 0, size, INDEX_BOUNDS).catch(throwMalformed);
  const index = parseIndex(text);
  assertCoherent(index, payloadBytes);
  return index;
}

function parseIndex(text: string): DeltaIndex {
  try {
    return indexSchema.parse(parseText(text));
  } catch (error) {
    throw new MalformedDelta(`its index makes no sense: ${getMessage(error).slice(0, 500)}`, { cause: error });
  }
}

function throwMalformed(error: unknown): never {
  throw error instanceof JsonProblem ? new MalformedDelta(`its index makes no sense: ${error.message}`, { cause: error }) : error;
}

function assertCoherent({ file, base, segments }: DeltaIndex, payloadBytes: number): void {
  const [size, payload] = [
    sum(segments.map((segment) => segment.size)),
    sum(segments.flatMap(({ blocks }) => blocks.map(([, bytes]) => bytes))),
  ];
  if (size !== file.size) throw new MalformedDelta(`its segments have ${size} bytes, the file ${file.size}`);
  if (payload !== payloadBytes) throw new MalformedDelta(`its index tells of ${payload} bytes of blocks, there are ${payloadBytes}`);
  for (const { name, size: own, from, wordBytes, blocks } of segments) {
    const said = JSON.stringify(name.slice(0, 200));
    if (blocks.length !== Math.ceil(own / BLOCK_BYTES)) throw new MalformedDelta(`${said} has ${blocks.length} blocks for ${own} bytes`);
    if (own % wordBytes !== 0) throw new MalformedDelta(`${said} has ${own} bytes, not whole words of ${wordBytes}`);
    if (from !== null && from + own > base.size) throw new MalformedDelta(`${said} lies beyond the end of the base`);
    const needsBase = blocks.some(([kind]) => kind < BLOCK_KINDS.bytes);
    if (needsBase && from === null) throw new MalformedDelta(`${said} refers to a base that the delta does not have`);
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
