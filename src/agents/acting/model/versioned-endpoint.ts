import type { ReportedVersion } from '../../rollouts/streams/policy-versions.ts';
import type { Answered, CompletionRequest, ModelEndpoint, RelayedRequest } from './model-endpoint.ts';

/**
 * The model of a training: each turn goes to the endpoint of its latest version. A turn has the version that its server states; if it states none,
 * the one that the trainer had reported last when the turn began.
 */
export class VersionedEndpoint implements ModelEndpoint {
  readonly #version: () => ReportedVersion | undefined;
  readonly #open: (name: string | undefined) => ModelEndpoint;
  readonly #endpoints = new Map<string | undefined, ModelEndpoint>();

  /** @param open an endpoint by its name, or the agent's own. */
  constructor(version: () => ReportedVersion | undefined, open: (name: string | undefined) => ModelEndpoint) {
    this.#version = version;
    this.#open = open;
  }

  async complete(request: CompletionRequest | RelayedRequest, signal: AbortSignal): Promise<Answered> {
    const reported = this.#version();
    const completion = await this.#getEndpoint(reported?.endpoint).complete(request, signal);
    if (completion.kind !== 'message' || completion.tokens === undefined) return completion;
    return { ...completion, tokens: { ...completion.tokens, version: completion.tokens.version ?? reported?.version } };
  }

  #getEndpoint(name: string | undefined): ModelEndpoint {
    const endpoint = this.#endpoints.get(name) ?? this.#open(name);
    this.#endpoints.set(name, endpoint);
    return endpoint;
  }
}
