import { stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { GitRepository } from '../../adapters/preparation/git-repository.ts';
import { readPlainDirectory } from '../../adapters/preparation/plain-directory.ts';
import type { SourceFiles } from '../../agents/preparation/source/source-files.ts';
import { toDirectoryName } from '../../agents/tasks/importing/imported-row.ts';

/** A repository as preparation reads it. */
export interface RepositorySource extends AsyncDisposable {
  readonly name: string;
  /** It is undefined for a directory without a history. */
  readonly history: GitRepository | undefined;
  readonly head: string | null;
  readonly files: SourceFiles;
}

/** @throws InputError when it cannot be read. */
export async function openRepository(source: string, scratch: string, signal: AbortSignal): Promise<RepositorySource> {
  const name = toDirectoryName(basename(source.replace(/\/+$/, '')).replace(/\.(git|bundle)$/, '') || basename(resolve(source)));
  const isDirectory = (await stat(source).catch(() => undefined))?.isDirectory() === true;
  const isBare = isDirectory && (await stat(join(source, 'HEAD')).catch(() => undefined))?.isFile() === true;
  const hasHistory = !isDirectory || isBare || (await stat(join(source, '.git')).catch(() => undefined)) !== undefined;
  if (!hasHistory) {
    const files = await readPlainDirectory(source);
    return { name, history: undefined, head: null, files, [Symbol.asyncDispose]: async () => undefined };
  }
  const history = await GitRepository.clone(source, scratch, signal);
  try {
    const head = await history.readHead(signal);
    return {
      name,
      history,
      head,
      files: await history.readFiles(head, signal),
      [Symbol.asyncDispose]: () => history[Symbol.asyncDispose](),
    };
  } catch (error) {
    await history[Symbol.asyncDispose]();
    throw error;
  }
}
