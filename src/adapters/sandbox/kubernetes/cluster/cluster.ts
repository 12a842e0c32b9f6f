import {
  AuthorizationV1Api,
  type ConfigurationOptions,
  CoordinationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  NetworkingV1Api,
  NodeV1Api,
  Observable,
  type RequestContext,
  type V1Pod,
} from '@kubernetes/client-node';
import { AbortError } from 'p-retry';
import { createAbortError } from '../../../../kernel/abort.ts';
import type { Clock } from '../../../../kernel/clock.ts';
import { getMessage, InputError } from '../../../../kernel/errors.ts';
import type { PodLocation, PodTemplate } from '../settings/pod-template.ts';
import { isConflict, isNotFound } from './api-errors.ts';
import { ApiGate } from './api-gate.ts';
import { listAll, type Listing, PAGE } from './listing.ts';
import { parsePod, type PodView } from './pod-view.ts';

const NEVER = new AbortController().signal;

/** One namespace of one cluster, as far as Muster uses it. Every call goes through the gate. */
export class Cluster implements Disposable {
  readonly config: KubeConfig;
  readonly namespace: string;
  readonly gate: ApiGate;
  readonly #core: CoreV1Api;

  constructor(pod: PodLocation, clock: Clock) {
    this.config = loadKubeConfig(pod);
    this.namespace = pod.namespace;
    this.gate = new ApiGate(pod.requestsPerSecond, clock);
    this.#core = this.config.makeApiClient(CoreV1Api);
  }

  get core(): CoreV1Api {
    return this.#core;
  }

  get coordination(): CoordinationV1Api {
    return this.config.makeApiClient(CoordinationV1Api);
  }

  get authorization(): AuthorizationV1Api {
    return this.config.makeApiClient(AuthorizationV1Api);
  }

  get networking(): NetworkingV1Api {
    return this.config.makeApiClient(NetworkingV1Api);
  }

  get node(): NodeV1Api {
    return this.config.makeApiClient(NodeV1Api);
  }

  get custom(): CustomObjectsApi {
    return this.config.makeApiClient(CustomObjectsApi);
  }

  get podsPath(): string {
    return `/api/v1/namespaces/${this.namespace}/pods`;
  }

  async createPod(pod: V1Pod, signal: AbortSignal): Promise<void> {
    await this.create(`the pod ${pod.metadata?.name ?? ''}`, signal, (attemptSignal) =>
      this.#core.createNamespacedPod({ namespace: this.namespace, body: pod }, withSignal(attemptSignal)),
    );
  }

  /**
   * Safe to repeat: when an answer was lost, an existing object is the one that was made. A request that is under way is awaited even when the signal
   * is aborted: only then is it known what has to be deleted.
   */
  async create(what: string, signal: AbortSignal, act: (attemptSignal: AbortSignal) => Promise<unknown>): Promise<void> {
    let attempts = 0;
    await this.gate.request(`create ${what}`, NEVER, async (attemptSignal) => {
      if (signal.aborted) throw new AbortError(createAbortError(signal));
      attempts += 1;
      try {
        await act(attemptSignal);
      } catch (error) {
        if (attempts === 1 || !isConflict(error)) throw error;
      }
    });
  }

