import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '../../kernel/clock.ts';
import { InfrastructureError, InputError, MusterError } from '../../kernel/errors.ts';
import { makeDirectory } from './made-directory.ts';
import { holdPath } from './process-hold.ts';
import { writeWholeFile } from './whole-file.ts';
import { NOTHING_YET, watchRecordSchema, type WatchMemory, type WatchRecord } from '../../service/watching/watch-record.ts';
import { ignoreMissing, getReason } from '../../kernel/errno.ts';
import { tryParseJson } from '../../kernel/json-bounds.ts';

/**
 * Keeps a watch's record in a file of its own, replaced in one step. The watching process has a file beside it with its own name, so that its claim
 * ends with it, however it ends.
 */
export function createRecordFile(path: string, clock: Clock): WatchMemory {
  return {
    hold: () => translateErrors(path, () => holdPath(path, 'watched-by', clock, createAlreadyWatchedError)),
    async read() {
      const text = await translateErrors(path, () => readFile(path, 'utf8').catch(ignoreMissing));
      return text === undefined ? NOTHING_YET : parseRecord(path, text);
    },
    async write(record) {
      await translateErrors(path, async () => {
        await makeDirectory(dirname(path));
        await writeWholeFile(path, `${JSON.stringify(record)}\n`);
      });
    },
  };
}

function createAlreadyWatchedError(path: string): InputError {
  const remedy = 'end the other one, or set another stateDir; when it ran on another machine and is gone, remove the file';
  return new InputError('watch.held', `watch: another "muster watch" evaluates this run on this suite (${path}); ${remedy}`);
}

function parseRecord(path: string, text: string): WatchRecord {
  const record = watchRecordSchema.safeParse(tryParseJson(text));
  if (record.success) return record.data;
  const remedy = 'remove it, and the run is evaluated from the start';
  throw new InputError('watch.record', `watch: ${path} is not the record of a watch; ${remedy}`, { cause: record.error });
}

async function translateErrors<Value>(path: string, operation: () => Promise<Value>): Promise<Value> {
  try {
    return await operation();
  } catch (error) {
    if (error instanceof MusterError) throw error;
    const remedy = 'set stateDir to a directory that this user may write';
    throw new InfrastructureError('watch.record', `watch: ${path}: ${getReason(error, path)}; ${remedy}`, { cause: error });
  }
}
