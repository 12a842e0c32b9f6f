import { mkdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentEpisodeId } from '../../agents/arena/episode-ids.ts';
import type { FileContents } from '../../agents/arena/step-files.ts';
import { digestBytes } from '../../kernel/canonical-json.ts';
import { InfrastructureError, getMessage } from '../../kernel/errors.ts';
import type { Digest } from '../../kernel/ids.ts';
import { hasErrno, getReason } from '../../kernel/errno.ts';
import { writeWholeFile } from '../files/whole-file.ts';

/** Files written at a time. */
const AT_ONCE = 16;

/**
 * Contents of files in a directory of this machine: a directory for each tree of episodes, with a file for each content. They survive the end of the
 * process; after a crash of the machine the last ones may be missing or damaged, which their digests show.
 */
export class FileContentsDirectory implements FileContents {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async keep(tree: AgentEpisodeId, contents: ReadonlyMap<Digest, Buffer>): Promise<void> {
    const directory = this.#joinPath(tree);
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const left = contents.entries();
      const write = async (): Promise<void> => {
        for (const [digest, content] of left) await writeOnce(join(directory, buildFileName(digest)), content);
      };
      await Promise.all(Array.from({ length: AT_ONCE }, write));
    } catch (error) {
      throw new InfrastructureError('arena.contents', `${directory}: a file of a step cannot be kept: ${getMessage(error)}`, {
        cause: error,
      });
    }
  }

  async read(tree: AgentEpisodeId, digest: Digest): Promise<Buffer | undefined> {
    const file = join(this.#joinPath(tree), buildFileName(digest));
    try {
      const content = await readFile(file);
      return digestBytes(content) === digest ? content : undefined;
    } catch (error) {
      if (hasErrno(error, 'ENOENT')) return undefined;
      throw new InfrastructureError('arena.contents', `${file}: a file of a step cannot be read: ${getReason(error, file)}`, {
        cause: error,
      });
    }
  }

  async forget(tree: AgentEpisodeId): Promise<void> {
    await rm(this.#joinPath(tree), { recursive: true, force: true });
  }

  #joinPath(tree: AgentEpisodeId): string {
    return join(this.#directory, tree);
  }
}

/** A file gets its name once it is complete, but a crash of the machine may have shortened it all the same. */
async function writeOnce(file: string, content: Buffer): Promise<void> {
  const there = await stat(file).catch(() => undefined);
  if (there?.size === content.length) return;
  await writeWholeFile(file, content, { mode: 0o600 });
}

function buildFileName(digest: Digest): string {
  return digest.slice('sha256:'.length);
}
