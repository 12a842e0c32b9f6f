import { glob, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { join, posix, resolve } from 'node:path';
import type { Commit, FileChange } from '../../agents/preparation/candidate.ts';
import { type SourceFile, type SourceFiles, TREE_BOUNDS } from '../../agents/preparation/source/source-files.ts';
import { isPlainPath } from '../../agents/tasks/relative-path.ts';
import { InputError } from '../../kernel/errors.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';
import { formatExactBytes } from '../../kernel/text/figures.ts';
import { runGit } from './git-process.ts';

const QUICK = { seconds: 120, bytes: 256 * 2 ** 20 };
/** The largest clone in bytes: its objects are one file. */
const MOST_CLONED = 2 * 2 ** 30;
const CLONE = { seconds: 900, bytes: 2 ** 20 };
/** Bytes of blobs that may stay in memory for later reads. */
const MOST_KEPT = 192 * 2 ** 20;
const SPECIAL = new Set(['120000', '160000']);

interface TreeEntry {
  readonly path: string;
  readonly mode: string;
  readonly object: string;
}

/** A copy of a repository's objects, without a work tree: nothing of it is ever checked out, so no filter and no hook is run. */
export class GitRepository implements AsyncDisposable {
  readonly #directory: string;
  readonly #source: string;
  readonly #kept = new Map<string, Buffer>();
  #keptBytes = 0;

  private constructor(directory: string, source: string) {
    this.#directory = directory;
    this.#source = source;
  }

  /**
   * @param source path, bundle, or URL. @param scratch directory in which the copy is made. @param fileBytes of its objects, at most.
   * @throws InputError when it cannot be cloned.
   */
  static async clone(source: string, scratch: string, signal: AbortSignal, fileBytes = MOST_CLONED): Promise<GitRepository> {
    if (source.startsWith('-')) throw new InputError('repository.missing', `${source}: expected a path or a URL`);
    await mkdir(scratch, { recursive: true });
    const directory = await mkdtemp(join(scratch, 'clone-'));
    const from = /^[\w+.-]+:\/\/|^[\w.-]+@[\w.-]+:/.test(source) ? source : resolve(source);
    try {
      await runGit(
        ['clone', '-c', 'fetch.unpackLimit=1', '--quiet', '--mirror', '--no-local', '--no-recurse-submodules', from, directory],
        { ...CLONE, fileBytes },
        signal,
      );
    } catch (error) {
      await rm(directory, { recursive: true, force: true });
      throw explain(error, (said) => `${source} cannot be cloned: ${said}; expected a path, a bundle, or a URL that git can clone`);
    }
    return new GitRepository(directory, from);
  }

  async readHead(signal: AbortSignal): Promise<string> {
    try {
      return (await this.#git(['rev-parse', '--verify', 'HEAD^{commit}'], signal)).toString('utf8').trim();
    } catch (error) {
      throw explain(
        error,
        (said) =>
          `${this.#source} has no commit that HEAD names: ${said}; expected a repository with commits on the branch that is checked out`,
      );
    }
  }

  /** Lists the latest first. @param most how many. */
  async listCommits(most: number, signal: AbortSignal): Promise<readonly Commit[]> {
    const text = await this.#git(['log', '--first-parent', '-z', `--max-count=${most}`, '--format=%H%x1f%P%x1f%ct%x1f%B', 'HEAD'], signal);
    return text
      .toString('utf8')
      .split('\0')
      .filter((entry) => entry !== '')
      .map((entry) => {
        const [id = '', parents = '', committed = '0', ...message] = entry.split('\x1f');
        const [parent = ''] = parents.split(' ');
        return {
          id: id.trim(),
          parent: parent === '' ? undefined : parent,
          committed: Number(committed),
          message: message.join('\x1f').slice(0, 16_384),
        };
      });
  }

  /** Lists the changes of a commit against its first parent. */
  async listChanges({ id, parent }: Commit, signal: AbortSignal): Promise<readonly FileChange[]> {
    if (parent === undefined) return [];
    const args = ['diff-tree', '-r', '-z', '--no-renames', '--no-ext-diff', '--no-textconv', '--raw', '--numstat', parent, id];
    const parts = (await this.#git(args, signal)).toString('utf8').split('\0');
    const special = new Set<string>();
    const changes: FileChange[] = [];
    for (let at = 0; at < parts.length; at += 1) {
      const part = parts[at] ?? '';
      if (part.startsWith(':')) {
        const [before = '', after = ''] = part.slice(1).split(' ');
        at += 1;
        if (SPECIAL.has(before) || SPECIAL.has(after)) special.add(parts[at] ?? '');
      } else if (part !== '') {
        const [added = '', removed = '', path = ''] = part.split('\t');
        const lines = { added: Number(added) || 0, removed: Number(removed) || 0 };
        changes.push({ path, isBinary: added === '-', ...lines, isSpecial: special.has(path) });
      }
    }
    return changes;
  }

  /** Formats the changes of a commit, for readers. */
  async patch({ id, parent }: Commit, signal: AbortSignal): Promise<string> {
    if (parent === undefined) return '';
    const args = ['diff-tree', '-p', '--no-renames', '--no-ext-diff', '--no-textconv', '--no-color', parent, id];
    return (await this.#git(args, signal)).toString('utf8');
  }

  /**
   * Reads all files of a commit. A link within the tree becomes a copy of its target; submodules are left out.
   *
   * @throws InputError `repository.tree` for names that are not UTF-8, links out of the tree, and a tree beyond the bounds.
   */
  async readFiles(commit: string, signal: AbortSignal): Promise<SourceFiles> {
    const entries = readTree(await this.#git(['ls-tree', '-r', '-z', '-l', '--full-tree', commit], signal));
    const contents = await this.#readBlobs([...new Set(entries.map(({ object }) => object))], signal);
    const files = new Map<string, SourceFile>();
    const readContent = (object: string): Buffer => contents.get(object) ?? Buffer.alloc(0);
    for (const { path, mode, object } of entries)
      if (mode !== '120000') files.set(path, { content: readContent(object), executable: mode === '100755' });
    for (const { path, mode, object } of entries) {
      if (mode !== '120000') continue;
      const target = posix.join(posix.dirname(path), readContent(object).toString('utf8'));
      const isOutside = readContent(object).toString('utf8').startsWith('/') || target.startsWith('..');
      if (isOutside) throw refuseTree(`${path} is a link out of the tree`);
      const found = files.get(target);
      if (found !== undefined) files.set(path, found);
    }
    return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Lists references that reach a commit outside of HEAD's own history: tags, branches, packed references, entries of reflogs. One text each. */
  async listWaysTo(commit: string, signal: AbortSignal): Promise<readonly string[]> {
    const listed = await this.#git(['for-each-ref', '--count=20', `--contains=${commit}`, '--format=%(refname)'], signal);
    const packed = await readFile(join(this.#source, '.git', 'packed-refs'), 'utf8').catch(() => '');
    const references = listed
      .toString('utf8')
      .split('\n')
      .filter((name) => name !== '');
    const ways = references.map(
      (name) => `${packed.includes(` ${name}\n`) ? 'packed reference' : name.startsWith('refs/tags/') ? 'tag' : 'reference'} ${name}`,
    );
    return (await this.#isInReflog(commit)) ? [...ways, 'reflog'] : ways;
  }

  /** Reads the files of reflogs itself: git would follow the settings of the user's own copy, which may name programs. */
  async #isInReflog(commit: string): Promise<boolean> {
    const logs = join(this.#source, '.git', 'logs');
    for await (const log of glob('**', { cwd: logs, withFileTypes: true }))
      if (log.isFile() && (await readFile(join(log.parentPath, log.name), 'latin1').catch(() => '')).includes(commit)) return true;
    return false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
  }

  #git(args: readonly string[], signal: AbortSignal, input?: Buffer): Promise<Buffer> {
    return runGit([`--git-dir=${this.#directory}`, ...args], QUICK, signal, input);
  }

  async #readBlobs(objects: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, Buffer>> {
    const missing = objects.filter((object) => !this.#kept.has(object));
    if (this.#keptBytes > MOST_KEPT) {
      this.#kept.clear();
      this.#keptBytes = 0;
      return this.#readBlobs(objects, signal);
    }
    if (missing.length > 0) {
      const output = await this.#git(['cat-file', '--batch'], signal, Buffer.from(`${missing.join('\n')}\n`));
      for (const [object, content] of readBatch(output)) {
        this.#kept.set(object, content);
        this.#keptBytes += content.length;
      }
    }
    return this.#kept;
  }
}

/** Reads `MODE blob OBJECT SIZE\tPATH`, each ended by a zero byte. */
function readTree(output: Buffer): readonly TreeEntry[] {
  const entries: TreeEntry[] = [];
  let bytes = 0;
  for (let at = 0; at < output.length;) {
    const end = output.indexOf(0, at);
    const entry = output.subarray(at, end);
    at = end + 1;
    const [mode = '', type = '', object = '', size = '0'] = entry.subarray(0, entry.indexOf(9)).toString('latin1').split(/ +/);
    const name = entry.subarray(entry.indexOf(9) + 1);
    const path = name.toString('utf8');
    if (!Buffer.from(path).equals(name)) throw refuseTree(`the name ${escapeUnprintableLine(path)} is not UTF-8`);
    if (!isPlainPath(path)) throw refuseTree(`the name ${escapeUnprintableLine(path)} leaves the tree, or is one that no tool can handle`);
    if (type !== 'blob') continue;
    bytes += Number(size);
    if (Number(size) > TREE_BOUNDS.fileBytes)
      throw refuseTree(`${path} has ${formatExactBytes(Number(size))}; a file has at most ${formatExactBytes(TREE_BOUNDS.fileBytes)}`);
    if (bytes > TREE_BOUNDS.bytes) throw refuseTree(`its files have more than ${formatExactBytes(TREE_BOUNDS.bytes)} together`);
    if (entries.length === TREE_BOUNDS.files) throw refuseTree(`it has more than ${TREE_BOUNDS.files} files`);
    entries.push({ path, mode, object });
  }
  return entries;
}

/** Reads the output of `cat-file --batch`: `OBJECT blob SIZE\n`, the content, a line feed. */
function* readBatch(output: Buffer): Generator<readonly [string, Buffer]> {
  for (let at = 0; at < output.length;) {
    const end = output.indexOf(10, at);
    const [object = '', , size] = output.subarray(at, end).toString('latin1').split(' ');
    const bytes = Number(size);
    if (!Number.isInteger(bytes)) throw refuseTree(`the object ${object} is missing`);
    yield [object, output.subarray(end + 1, end + 1 + bytes)];
    at = end + 2 + bytes;
  }
}

/** Explains what git has refused, in words that say what to do. */
function explain(error: unknown, describe: (said: string) => string): unknown {
  if (!(error instanceof InputError) || error.code !== 'repository.git') return error;
  return new InputError(error.code, describe(error.message), { cause: error });
}

function refuseTree(text: string): InputError {
  return new InputError('repository.tree', text);
}
