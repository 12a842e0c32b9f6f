import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { ADMIN, assertMayDo, mayDo, type Identity } from './access.ts';
import { notFound, objectSchema, Refusal, matchesLabels, type KubeObject } from './api-objects.ts';
import { parseApiPath, type ApiPath } from './api-path.ts';
import { ExecEndpoint } from './exec-endpoint.ts';
import { Faults, type SimulatedRequest, type Fault, type InjectedFault } from './faults.ts';
import { ObjectStore } from './object-store.ts';
import { patched } from './patches.ts';
import { CACHE_NAMESPACE, CACHE_PODS, SimulatedNodeCaches } from './simulated-node-caches.ts';
import type { PodNode, SimulatedImage } from './simulated-node.ts';
import { PODS, SimulatedPods } from './simulated-pods.ts';
import { AGENT_SANDBOX_API, AGENT_SANDBOX_RESOURCES, SANDBOXES, WARM_POOL } from './agent-sandbox-objects.ts';
import { SimulatedAgentSandbox } from './simulated-agent-sandbox.ts';
import { serveWatch } from './watch-stream.ts';

export interface SimulatorOptions {
  /** Where pods run; left out: they only seem to. */
  readonly node?: PodNode;
  readonly images?: ReadonlyMap<string, SimulatedImage>;
  /** Names of its nodes; one when left out. */
  readonly nodes?: readonly string[];
  /** For TLS. */
  readonly certificate?: { readonly key: string; readonly cert: string };
  /** The cluster's time, which need not be this machine's. */
  readonly now?: () => Date;
}

export const NAMESPACE = 'muster';
export const ADMIN_TOKEN = 'admin-token';
/** Resources of the cluster rather than of a namespace. */
const CLUSTER_WIDE = new Set(['namespaces', 'runtimeclasses', 'selfsubjectaccessreviews']);
const DENY_EGRESS = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'muster-no-network' },
  spec: {
    podSelector: { matchLabels: { 'app.kubernetes.io/managed-by': 'muster', 'muster.dev/network': 'none' } },
    policyTypes: ['Egress'],
  },
};

/** That of deploy/kubernetes/priority-class.yaml. */
const PRIORITY_CLASS = { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name: 'muster-sandbox' }, value: -100 };
const DIAL_BACK_ONLY = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'muster-dial-back' },
  spec: {
    podSelector: { matchLabels: { 'app.kubernetes.io/managed-by': 'muster', 'muster.dev/network': 'dial-back' } },
    policyTypes: ['Ingress', 'Egress'],
    egress: [{ to: [{ ipBlock: { cidr: '127.0.0.1/32' } }], ports: [{ protocol: 'TCP', port: 7678 }] }],
  },
};

const reviewSchema = z.looseObject({
  spec: z.object({
    resourceAttributes: z.object({
      group: z.string().default(''),
      resource: z.string(),
      subresource: z.string().optional(),
      verb: z.string(),
    }),
  }),
});

/**
 * A Kubernetes API server over a real socket, with as much behind it as a client can tell: versions and watches, permissions, a
 * scheduler and a node. Its faults can be planned.
 */
export class KubernetesSimulator implements AsyncDisposable {
  readonly faults = new Faults();
  readonly store: ObjectStore;
  readonly pods: SimulatedPods;
  readonly agentSandbox: SimulatedAgentSandbox;
  readonly nodeCaches: SimulatedNodeCaches;
  /** By bearer token. */
  readonly identities = new Map<string, Identity>([[ADMIN_TOKEN, ADMIN]]);
  /** Requests so far, by method and resource. */
  readonly requests = new Map<string, number>();
  /** When each pod was created, in milliseconds of this machine. */
  readonly creations: number[] = [];
  /** Pods that there have been at a time, those on their way out among them. */
  mostPodsAtOnce = 0;
  /** Connections so far. */
  connections = 0;
  readonly #exec = new ExecEndpoint();
  readonly #server: http.Server;
  readonly #now: () => Date;
  readonly #isSecure: boolean;

