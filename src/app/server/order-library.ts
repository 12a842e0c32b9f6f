import type { Runtime } from '../runtime.ts';
import { suggestNames } from '../../kernel/documents/did-you-mean.ts';
import { isMapping } from '../../kernel/documents/path.ts';
import { InputError } from '../../kernel/errors.ts';
import { isDigest, type Digest } from '../../kernel/ids.ts';
import type { CheckpointSource } from '../../policy-distribution/checkpoint-source.ts';
import { addPinned, parsePinnedUri } from '../../policy-distribution/store/pinned-uri.ts';
import type { Checkpoint } from '../../policy-distribution/checkpoint.ts';
import type { OrderedContent } from '../../service/orders/evaluation-order.ts';
import type { CheckpointReference, Library, OrderedSuite, SuiteReference } from '../../service/orders/library.ts';
import { KnownSuites } from '../suites/known-suites.ts';
import { assertInlineEntries } from '../../orchestrator/suite/inline-entries.ts';
import { readSuite, type ReadSuite } from '../suites/suite-input.ts';
import type { StopOverride } from '../../orchestrator/suite/suite-definition.ts';

/** Says how a checkpoint that a caller names reaches this machine. */
export interface CheckpointAccess {
  /** Reads what callers may name by URI, and nothing else. */
  readonly source: CheckpointSource;
  /** Finds a stored checkpoint by its digest; undefined when it is missing, or not for this principal. */
  findUploaded(digest: Digest, principal: string): Promise<Checkpoint | undefined>;
}

/** Finds suites by their names in the configuration, and checkpoints where callers say that they are. Part of the composition root. */
export class OrderLibrary implements Library {
  readonly #runtime: Runtime;
  readonly #access: CheckpointAccess;
  readonly #isOwn: boolean;
  readonly #suites = new KnownSuites();

  /** @param isOwn whether all callers belong to this machine: their suites may then have modules from it, like those of `muster eval`. */
  constructor(runtime: Runtime, access: CheckpointAccess, isOwn = false) {
    this.#runtime = runtime;
    this.#access = access;
    this.#isOwn = isOwn;
  }

  async orderSuite(reference: SuiteReference, stop: StopOverride | undefined, signal: AbortSignal): Promise<OrderedSuite> {
    const read = await this.#read(reference, stop, signal);
    const { definition, files } = await this.#runtime.keepSuite(read, signal);
    // Checks the template now, while the caller can still correct it.
    this.#runtime.pools.getSettings(definition.template);
    return { written: read.parsed, digest: definition.digest, files: files && toOrderedContent(files, read.directory ?? '') };
  }

  async orderCheckpoint(reference: CheckpointReference, principal: string, signal: AbortSignal): Promise<OrderedContent> {
    const { run, version } = reference;
    const labels = { ...(run === undefined ? {} : { run }), ...(version === undefined ? {} : { version }) };
    if ('sha256' in reference)
      return { ...toOrderedContent(await this.#findUploaded(reference.sha256, principal), reference.sha256), labels };
    const { uri } = reference;
    const stored = addPinned(
      this.#runtime.checkpoints,
      this.#access.source,
      parsePinnedUri(uri),
      this.#runtime.joinSignals(signal),
      labels,
    );
    return toOrderedContent(await stored, uri);
  }

  assertPlayable(template: string, checkpoints: readonly OrderedContent[]): void {
    this.#runtime.choosePolicyPlacement(template, checkpoints);
  }

  async #read(reference: SuiteReference, stop: StopOverride | undefined, signal: AbortSignal): Promise<ReadSuite> {
    if (typeof reference === 'string') {
      const { suites } = this.#runtime.config.server;
      const path = Object.hasOwn(suites, reference) ? suites[reference] : undefined;
      if (path !== undefined) return this.#suites.read(path, stop, signal);
      const names = Object.keys(suites);
      throw new InputError(
        'suite.unknown',
        `suite: the server has no suite "${reference}"; it has ${names.join(', ') || 'none yet'}; add it to server.suites, or send the suite itself${suggestNames(reference, names)}`,
      );
    }
    // The path would be on the server, in any directory that it can read.
    if ('files' in reference && !this.#isOwn)
      throw new InputError('suite.files', 'suite.files: a suite that is sent cannot contain modules; name it in server.suites instead');
    if (isMapping(reference['tasks']) && !this.#isOwn)
      throw new InputError(
        'suite.tasks',
        'suite.tasks: a suite that is sent cannot contain tasks for agents; name it in server.suites instead',
      );
    const read = await readSuite({ suite: reference, ...(stop ? { stop } : {}) });
    if (!this.#isOwn) assertInlineEntries(read.parsed, this.#runtime.config.server.inlineModules);
    return read;
  }

  async #findUploaded(sha256: string, principal: string): Promise<Checkpoint> {
    const digest = sha256.startsWith('sha256:') ? sha256 : `sha256:${sha256}`;
    const found = isDigest(digest) ? await this.#access.findUploaded(digest, principal) : undefined;
    if (found) return found;
    throw new InputError('checkpoint.unknown', `checkpoint.sha256: the server has no checkpoint ${digest}; upload it, or give its uri`);
  }
}

function toOrderedContent({ digest, kind, files, labels }: Checkpoint, uri: string): OrderedContent {
  return { uri, digest, kind, files: files.map(({ path, size, digest: ofFile }) => ({ path, size, digest: ofFile })), labels };
}
