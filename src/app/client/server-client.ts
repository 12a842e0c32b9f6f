import { stat } from 'node:fs/promises';
import { filesystemSource } from '../../adapters/checkpoints/filesystem.ts';
import { suggestNearest } from '../../adapters/files/nearest-path.ts';
import { readSuiteFile } from '../../adapters/files/suite-file.ts';
import { MusterClient } from '../../faces/client/muster-client.ts';
import { DEFAULT_RETRY, type Retry } from '../../faces/client/patience.ts';
import type { CheckpointSource } from '../../policy-distribution/checkpoint-source.ts';
import type { NewEvaluation } from '../../faces/client/request-bodies.ts';
import { checkSendableToken, parseServerUrl } from '../../faces/client/server-address.ts';
import { systemClock } from '../../kernel/clock.ts';
import { InputError } from '../../kernel/errors.ts';
import {
  assertKinds,
  assertKnownKeys,
  FUNCTION,
  TEXT,
  TRUTH,
  type Keys,
  type Kind,
  type Kinds,
} from '../../kernel/documents/known-keys.ts';
import { isMapping } from '../../kernel/documents/path.ts';
import { escapeUnprintable } from '../../kernel/text/printable.ts';
import { readConfiguration } from '../configuration.ts';
import { parseSuite } from '../../orchestrator/suite/suite-definition.ts';

export type { MusterClient };

/** The composition root of clients: programs in TypeScript, and the commands. */

/** The source of paths that a person typed: an error names the nearest existing path. */
const TYPED_SOURCE: CheckpointSource = {
  ...filesystemSource,
  list: (path, options) => suggestNearest(path, () => filesystemSource.list(path, options)),
};

export interface ConnectionOptions {
  /** The caller's token; MUSTER_TOKEN when left out. */
  readonly token?: string | undefined;
  readonly retry?: Partial<Retry>;
  /** Allows a token to travel to another machine without TLS. */
  readonly plainHttp?: boolean | undefined;
  /** Called when the server has another version, and when a request is retried. A warning of the process (`process.on('warning')`) when left out. */
  readonly onWarning?: (message: string) => void;
}

const CONNECTION: Keys<ConnectionOptions> = { token: true, retry: true, plainHttp: true, onWarning: true };
const CONNECTION_KINDS: Kinds<ConnectionOptions> = {
  token: TEXT,
  retry: { expected: 'an object such as { patienceMilliseconds: 600_000 }', fits: isMapping },
  plainHttp: TRUTH,
  onWarning: FUNCTION,
};
const DURATION: Kind = { expected: 'milliseconds, 0 or more', fits: (value) => typeof value === 'number' && value >= 0 };
const RETRY_KINDS: Kinds<Retry> = { firstMilliseconds: DURATION, longestMilliseconds: DURATION, patienceMilliseconds: DURATION };

/** Node strips types without checking them. */
function assertConnection(options: ConnectionOptions): void {
  assertKnownKeys('options of connect()', options, CONNECTION);
  assertKinds('options of connect()', options, CONNECTION_KINDS);
  assertKnownKeys('options of connect(): retry', options.retry ?? {}, DEFAULT_RETRY);
  assertKinds('options of connect(): retry', options.retry ?? {}, RETRY_KINDS);
}

/**
 * Creates a client of a server.
 *
 * @param url `http://127.0.0.1:7677`; MUSTER_URL when left out. @throws InputError `client.url`, `client.token`, `client.plain-http`, `library.input`
 */
export function connect(url = process.env['MUSTER_URL'] ?? '', options: ConnectionOptions = {}): MusterClient {
  assertConnection(options);
  const { token = process.env['MUSTER_TOKEN'], retry = {}, plainHttp = false, onWarning = emitWarning } = options;
  const address = parseServerUrl(url, url !== '' && url === process.env['MUSTER_URL'] ? 'MUSTER_URL' : 'url');
  return new MusterClient({
    url: address,
    token: checkSendableToken(token, address, plainHttp, options.token === undefined ? 'MUSTER_TOKEN' : 'token'),
    clock: systemClock,
    random: Math.random,
    retry: { ...DEFAULT_RETRY, ...retry },
    source: TYPED_SOURCE,
    readSuite,
    warn: onWarning,
  });
}

function emitWarning(message: string): void {
  process.emitWarning(message, { type: 'MusterWarning' });
}

/** A person waits at a shell. This is long enough for a server to restart. */
const SHELL_PATIENCE_SECONDS = 30;

export interface ServerAddress {
  readonly server?: string;
  readonly config?: string;
  readonly plainHttp?: boolean;
  readonly patienceSeconds?: number;
}

/** Creates a command's client: of the server that its flags or MUSTER_URL name, or of the server that the configuration would start here. */
export function createClient({ server, config, plainHttp, patienceSeconds = SHELL_PATIENCE_SECONDS }: ServerAddress): MusterClient {
  return connect(server ?? process.env['MUSTER_URL'] ?? readServerUrl(config), {
    plainHttp,
    retry: { patienceMilliseconds: 1000 * patienceSeconds },
    onWarning: (message) => void process.stderr.write(`muster: ${escapeUnprintable(message)}\n`),
  });
}

function readServerUrl(config: string | undefined): string {
  const { host, port } = readConfiguration(config).server;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/**
 * Reads the checked suite of a file, or returns the given name when there is no such file or it is a directory, which often has the name of
 * the suite in it.
 *
 * @throws as `readSuite` does.
 */
export async function readSuiteToSend(nameOrPath: string): Promise<NewEvaluation['suite']> {
  const found = await stat(nameOrPath).catch(() => undefined);
  return found !== undefined && !found.isDirectory() ? readSuite(nameOrPath) : nameOrPath;
}

/** @throws InputError when the suite is wrong, or has modules: only suites that the server has by name may have them. */
export async function readSuite(path: string): Promise<NewEvaluation['suite']> {
  const suite = parseSuite(await suggestNearest(path, () => readSuiteFile(path)));
  if (suite.files === undefined) return suite;
  throw new InputError(
    'suite.files',
    `${path}: files: a suite that is sent cannot contain modules; name it in server.suites of the server, and give that name here`,
  );
}