  private constructor({ node, images = new Map(), nodes = ['node-1'], certificate, now = () => new Date() }: SimulatorOptions) {
    this.#now = now;
    this.store = new ObjectStore(now);
    this.pods = new SimulatedPods(this.store, node, images, nodes);
    this.nodeCaches = new SimulatedNodeCaches(this.store, node, nodes);
    this.agentSandbox = new SimulatedAgentSandbox(this.store, this.pods, now);
    this.#isSecure = certificate !== undefined;
    // API servers do not close what is idle for seconds; a request would cross with it.
    const patience = { keepAliveTimeout: 60_000 };
    this.#server = certificate ? https.createServer({ ...certificate, ...patience }) : http.createServer(patience);
    this.#server.on(certificate ? 'secureConnection' : 'connection', () => (this.connections += 1));
    this.#server.on('request', (request: IncomingMessage, response: ServerResponse) => void this.#onRequest(request, response));
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => void this.#onUpgrade(request, socket, head));
    this.store.create('namespaces', objectSchema.parse({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }));
    this.store.create('priorityclasses', objectSchema.parse(PRIORITY_CLASS));
    for (const policy of [DENY_EGRESS, DIAL_BACK_ONLY]) this.store.create('networkpolicies', objectSchema.parse(policy));
  }

