import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { z } from 'zod';
import type { Mount } from '../../../src/pool/ports/template.ts';
import { type StepContainer, startStep } from './step-container.ts';

const duration = z.string().regex(/^\d+(\.\d{1,9})?s$/);
const buildSchema = z.strictObject({
  steps: z
    .array(
      z.strictObject({
        name: z.string().min(1),
        id: z.string().optional(),
        entrypoint: z.string().optional(),
        args: z.array(z.string().max(10_000)).max(100).default([]),
        env: z
          .array(z.string().regex(/^[A-Za-z_]\w*=/))
          .max(100)
          .default([]),
        waitFor: z.array(z.string()).optional(),
      }),
    )
    .min(1)
    .max(300),
  timeout: duration.refine((text) => Number.parseFloat(text) <= 86_400),
  queueTtl: duration.refine((text) => Number.parseFloat(text) > 0),
  tags: z.array(z.string().regex(/^\w[\w.-]{0,127}$/)).max(64),
  serviceAccount: z.string().regex(/^projects\/[^/]+\/serviceAccounts\/[^/]+$/),
  options: z.strictObject({
    // A build with a service account of its own has to say where its log goes.
    logging: z.enum(['NONE', 'CLOUD_LOGGING_ONLY']),
    machineType: z.enum(['E2_MEDIUM', 'E2_HIGHCPU_8', 'E2_HIGHCPU_32', 'N1_HIGHCPU_8', 'N1_HIGHCPU_32']).optional(),
    pool: z.strictObject({ name: z.string() }).optional(),
  }),
});
type Wanted = z.infer<typeof buildSchema>;
type Status = 'QUEUED' | 'WORKING' | 'SUCCESS' | 'FAILURE' | 'CANCELLED';

interface Build extends Wanted {
  readonly id: string;
  status: Status;
  failureInfo?: { readonly type: string; readonly detail: string };
  container?: StepContainer;
}

/** A refusal, as Google's APIs word them: https://google.aip.dev/193. */
class Refusal extends Error {
  readonly code: number;
  readonly status: string;

  constructor(code: number, status: string, message: string) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

const PATH = /^\/v1\/projects\/([^/]+)\/locations\/([^/]+)\/builds(?:\/([^/:]+))?(?::(cancel))?$/;
const FILTER = /^status="(\w+)" AND tags="([\w.-]+)"$/;
/** Small, so that lists have several pages. */
const PAGE = 2;

/**
 * The part of Cloud Build that Muster uses, with the fields, substitutions and refusals of the real one. A step is a privileged container on this
 * machine: root with every capability, the network, and the files that a real step has besides its image's.
 */
export class SimulatedCloudBuild implements AsyncDisposable {
  readonly project = 'muster-test';
  readonly region = 'europe-west1';
  readonly image = 'europe-docker.pkg.dev/muster-test/muster/workspace:1';
  /** By method and path without ids. */
  readonly calls: string[] = [];
  /** Answers to creations that are refused instead, in turn. */
  readonly refusals: { readonly code: number; readonly status: string; readonly message: string }[] = [];
  readonly #server: http.Server;
  readonly #layers: readonly Mount[];
  readonly #builds = new Map<string, Build>();
  readonly #ends = new Set<Promise<void>>();

  private constructor(layers: readonly Mount[]) {
    this.#layers = layers;
    this.#server = http.createServer((request, response) => void this.#answer(request, response));
  }

