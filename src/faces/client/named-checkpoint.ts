import { basename, resolve } from 'node:path';
import { assertKnownKeys, type Keys } from '../../kernel/documents/known-keys.ts';
import { InputError } from '../../kernel/errors.ts';

interface Labels {
  /** Its name in lists; the name of the file or directory when it is left out and there is a path. */
  readonly name?: string | undefined;
  /** Its training run. */
  readonly run?: string | undefined;
  /** Its training step. */
  readonly version?: number | undefined;
}

/** A policy's weights: by a path of this machine (uploaded when the server does not have it), by a URI that the server reads, or by digest. */
export type NamedCheckpoint = Labels & ({ readonly path: string } | { readonly uri: string } | { readonly sha256: string });

/** A path, a URI, a SHA-256 (64 hexadecimal digits, with or without `sha256:`), or a `NamedCheckpoint`, which says explicitly which of them it is. */
export type CheckpointLike = string | NamedCheckpoint;

const WAYS: Keys<Record<'path' | 'uri' | 'sha256', string>> = { path: true, uri: true, sha256: true };
const KEYS: Keys<Labels> & typeof WAYS = { ...WAYS, name: true, run: true, version: true };
const SHA256 = /^(sha256:)?[0-9a-f]{64}$/;
const URI = /^([a-z][a-z0-9+.-]*:\/\/|file:|agent:)./;

/** Returns the name of a file or directory of this machine in lists; undefined when a server would refuse it. */
export function nameFile(path: string): string | undefined {
  const name = basename(resolve(path));
  return name.isWellFormed() && /^[^\p{Cc}]{1,255}$/u.test(name) ? name : undefined;
}

/** @param labels of checkpoints without labels of their own. @throws InputError `checkpoint.sha256`, `library.input` */
export function nameCheckpoint(given: CheckpointLike, labels: Labels = {}): NamedCheckpoint {
  if (typeof given === 'string') {
    if (SHA256.test(given)) return { ...labels, sha256: given };
    return URI.test(given) ? { ...labels, uri: given } : { ...labels, path: given };
  }
  assertNamed(given);
  if ('sha256' in given && !SHA256.test(given.sha256))
    throw new InputError(
      'checkpoint.sha256',
      `checkpoint.sha256: expected 64 lower-case hexadecimal digits, got ${JSON.stringify(given.sha256)}`,
    );
  return { ...given, run: given.run ?? labels.run, version: given.version ?? labels.version };
}

/** Node strips types without checking them. @throws InputError `library.input` */
function assertNamed(given: object): void {
  assertKnownKeys('checkpoint', given, KEYS);
  const [named, ...more] = Object.entries(given).filter(([key]) => Object.hasOwn(WAYS, key));
  if (named === undefined || more.length > 0) {
    const got = [named, ...more].flatMap((entry) => entry?.[0] ?? []).join(' and ');
    throw new InputError('library.input', `checkpoint: expected one of path, uri and sha256, got ${got || 'none'}`);
  }
  const [way, value] = named;
  if (typeof value !== 'string' || value === '')
    throw new InputError('library.input', `checkpoint.${way}: expected text that is not empty, got ${JSON.stringify(value)}`);
}