  static async start(options: SimulatorOptions = {}): Promise<KubernetesSimulator> {
    const simulator = new KubernetesSimulator(options);
    simulator.#server.listen(0, '127.0.0.1');
    await once(simulator.#server, 'listening');
    return simulator;
  }

  get url(): string {
    const address = this.#server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    return `${this.#isSecure ? 'https' : 'http'}://127.0.0.1:${port}`;
  }

  /** Text of a kubeconfig. @param authority certificate of the server, for TLS */
  kubeconfig(token = ADMIN_TOKEN, authority?: string): string {
    const trust =
      authority === undefined
        ? { 'insecure-skip-tls-verify': true }
        : { 'certificate-authority-data': Buffer.from(authority).toString('base64') };
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'simulated', cluster: { server: this.url, ...trust } }],
      users: [{ name: 'muster', user: { token } }],
      contexts: [{ name: 'simulated', context: { cluster: 'simulated', user: 'muster', namespace: NAMESPACE } }],
      'current-context': 'simulated',
    });
  }

  /** Names of the pods that there are, besides those that wait in a warm pool. */
  podNames(): readonly string[] {
    return this.store.all(PODS).flatMap(({ metadata }) => (metadata.labels?.[WARM_POOL] === undefined ? [metadata.name] : []));
  }

  names(resource: string): readonly string[] {
    return this.store.all(resource).map(({ metadata }) => metadata.name);
  }

  get openExecs(): number {
    return this.#exec.open;
  }

  /** Resets every connection, as a restart of the API server does. */
  dropConnections(): void {
    this.#exec.dropAll();
    this.#server.closeAllConnections();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#exec.close();
    this.#server.closeAllConnections();
    this.#server.close();
    await this.pods.settled();
    this.agentSandbox.close();
  }

  async #onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader('date', this.#now().toUTCString());
    try {
      const url = new URL(request.url ?? '/', 'http://simulated');
      const path = parseApiPath(url.pathname);
      if (url.pathname === AGENT_SANDBOX_API && this.agentSandbox.isInstalled) return send(response, 200, discovery());
      if (!path || this.#isUnknown(path)) return send(response, 404, '404 page not found');
      const isWatch = url.searchParams.get('watch') === 'true';
      const asked: SimulatedRequest = {
        method: request.method ?? 'GET',
        path: url.pathname,
        kind: isWatch ? 'watch' : 'call',
        query: url.searchParams,
      };
      this.#count(asked, path);
      const fault = this.faults.of(asked);
      if (fault) await before(fault, response);
      const identity = this.#identify(request);
      assertMayDo(identity, { ...path, verb: verbOf(asked, path) }, path.namespace);
      if (isWatch) return serveWatch(this.store, path.resource, url.searchParams, response, fault);
      const answer = this.#answer(asked, path, identity, await text(request), request.headers['content-type'] ?? '');
      if (fault) after(fault, response);
      send(response, asked.method === 'POST' ? 201 : 200, answer);
    } catch (error) {
      if (response.destroyed) return;
      refuse(response, error);
    }
  }

  #isUnknown({ resource }: ApiPath): boolean {
    return AGENT_SANDBOX_RESOURCES.has(resource) && !this.agentSandbox.isInstalled;
  }

  #answer(asked: SimulatedRequest, path: ApiPath, identity: Identity, body: string, type: string): object {
    const { resource, name, namespace } = path;
    if (resource === 'selfsubjectaccessreviews') return review(identity, body);
    if (namespace === CACHE_NAMESPACE && resource === PODS && asked.method === 'GET')
      return this.#list(asked.query, { ...path, resource: CACHE_PODS });
    if (namespace !== undefined && namespace !== NAMESPACE) return this.#elsewhere(asked.method, namespace);
    if (namespace === undefined && !CLUSTER_WIDE.has(resource)) throw notFound(resource, name ?? '');
    switch (asked.method) {
      case 'GET':
        return name === undefined ? this.#list(asked.query, path) : this.store.get(resource, name);
      case 'POST':
        return this.#create(resource, written(body));
      case 'PUT':
        return this.store.update(resource, written(body));
      case 'PATCH':
        return this.store.update(resource, patched(this.store.get(resource, name ?? ''), type.split(';')[0] ?? '', jsonOf(body)));
      case 'DELETE':
        return name === undefined ? this.#deleteAll(asked.query, resource) : this.#delete(resource, name, asked.query);
      default:
        throw new Refusal(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource');
    }
  }

  /** A namespace that is not there has nothing in it, and nothing can be made in it. */
  #elsewhere(method: string, namespace: string): object {
    if (method === 'GET') return listOf([], { resourceVersion: String(this.store.version) });
    throw notFound('namespaces', namespace);
  }

  #list(query: URLSearchParams, { resource }: ApiPath): object {
    const limit = Number(query.get('limit') ?? 0);
    const selector = query.get('labelSelector') ?? '';
    const { items, version, next, remaining } = this.store.list(resource, selector, limit, query.get('continue') ?? undefined);
    const metadata = { resourceVersion: String(version), ...(next && { continue: next, remainingItemCount: remaining }) };
    return listOf(items, metadata);
  }

  #create(resource: string, object: KubeObject): object {
    if (AGENT_SANDBOX_RESOURCES.has(resource)) return this.agentSandbox.create(resource, object);
    if (resource !== PODS) return this.store.create(resource, object);
    const pod = this.pods.create(object);
    this.creations.push(performance.now());
    this.mostPodsAtOnce = Math.max(this.mostPodsAtOnce, this.podNames().length);
    return pod;
  }

  #delete(resource: string, name: string, query: URLSearchParams): object {
    if (resource === PODS) return this.pods.delete(name, graceOf(query));
    if (AGENT_SANDBOX_RESOURCES.has(resource)) {
      return this.agentSandbox.delete(resource, name, query.get('propagationPolicy') === 'Foreground');
    }
    const { uid } = this.store.get(resource, name).metadata;
    this.store.remove(resource, name);
    return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details: { name, kind: resource, uid } };
  }

  #deleteAll(query: URLSearchParams, resource: string): object {
    const selector = query.get('labelSelector') ?? '';
    const matching = this.store.all(resource).filter(({ metadata }) => matchesLabels(selector, metadata.labels ?? {}));
    for (const { metadata } of matching) this.#delete(resource, metadata.name, query);
    return listOf(matching, { resourceVersion: String(this.store.version) });
  }

  async #onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => {});
    try {
      const url = new URL(request.url ?? '/', 'http://simulated');
      const path = parseApiPath(url.pathname);
      const subresource = path?.subresource ?? '';
      if (!['exec', 'attach'].includes(subresource) || path?.name === undefined)
        throw new Refusal(404, 'NotFound', 'nothing to upgrade here');
      const { name } = path;
      const asked: SimulatedRequest = { method: 'GET', path: url.pathname, kind: 'exec', query: url.searchParams };
      this.#count(asked, path);
      const fault = this.faults.of(asked);
      if (fault?.kind === 'status' && fault.strike()) throw faultStatus(fault);
      if (fault?.kind === 'delay' && fault.strike()) await pause(fault.milliseconds);
      assertMayDo(this.#identify(request), { ...path, verb: 'get' }, path.namespace);
      const command = subresource === 'exec' ? url.searchParams.getAll('command') : undefined;
      const executed =
        path.namespace === CACHE_NAMESPACE
          ? await this.nodeCaches.exec(name, command ?? [])
          : await this.pods.exec(name, url.searchParams.get('container') ?? '', command);
      this.#exec.accept(request, socket, head, executed, fault?.kind === 'disaster' ? this.#enacted(name, fault) : fault, (code) =>
        this.pods.afterExit(name, code),
      );
    } catch (error) {
      const refusal = asRefusal(error);
      const body = JSON.stringify(refusal.status());
      socket.end(
        `HTTP/1.1 ${refusal.code} Refused\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      );
    }
  }

  /** The same disaster, which happens when it is to strike. */
  #enacted(pod: string, fault: Extract<InjectedFault, { kind: 'disaster' }>): InjectedFault {
    let isOver = false;
    const strike = (): boolean => {
      if (isOver || !this.store.find(PODS, pod) || !fault.strike()) return false;
      isOver = true;
      if (fault.disaster !== 'sandbox-deleted') this.pods.strike(pod, fault.disaster);
      else this.agentSandbox.delete(SANDBOXES, pod, false);
      return true;
    };
    return { ...fault, strike };
  }

  #identify(request: IncomingMessage): Identity {
    const token = (request.headers.authorization ?? '').replace(/^Bearer /, '');
    const identity = this.identities.get(token);
    if (!identity) throw new Refusal(401, 'Unauthorized', 'Unauthorized');
    return identity;
  }

  #count({ method, kind }: SimulatedRequest, { resource }: ApiPath): void {
    const key = `${kind === 'call' ? method : kind.toUpperCase()} ${resource}`;
    this.requests.set(key, (this.requests.get(key) ?? 0) + 1);
  }
}

function verbOf({ method, kind }: SimulatedRequest, { name }: ApiPath): string {
  switch (method) {
    case 'GET':
      return kind === 'watch' ? 'watch' : name === undefined ? 'list' : 'get';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    default:
      return name === undefined ? 'deletecollection' : 'delete';
  }
}

function review(identity: Identity, body: string): object {
  const { spec, ...rest } = reviewSchema.parse(JSON.parse(body));
  const { group, resource, subresource, verb } = spec.resourceAttributes;
  return { ...rest, spec, status: { allowed: mayDo(identity, { group, resource, subresource, verb }) } };
}

/** Items of a list leave away what they all are. */
function listOf(items: readonly KubeObject[], metadata: object): object {
  const [first] = items;
  const kind = first === undefined ? 'List' : `${first.kind}List`;
  return {
    kind,
    apiVersion: first?.apiVersion ?? 'v1',
    metadata,
    items: items.map(({ apiVersion: _version, kind: _kind, ...rest }) => rest),
  };
}

function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new Refusal(400, 'BadRequest', "the object provided is unrecognized: couldn't get version/kind; json parse error");
  }
}

function written(body: string): KubeObject {
  const parsed = objectSchema.safeParse(jsonOf(body));
  if (!parsed.success) throw new Refusal(400, 'BadRequest', parsed.error.message);
  return parsed.data;
}

function graceOf(query: URLSearchParams): number {
  return Number(query.get('gracePeriodSeconds') ?? 30);
}

/** What goes wrong before anything is done. */
async function before(fault: InjectedFault, response: ServerResponse): Promise<void> {
  if (fault.kind === 'delay' && fault.strike()) await pause(fault.milliseconds);
  if (fault.kind === 'status' && fault.afterwards !== true && fault.strike()) throw faultStatus(fault);
  if (fault.kind === 'drop' && fault.afterwards !== true && fault.after === undefined && fault.strike()) {
    response.destroy();
    throw new Refusal(0, 'Dropped', 'dropped');
  }
}

function after(fault: InjectedFault, response: ServerResponse): void {
  if (fault.kind === 'status' && fault.strike()) throw faultStatus(fault);
  if (fault.kind === 'drop' && fault.strike()) {
    response.destroy();
    throw new Refusal(0, 'Dropped', 'dropped');
  }
}

function faultStatus({ code, retryAfterSeconds, message }: Extract<Fault, { kind: 'status' }>): Refusal {
  const text =
    code === 429 ? 'Too many requests, please try again later.' : 'an error on the server has prevented the request from succeeding';
  return new Refusal(code, code === 429 ? 'TooManyRequests' : 'InternalError', message ?? text, retryAfterSeconds);
}

function asRefusal(error: unknown): Refusal {
  return error instanceof Refusal ? error : new Refusal(500, 'InternalError', error instanceof Error ? error.message : String(error));
}

function refuse(response: ServerResponse, error: unknown): void {
  const refusal = asRefusal(error);
  if (refusal.retryAfterSeconds !== undefined) response.setHeader('retry-after', String(refusal.retryAfterSeconds));
  send(response, refusal.code, refusal.status());
}

function discovery(): object {
  const resources = [...AGENT_SANDBOX_RESOURCES].map((name) => ({ name, singularName: '', namespaced: true, kind: name, verbs: [] }));
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: AGENT_SANDBOX_API.slice('/apis/'.length), resources };
}

/** What an API server does not know at all it says so of in plain text. */
function send(response: ServerResponse, code: number, body: object | string): void {
  response.writeHead(code, { 'content-type': typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json' });
  response.end(typeof body === 'string' ? `${body}\n` : JSON.stringify(body));
}
