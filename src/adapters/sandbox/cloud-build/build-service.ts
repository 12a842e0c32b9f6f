import { z } from 'zod';
import { InfrastructureError, InputError, type MusterError } from '../../../kernel/errors.ts';
import { ProviderBusyError } from '../../../pool/ports/provider-busy.ts';
import { GoogleApi, GoogleApiError } from '../../google/google-api.ts';
import type { BuildTemplate } from './settings.ts';

const RUNNING = ['PENDING', 'QUEUED', 'WORKING'] as const;
const ENDED = ['SUCCESS', 'FAILURE', 'INTERNAL_ERROR', 'TIMEOUT', 'CANCELLED', 'EXPIRED'] as const;

const buildSchema = z.object({
  id: z.string().min(1),
  status: z.enum([...RUNNING, ...ENDED, 'STATUS_UNKNOWN']),
  statusDetail: z.string().optional(),
  failureInfo: z.object({ detail: z.string().optional() }).optional(),
  steps: z.array(z.object({ env: z.array(z.string()).default([]) })).default([]),
});
export type Build = z.infer<typeof buildSchema>;
const operationSchema = z.object({ metadata: z.object({ build: buildSchema }) });
const pageSchema = z.object({ builds: z.array(buildSchema).default([]), nextPageToken: z.string().optional() });

const PAGE = 100;
/** Refused for a reason that the template's configuration can correct. */
const CONFIGURED: ReadonlySet<string> = new Set([
  'INVALID_ARGUMENT',
  'PERMISSION_DENIED',
  'UNAUTHENTICATED',
  'NOT_FOUND',
  'FAILED_PRECONDITION',
  'NO_CREDENTIALS',
]);

export type BuildLocation = Pick<BuildTemplate, 'endpoint' | 'project' | 'region'>;

export function hasEnded({ status }: Build): boolean {
  return ENDED.some((each) => each === status);
}

/** Describes the state of a build, for people. */
export function describeBuild({ id, status, statusDetail, failureInfo }: Build): string {
  const detail = failureInfo?.detail ?? statusDetail;
  return `build ${id} is ${status}${detail === undefined || detail === '' ? '' : ` (${detail})`}`;
}

/**
 * The four calls of Cloud Build that Muster makes (https://cloud.google.com/build/docs/api/reference/rest/v1/projects.locations.builds). Nothing is
 * tried again here: a build whose creation was not answered finds no Muster that expects it, and ends.
 */
export class BuildService {
  readonly #api: GoogleApi;
  readonly #builds: string;
  readonly #where: string;

  constructor({ endpoint, project, region }: BuildLocation) {
    this.#api = new GoogleApi(endpoint.startsWith('https:'));
    this.#builds = `${endpoint.replace(/\/+$/, '')}/v1/projects/${project}/locations/${region}/builds`;
    this.#where = `project ${project}, region ${region}`;
  }

  async create(build: object, signal: AbortSignal): Promise<Build> {
    return operationSchema.parse(await this.#send('POST', '', signal, build)).metadata.build;
  }

  async get(id: string, signal: AbortSignal): Promise<Build> {
    return buildSchema.parse(await this.#send('GET', `/${id}`, signal));
  }

  /** Returns before the build has ended. Nothing happens when it has. */
  async cancel(id: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#api.send({ method: 'POST', url: `${this.#builds}/${id}:cancel`, body: {} }, signal);
    } catch (error) {
      if (!hasEnded(await this.get(id, signal))) throw this.#translate(error);
    }
  }

  /** Lists the builds with the tag that have not ended. */
  async listRunning(tag: string, signal: AbortSignal): Promise<readonly Build[]> {
    const found: Build[] = [];
    for (const status of RUNNING) {
      let token: string | undefined;
      do {
        const query = new URLSearchParams({ filter: `status="${status}" AND tags="${tag}"`, pageSize: String(PAGE) });
        if (token !== undefined) query.set('pageToken', token);
        const page = pageSchema.parse(await this.#send('GET', `?${query.toString()}`, signal));
        found.push(...page.builds);
        token = page.nextPageToken === '' ? undefined : page.nextPageToken;
      } while (token !== undefined);
    }
    return found;
  }

  async #send(method: 'GET' | 'POST', path: string, signal: AbortSignal, body?: object): Promise<unknown> {
    try {
      return await this.#api.send({ method, url: `${this.#builds}${path}`, body }, signal);
    } catch (error) {
      throw this.#translate(error);
    }
  }

  #translate(error: unknown): unknown {
    return error instanceof GoogleApiError ? this.#createError(error) : error;
  }

  #createError(error: GoogleApiError): MusterError {
    const problem = `Cloud Build (${this.#where}): ${error.status}: ${error.message}`;
    if (error.status === 'RESOURCE_EXHAUSTED') return new ProviderBusyError('cloud-build.quota', problem, { cause: error });
    if (!CONFIGURED.has(error.status)) return new InfrastructureError('cloud-build.failed', problem, { cause: error });
    const remedy = 'see docs/cloud-build.md for what to set up, and check cloud-build.project, region, serviceAccount and workerPool';
    return new InputError('cloud-build.refused', `${problem}; ${remedy}`, { cause: error });
  }
}