  static async start(layers: readonly Mount[]): Promise<SimulatedCloudBuild> {
    const simulated = new SimulatedCloudBuild(layers);
    simulated.#server.listen(0, '127.0.0.1');
    await once(simulated.#server, 'listening');
    return simulated;
  }

  get endpoint(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  }

  /** Those that have not ended. */
  get running(): readonly { readonly id: string; readonly tags: readonly string[]; readonly env: readonly string[] }[] {
    const running = [...this.#builds.values()].filter(({ status }) => status === 'QUEUED' || status === 'WORKING');
    return running.map(({ id, tags, steps }) => ({ id, tags, env: steps.flatMap(({ env }) => env) }));
  }

  /** As an operator does in the console. */
  async cancel(id: string): Promise<void> {
    await this.#cancel(this.#find(id));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const build of this.#builds.values()) build.container?.kill();
    await Promise.all(this.#ends);
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const reply = (code: number, body: object): void => {
      response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    try {
      reply(200, await this.#serve(request));
    } catch (error) {
      const { code, status, message } = error instanceof Refusal ? error : new Refusal(500, 'INTERNAL', String(error));
      reply(code, { error: { code, status, message } });
    }
  }

  async #serve(request: IncomingMessage): Promise<object> {
    const url = new URL(request.url ?? '', 'http://localhost');
    const [, project, region, id, verb] = PATH.exec(url.pathname) ?? [];
    if (project === undefined) throw new Refusal(404, 'NOT_FOUND', 'The requested URL was not found on this server.');
    if (project !== this.project || region !== this.region)
      throw new Refusal(403, 'PERMISSION_DENIED', 'The caller does not have permission');
    const call = `${request.method ?? ''} builds${id === undefined ? '' : '/id'}${verb === undefined ? '' : `:${verb}`}`;
    this.calls.push(call);
    switch (call) {
      case 'POST builds':
        return this.#create(await json(request));
      case 'GET builds':
        return this.#list(url.searchParams);
      case 'GET builds/id':
        return show(this.#find(id ?? ''));
      case 'POST builds/id:cancel':
        return await this.#cancel(this.#find(id ?? ''));
      default:
        throw new Refusal(404, 'NOT_FOUND', 'Method not found.');
    }
  }

  #create(body: unknown): object {
    const refusal = this.refusals.shift();
    if (refusal) throw new Refusal(refusal.code, refusal.status, refusal.message);
    const wanted = buildSchema.safeParse(body);
    if (!wanted.success) throw new Refusal(400, 'INVALID_ARGUMENT', z.prettifyError(wanted.error));
    const steps = wanted.data.steps.map((step) => ({ ...step, args: step.args.map(substitute), env: step.env.map(substitute) }));
    const build: Build = { ...wanted.data, steps, id: randomUUID(), status: 'QUEUED' };
    this.#builds.set(build.id, build);
    const end = this.#run(build).finally(() => this.#ends.delete(end));
    this.#ends.add(end);
    const metadata = { '@type': 'type.googleapis.com/google.devtools.cloudbuild.v1.BuildOperationMetadata', build: show(build) };
    return { name: `operations/build/${this.project}/${build.id}`, metadata };
  }

  async #run(build: Build): Promise<void> {
    const [step] = build.steps;
    if (step?.name !== this.image) {
      build.failureInfo = { type: 'FETCH_FAILED', detail: `failed to fetch ${step?.name ?? 'nothing'}: not found` };
      build.status = 'FAILURE';
      return;
    }
    const container = await startStep([step.entrypoint ?? '', ...step.args], step.env, this.#layers);
    build.container = container;
    if (build.status === 'CANCELLED') container.kill();
    else build.status = 'WORKING';
    const code = await container.ended;
    if (build.status === 'WORKING') build.status = code === 0 ? 'SUCCESS' : 'FAILURE';
    if (build.status === 'FAILURE')
      build.failureInfo = { type: 'USER_BUILD_STEP', detail: `build step 0 failed: step exited with non-zero status: ${code}` };
  }

  async #cancel(build: Build): Promise<object> {
    if (build.status !== 'QUEUED' && build.status !== 'WORKING')
      throw new Refusal(400, 'FAILED_PRECONDITION', 'Cannot cancel a build that has already finished.');
    build.status = 'CANCELLED';
    build.container?.kill();
    await build.container?.ended;
    return show(build);
  }

  #list(query: URLSearchParams): object {
    const [, status, tag] = FILTER.exec(query.get('filter') ?? '') ?? [];
    if (status === undefined || tag === undefined) throw new Refusal(400, 'INVALID_ARGUMENT', 'invalid filter');
    const found = [...this.#builds.values()].filter((build) => build.status === status && build.tags.includes(tag));
    const from = Number(query.get('pageToken') ?? 0);
    const builds = found.slice(from, from + Math.min(PAGE, Number(query.get('pageSize')))).map(show);
    return from + PAGE < found.length ? { builds, nextPageToken: String(from + PAGE) } : { builds };
  }

  #find(id: string): Build {
    const build = this.#builds.get(id);
    if (!build) throw new Refusal(404, 'NOT_FOUND', `Requested entity was not found: ${id}`);
    return build;
  }
}

function show(build: Build): object {
  return { ...build, container: undefined };
}

/** `$$` is a dollar. Muster has no variables of Cloud Build in its builds. */
function substitute(text: string): string {
  const variable = /(?<!\$)(?:\$\$)*\$(?!\$)(\w+|\{\w+\})/.exec(text);
  if (variable)
    throw new Refusal(
      400,
      'INVALID_ARGUMENT',
      `invalid build: key in the template "${variable[1] ?? ''}" is not a valid built-in substitution`,
    );
  return text.replaceAll('$$', '$');
}
