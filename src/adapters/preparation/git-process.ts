import { spawn } from 'node:child_process';
import { InfrastructureError, InputError, getMessage } from '../../kernel/errors.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';
import { formatExactBytes } from '../../kernel/text/figures.ts';

/** No settings of the user or the machine apply, and git prompts for nothing. */
const ENVIRONMENT = {
  PATH: '/usr/local/bin:/usr/bin:/bin',
  LANG: 'C.UTF-8',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: '/bin/false',
  SSH_ASKPASS: '/bin/false',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_ALLOW_PROTOCOL: 'file:https:ssh:git',
  GIT_CONFIG_COUNT: '4',
  GIT_CONFIG_KEY_0: 'safe.directory',
  GIT_CONFIG_VALUE_0: '*',
  GIT_CONFIG_KEY_1: 'core.hooksPath',
  GIT_CONFIG_VALUE_1: '/dev/null',
  GIT_CONFIG_KEY_2: 'core.fsmonitor',
  GIT_CONFIG_VALUE_2: 'false',
  GIT_CONFIG_KEY_3: 'submodule.recurse',
  GIT_CONFIG_VALUE_3: 'false',
};
const MOST_ERRORS = 8192;

/** The limit for a command that hangs without work, for example because the other side sends nothing. */
const MOST_WALL_MS = 4 * 3_600_000;
const SIGXCPU = 24;
/** The exit code of prlimit when there is no git. */
const NOT_FOUND = 127;

export interface GitBounds {
  /** Processor time of each process: a busy machine refuses no repository. */
  readonly seconds: number;
  /** The largest output in bytes. */
  readonly bytes: number;
  /** The largest file that it may write, in bytes: a clone has its objects in one file. Unlimited by default. */
  readonly fileBytes?: number;
}

/** git's message when a limit ended one of its processes. */
const SAYS_SLOW = /died of signal 24/i;
const SAYS_TOO_LARGE = /died of signal 25|invalid index-pack output|File too large/i;

/**
 * Runs git with a fixed environment: no hooks, no filters of a user, no submodules, no questions.
 *
 * @throws InputError `repository.git` when it fails or goes beyond the bounds; the signal's reason.
 */
export function runGit(args: readonly string[], bounds: GitBounds, signal: AbortSignal, input?: Buffer): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const what = `git ${args.find((word) => !word.startsWith('-') && !word.includes('/')) ?? ''}`;
  const fileSize = bounds.fileBytes === undefined ? [] : [`--fsize=${bounds.fileBytes}`];
  const child = spawn('prlimit', [`--cpu=${bounds.seconds}:${bounds.seconds + 1}`, ...fileSize, '--', 'git', ...args], {
    env: ENVIRONMENT,
    stdio: ['pipe', 'pipe', 'pipe'],
    signal,
    timeout: MOST_WALL_MS,
    killSignal: 'SIGKILL',
  });
  const pieces: Buffer[] = [];
  let bytes = 0;
  let errors = '';
  child.stdout.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > bounds.bytes) {
      reject(createTooLargeError(`${what}: it printed more than ${formatExactBytes(bounds.bytes)}; the repository is too large`));
      child.kill('SIGKILL');
    } else pieces.push(piece);
  });
  child.stderr.on('data', (piece: Buffer) => (errors = `${errors}${piece.toString('utf8')}`.slice(-MOST_ERRORS)));
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  child.on('error', (error) => {
    if (signal.aborted) reject(signal.reason);
    else
      reject(new InfrastructureError('git.missing', `prlimit cannot be run: ${getMessage(error)}; install util-linux`, { cause: error }));
  });
  child.on('close', (code, ended) => {
    if (code === 0) resolve(Buffer.concat(pieces));
    else if (code === NOT_FOUND) reject(new InfrastructureError('git.missing', `${errors.trim()}; install git`));
    else if (child.killed) reject(new InputError('repository.slow', `${what}: it did not end in ${MOST_WALL_MS / 3_600_000} hours`));
    else if (ended === 'SIGXCPU' || code === 128 + SIGXCPU || SAYS_SLOW.test(errors))
      reject(new InputError('repository.slow', `${what}: it took more than ${bounds.seconds} s of processor time`));
    else if (bounds.fileBytes !== undefined && SAYS_TOO_LARGE.test(errors))
      reject(createTooLargeError(`${what}: its objects have more than ${formatExactBytes(bounds.fileBytes)}; prepare a part of it`));
    else reject(new InputError('repository.git', `${what}: ${escapeUnprintableLine(errors.trim().slice(-500)) || `status ${code}`}`));
  });
  return promise;
}

function createTooLargeError(message: string): InputError {
  return new InputError('repository.too-large', message);
}
