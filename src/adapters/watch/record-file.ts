import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../../kernel/clock.ts';
import { InfrastructureError, InputError, messageOf, MusterError } from '../../kernel/errors.ts';
import { IncomingNames } from '../../policy-distribution/incoming-names.ts';
import { NOTHING_YET, watchRecordSchema, type WatchMemory, type WatchRecord } from '../../watch/watch-record.ts';

/**
 * A watch's record in a file of its own, replaced in one step. Who watches has a file beside it with the process's name in it, so that it ends with
 * the process, however that ends.
 */
export function recordFile(path: string, clock: Clock): WatchMemory {
  return {
    hold: () => guarded(path, () => held(path, clock)),
    async read() {
      const text = await guarded(path, () => readFile(path, 'utf8').catch(undefinedWhenMissing));
      return text === undefined ? NOTHING_YET : parsed(path, text);
    },
    async write(record) {
      await guarded(path, async () => {
        await mkdir(dirname(path), { recursive: true });
        await replaceFile(path, `${JSON.stringify(record)}\n`);
      });
    },
  };
}

/** Whoever reads the file sees all of the old text, or all of the new. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const incoming = `${path}.${process.pid}.new`;
  try {
    await writeFile(incoming, text);
    await rename(incoming, path);
  } finally {
    await rm(incoming, { force: true });
  }
}

/** The intent is there before others are looked for: of two that come at the same time both may be refused, and never both let through. */
async function held(path: string, clock: Clock): Promise<AsyncDisposable> {
  const [directory, name] = [dirname(path), `${basename(path)}.watched-by.`];
  const names = await IncomingNames.forThisProcess(clock);
  await mkdir(directory, { recursive: true });
  const own = `${name}${names.next()}`;
  await writeFile(join(directory, own), '', { flag: 'wx' });
  const release = (): Promise<void> => rm(join(directory, own), { force: true });
  try {
    for (const other of await readdir(directory)) {
      if (other === own || !other.startsWith(name)) continue;
      if (!(await isGone(join(directory, other), other.slice(name.length), names))) throw alreadyWatched(join(directory, other));
      await rm(join(directory, other), { force: true });
    }
  } catch (error) {
    await release();
    throw error;
  }
  return { [Symbol.asyncDispose]: release };
}

async function isGone(path: string, owner: string, names: IncomingNames): Promise<boolean> {
  const facts = await stat(path).catch(undefinedWhenMissing);
  return facts === undefined || (await names.isAbandoned(owner, facts.mtimeMs));
}

function alreadyWatched(path: string): InputError {
  const remedy = 'end the other one, or set another stateDir; when it ran on another machine and is gone, remove the file';
  return new InputError('watch.held', `watch: another "muster watch" evaluates this run on this suite (${path}); ${remedy}`);
}

function parsed(path: string, text: string): WatchRecord {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // What is no JSON is no record either.
  }
  const record = watchRecordSchema.safeParse(value);
  if (record.success) return record.data;
  const remedy = 'remove it, and the run is evaluated from the start';
  throw new InputError('watch.record', `watch: ${path} is no record of a watch; ${remedy}`, { cause: record.error });
}

async function guarded<Value>(path: string, operation: () => Promise<Value>): Promise<Value> {
  try {
    return await operation();
  } catch (error) {
    if (error instanceof MusterError) throw error;
    const remedy = 'set stateDir to a directory that this user may write';
    throw new InfrastructureError('watch.record', `watch: ${path}: ${messageOf(error)}; ${remedy}`, { cause: error });
  }
}

function undefinedWhenMissing(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
  throw error;
}