  /** Returns undefined when there is none. */
  async findPod(name: string, signal: AbortSignal): Promise<PodView | undefined> {
    return await this.gate.request(`get the pod ${name}`, signal, async (attemptSignal) => {
      try {
        return parsePod(await this.#core.readNamespacedPod({ name, namespace: this.namespace }, withSignal(attemptSignal)));
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    });
  }

  /** Has no effect when it is gone. @param graceSeconds 0 removes its record without waiting for its node. */
  async deletePod(name: string, graceSeconds: number, signal: AbortSignal): Promise<void> {
    await this.gate.request(`delete the pod ${name}`, signal, async (attemptSignal) => {
      try {
        const request = { name, namespace: this.namespace, gracePeriodSeconds: graceSeconds };
        await this.#core.deleteNamespacedPod(request, withSignal(attemptSignal));
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    });
  }

  async deletePods(labelSelector: string, graceSeconds: number, signal: AbortSignal): Promise<void> {
    await this.gate.request(`delete the pods of ${labelSelector}`, signal, async (attemptSignal) => {
      const request = { namespace: this.namespace, labelSelector, gracePeriodSeconds: graceSeconds };
      await this.#core.deleteCollectionNamespacedPod(request, withSignal(attemptSignal));
    });
  }

  listPods(labelSelector: string, signal: AbortSignal): Promise<Listing<PodView>> {
    return listAll(async (next) => {
      const request = { namespace: this.namespace, labelSelector, limit: PAGE, ...(next === undefined ? {} : { _continue: next }) };
      const { items, metadata } = await this.gate.request('list the pods', signal, (attemptSignal) =>
        this.#core.listNamespacedPod(request, withSignal(attemptSignal)),
      );
      return { items: items.map(parsePod), resourceVersion: metadata?.resourceVersion, next: metadata?._continue };
    });
  }

  /** Lists the pods of another namespace, as many as one answer holds. */
  async listPodsIn(namespace: string, labelSelector: string, signal: AbortSignal): Promise<readonly PodView[]> {
    const page = await this.gate.request(`list the pods of the namespace ${namespace}`, signal, (attemptSignal) =>
      this.#core.listNamespacedPod({ namespace, labelSelector }, withSignal(attemptSignal)),
    );
    return page.items.map(parsePod);
  }

  [Symbol.dispose](): void {
    this.gate[Symbol.dispose]();
  }
}

/** Aborts the request with the signal, and reports the headers of its answer. */
export function withSignal(signal: AbortSignal, onHeaders?: (headers: Readonly<Record<string, string>>) => void): ConfigurationOptions {
  return {
    middleware: [
      {
        pre: (request) => {
          request.setSignal(signal);
          return new Observable(Promise.resolve(request));
        },
        post: (response) => {
          onHeaders?.(response.headers);
          return new Observable(Promise.resolve(response));
        },
      },
    ],
    middlewareMergeStrategy: 'append',
  };
}

type Dispatcher = NonNullable<ReturnType<RequestContext['getDispatcher']>>;

/**
 * The client opens connections of its own for every request over TLS, and leaves them open. Here all requests share those of the first, until they
 * have been idle; the authorisation of a request is still computed each time.
 */
class SharedKubeConfig extends KubeConfig {
  #dispatcher: Dispatcher | undefined;

  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    await super.applySecurityAuthentication(context);
    const made = context.getDispatcher();
    if (made === undefined) return;
    this.#dispatcher ??= made;
    context.setDispatcher(this.#dispatcher);
  }
}

/** @throws InputError `kubernetes.config` when there is none, or not the context. */
function loadKubeConfig({ kubeconfig, context }: Pick<PodTemplate, 'kubeconfig' | 'context'>): KubeConfig {
  const config = new SharedKubeConfig();
  try {
    if (kubeconfig === 'auto') config.loadFromDefault();
    else config.loadFromFile(kubeconfig);
  } catch (error) {
    throw new InputError('kubernetes.config', `the kubeconfig ${kubeconfig} cannot be read: ${getMessage(error)}; ${REMEDY}`, {
      cause: error,
    });
  }
  if (kubeconfig === 'auto' && config.getCurrentCluster()?.server === ASSUMED_SERVER)
    throw new InputError(
      'kubernetes.config',
      `there is no kubeconfig: $KUBECONFIG, ~/.kube/config and the service account of a pod were looked for; ${REMEDY}`,
    );
  if (context !== undefined) {
    const known = config.getContexts().map(({ name }) => name);
    if (!known.includes(context)) {
      throw new InputError(
        'kubernetes.config',
        `the kubeconfig has no context "${context}", it has ${known.join(', ') || 'none'}; ${REMEDY}`,
      );
    }
    config.setCurrentContext(context);
  }
  if (!config.getCurrentCluster()) throw new InputError('kubernetes.config', `the kubeconfig names no cluster; ${REMEDY}`);
  return config;
}

/** The client connects to this address when it finds no configuration. */
const ASSUMED_SERVER = 'http://localhost:8080';
const REMEDY = 'set kubernetes.kubeconfig and kubernetes.context of the template';
