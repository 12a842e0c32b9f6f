import { constants } from 'node:fs';
import { lstat, open, readdir } from 'node:fs/promises';
import { join, matchesGlob, resolve } from 'node:path';
import { SUBMISSION_BOUNDS, type Submission } from '../../agents/grading/submission.ts';
import type { Artifact } from '../../agents/tasks/task.ts';
import type { WorkspaceFile } from '../../agents/workspace/command.ts';
import { InputError } from '../../kernel/errors.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';
import { formatExactBytes } from '../../kernel/text/figures.ts';

const EXECUTABLE = 0o100;
const REPLACEMENT = '\uFFFD';
/** A name with a line feed is two to a script that reads names line by line. */
const CONTROL = /\p{Cc}/u;

/** An artifact cannot be taken as it is: the submission fails for it. */
class Unacceptable extends Error {}

/**
 * Takes the declared artifacts of a directory, and nothing else of it. Links, devices, sockets and pipes are not followed or opened, and what is
 * beyond the bounds is not read.
 *
 * @throws InputError `submission.missing` when the directory itself is not there.
 */
export async function readSubmission(directory: string, artifacts: readonly Artifact[]): Promise<Submission> {
  const top = resolve(directory);
  const found = await lstat(top).catch(() => undefined);
  if (!found?.isDirectory())
    throw new InputError(
      'submission.missing',
      `${directory}: expected the directory with the submission; it ${found ? 'is not a directory' : 'does not exist'}`,
    );
  const reading = new Reading(top, new Set(artifacts.map(({ destination }) => destination)));
  try {
    for (const artifact of artifacts) await reading.take(artifact);
    return { files: reading.files, problem: undefined };
  } catch (error) {
    if (error instanceof Unacceptable) return { files: [], problem: error.message };
    throw error;
  }
}

class Reading {
  readonly files: WorkspaceFile[] = [];
  readonly #top: string;
  readonly #destinations: ReadonlySet<string>;
  #entries = 0;
  #bytes = 0;

  /** @param destinations of all artifacts: files at one of them are not part of another. */
  constructor(top: string, destinations: ReadonlySet<string>) {
    this.#top = top;
    this.#destinations = destinations;
  }

  async take({ source, destination, exclude, isRequired }: Artifact): Promise<void> {
    const inside = destination === '.' ? '' : destination;
    if (await this.#isThere(inside)) return this.#walk(inside, { source, destination: inside, exclude }, 0);
    if (isRequired) throw new Unacceptable(`${destination}: the artifact is missing`);
  }

  /** Whether there is something, which no link leads to. */
  async #isThere(inside: string): Promise<boolean> {
    const names = inside === '' ? [] : inside.split('/');
    for (const [i] of names.entries()) {
      const path = names.slice(0, i + 1).join('/');
      const found = await lstat(join(this.#top, path)).catch(() => undefined);
      if (found === undefined) return false;
      if (found.isSymbolicLink()) throw new Unacceptable(`${escapeUnprintableLine(path)}: is a link; expected files and directories`);
    }
    return true;
  }

  async #walk(inside: string, artifact: Pick<Artifact, 'source' | 'destination' | 'exclude'>, depth: number): Promise<void> {
    const below = artifact.destination === '' ? inside : inside.slice(artifact.destination.length + 1);
    if (below !== '' && artifact.exclude.some((pattern) => matchesGlob(below, pattern))) return;
    const shown = escapeUnprintableLine(inside);
    if (inside.includes(REPLACEMENT)) throw new Unacceptable(`${shown}: has a name that is not UTF-8`);
    if (CONTROL.test(inside)) throw new Unacceptable(`${shown}: has a name with a control character`);
    if (depth > SUBMISSION_BOUNDS.depth) throw new Unacceptable(`${shown}: is more than ${SUBMISSION_BOUNDS.depth} directories deep`);
    this.#entries += 1;
    if (this.#entries > SUBMISSION_BOUNDS.files) throw new Unacceptable(`the artifacts have more than ${SUBMISSION_BOUNDS.files} files`);
    const found = await lstat(join(this.#top, inside));
    if (found.isDirectory()) {
      for (const name of await this.#listNames(inside)) {
        const path = inside === '' ? name : `${inside}/${name}`;
        if (!this.#destinations.has(path)) await this.#walk(path, artifact, depth + 1);
      }
    } else if (found.isFile()) await this.#read(inside, `${artifact.source}${below === '' ? '' : `/${below}`}`);
    else
      throw new Unacceptable(
        `${shown}: is ${found.isSymbolicLink() ? 'a link' : 'a device, socket or pipe'}; expected files and directories`,
      );
  }

  /** A directory with a million names is read no further than the bound. */
  async #listNames(inside: string): Promise<readonly string[]> {
    const names = await readdir(join(this.#top, inside));
    if (names.length > SUBMISSION_BOUNDS.files)
      throw new Unacceptable(`${escapeUnprintableLine(inside)}: has more than ${SUBMISSION_BOUNDS.files} files`);
    return names.sort();
  }

  async #read(inside: string, target: string): Promise<void> {
    // A file that became a link or a pipe after it was listed is neither followed nor awaited.
    await using handle = await open(join(this.#top, inside), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const { size, mode } = await handle.stat();
    this.#bytes += size;
    if (this.#bytes > SUBMISSION_BOUNDS.bytes)
      throw new Unacceptable(`${escapeUnprintableLine(inside)}: the artifacts have more than ${formatExactBytes(SUBMISSION_BOUNDS.bytes)}`);
    const content = Buffer.alloc(size);
    let at = 0;
    while (at < size) {
      const { bytesRead } = await handle.read(content, at, size - at);
      if (bytesRead === 0) throw new Unacceptable(`${escapeUnprintableLine(inside)}: became shorter while it was read`);
      at += bytesRead;
    }
    this.files.push({ path: target, content, executable: (mode & EXECUTABLE) !== 0 });
  }
}
