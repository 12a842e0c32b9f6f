import { ALL_TRAFFIC, Sandbox, SandboxNotFoundError, Template, type SandboxInfo } from 'e2b';
import type { Clock } from '../../../kernel/clock.ts';
import { type E2bAccount } from './account.ts';
import { hasMadeNothing, toE2bError, getStatus, createUnknownTemplateError } from './failure.ts';
import { retryPatiently } from './patience.ts';

/** The longest time for the control plane, and for short requests to a sandbox. Creating one from a cached template takes well below a second. */
const REQUEST_MS = 30_000;
const NEVER = new AbortController().signal;
/** The most that the service sends. */
const PAGE = 100;

export interface Creation {
  /** Name or id of the E2B template. */
  readonly template: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** E2B ends the sandbox after this, unless it is extended. */
  readonly timeoutMs: number;
  /** The hosts that it may connect to. */
  readonly reaches: readonly string[];
}

/** E2B's control plane. Everything but a creation is safe to repeat, and is repeated for as long as trouble may pass. */
export class E2bService {
  readonly #options: E2bAccount & { readonly requestTimeoutMs: number; readonly retries: number };
  readonly #clock: Clock;

  constructor(account: E2bAccount, clock: Clock) {
    // The SDK would wait out some of the 429s by itself, and the pool would create more sandboxes meanwhile.
    this.#options = { ...account, requestTimeoutMs: REQUEST_MS, retries: 0 };
    this.#clock = clock;
  }

  /**
   * Makes one attempt. It cannot be aborted half-way: an aborted request may still have created a sandbox.
   *
   * @param maybeMade called when the creation failed, but there may be a sandbox. @throws ProviderBusyError (429), InputError (key, template, limits
   * of the plan), InfrastructureError.
   */
  async create({ template, metadata, timeoutMs, reaches }: Creation, maybeMade: () => Promise<void>): Promise<Sandbox> {
    try {
      return await Sandbox.create(template, {
        ...this.#options,
        metadata: { ...metadata },
        timeoutMs,
        ...(reaches.length === 0 ? { allowInternetAccess: false } : { network: { allowOut: [...reaches], denyOut: [ALL_TRAFFIC] } }),
      });
    } catch (error) {
      if (getStatus(error) === 404) throw createUnknownTemplateError(template, error);
      if (!hasMadeNothing(error)) await maybeMade();
      throw toE2bError(error, 'create a sandbox');
    }
  }

  /** Resolves when there is no such sandbox any more. */
  kill(sandboxId: string): Promise<unknown> {
    return this.#repeat('end a sandbox', NEVER, () => Sandbox.kill(sandboxId, this.#options));
  }

  /** Makes the sandbox end this long from now. @returns whether it is there. */
  extend(sandboxId: string, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    return this.#repeat('extend a sandbox', signal, async () => {
      try {
        await Sandbox.setTimeout(sandboxId, timeoutMs, { ...this.#options, signal });
        return true;
      } catch (error) {
        if (error instanceof SandboxNotFoundError) return false;
        throw error;
      }
    });
  }

  /** Resolves when it is paused, and no longer ends by itself. */
  pause(sandboxId: string, signal: AbortSignal): Promise<unknown> {
    return this.#repeat('pause a sandbox', signal, () => Sandbox.pause(sandboxId, { ...this.#options, signal }));
  }

  /** Resolves when it runs again. */
  resume(sandboxId: string, timeoutMs: number, signal: AbortSignal): Promise<unknown> {
    return this.#repeat('resume a sandbox', signal, () => Sandbox.connect(sandboxId, { ...this.#options, timeoutMs, signal }));
  }

  /** Lists all sandboxes of the account with the metadata, running or paused. */
  async list(metadata: Readonly<Record<string, string>>, signal: AbortSignal): Promise<readonly SandboxInfo[]> {
    const found: SandboxInfo[] = [];
    const pages = Sandbox.list({ ...this.#options, query: { metadata: { ...metadata } }, limit: PAGE });
    while (pages.hasNext) found.push(...(await this.#repeat('list sandboxes', signal, () => pages.nextItems({ signal }))));
    return found;
  }

  /** @throws InputError when the key is refused or there is no such template. */
  async checkTemplate(template: string, signal: AbortSignal): Promise<void> {
    const name = template.split(':')[0] ?? template;
    const exists = await this.#repeat('look up a template', signal, () => Template.exists(name, { ...this.#options, signal }));
    if (!exists) throw createUnknownTemplateError(template);
  }

  async #repeat<T>(doing: string, signal: AbortSignal, act: () => Promise<T>): Promise<T> {
    try {
      return await retryPatiently(this.#clock, signal, act);
    } catch (error) {
      if (signal.aborted) throw error;
      throw toE2bError(error, doing);
    }
  }
}
