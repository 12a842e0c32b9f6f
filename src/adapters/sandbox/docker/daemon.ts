import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { tryParseJson } from '../../../kernel/json-bounds.ts';
import { readAnswerText } from '../../http/answer-text.ts';
import { AttachedStreams } from './attached-streams.ts';
import type { ContainerOptions } from './container-options.ts';
import { getStatus } from './daemon-error.ts';
import { ANSWER_MAX_BYTES, sendRequest, openConnection, type DaemonRequest } from './daemon-request.ts';

/** A request is done in seconds; a busy machine takes longer. */
const SILENCE_MS = 300_000;

const infoSchema = z.object({ MemoryLimit: z.boolean(), PidsLimit: z.boolean(), CpuCfsQuota: z.boolean() });
const listSchema = z.array(z.object({ Id: z.string(), Names: z.array(z.string()), Labels: z.record(z.string(), z.string()) }));
const stateSchema = z.object({ State: z.object({ Status: z.string(), Dead: z.boolean(), OOMKilled: z.boolean() }) });
/** `Created` in seconds since 1970. */
const imagesSchema = z.array(z.object({ Created: z.number(), RepoTags: z.array(z.string()).nullable() }));

/** The daemon's statement about its control groups. */
export type DaemonLimits = z.infer<typeof infoSchema>;
export type ContainerState = z.infer<typeof stateSchema>['State'];
export type FoundContainer = z.infer<typeof listSchema>[number];

/**
 * A Docker daemon of this machine: the few calls of its API that sandboxes need (https://docs.docker.com/reference/api/engine/). They are made here
 * because the usual client, dockerode, brings 52 packages, most of them for building images and for remote daemons.
 */
export class Daemon {
  readonly #socket: string;

  constructor(socket: string) {
    this.#socket = socket;
  }

  info(): Promise<DaemonLimits> {
    return this.#read(infoSchema, { method: 'GET', path: '/info' });
  }

  async version(): Promise<string> {
    return (await this.#read(z.object({ Version: z.string() }), { method: 'GET', path: '/version' })).Version;
  }

  /** Lists the containers that have a label, or a label with a value (`name=value`), including stopped ones. */
  containers(label: string): Promise<readonly FoundContainer[]> {
    const query = { all: 'true', filters: JSON.stringify({ label: [label] }) };
    return this.#read(listSchema, { method: 'GET', path: '/containers/json', query });
  }

  /** @returns its id. */
  async create(name: string, options: ContainerOptions): Promise<string> {
    const request = { method: 'POST', path: '/containers/create', query: { name }, json: options } as const;
    return (await this.#read(z.object({ Id: z.string() }), request)).Id;
  }

  /** Starts a container's program with its streams attached before its first byte. */
  async start(id: string): Promise<AttachedStreams> {
    const query = { stream: 'true', stdin: 'true', stdout: 'true', stderr: 'true' };
    const request = { method: 'POST', path: `${toContainerPath(id)}/attach`, query, silenceMs: SILENCE_MS } as const;
    const streams = new AttachedStreams(await openConnection(this.#socket, request));
    try {
      await this.#call({ method: 'POST', path: `${toContainerPath(id)}/start` });
      return streams;
    } catch (error) {
      streams.close();
      throw error;
    }
  }

  /** @returns the code with which its program ended, once it has. */
  async wait(id: string, condition: 'not-running' | 'removed' = 'not-running'): Promise<number> {
    const request = { method: 'POST', path: `${toContainerPath(id)}/wait`, query: { condition }, silenceMs: undefined } as const;
    return (await this.#read(z.object({ StatusCode: z.number() }), request)).StatusCode;
  }

  async state(id: string): Promise<ContainerState> {
    return (await this.#read(stateSchema, { method: 'GET', path: `${toContainerPath(id)}/json` })).State;
  }

  /** Removes a container, with what runs in it. One that is gone or being removed is waited for. */
  async remove(id: string): Promise<void> {
    try {
      await this.#call({ method: 'DELETE', path: toContainerPath(id), query: { force: 'true', v: 'true' } });
    } catch (error) {
      if (getStatus(error) === 404) return;
      if (getStatus(error) !== 409) throw error;
      // Another request removes it.
      await this.wait(id, 'removed').catch((failure: unknown) => {
        if (getStatus(failure) !== 404) throw failure;
      });
    }
  }

  async hasImage(image: string): Promise<boolean> {
    try {
      await this.#call({ method: 'GET', path: `/images/${image}/json` });
      return true;
    } catch (error) {
      if (getStatus(error) === 404) return false;
      throw error;
    }
  }

  /** Lists the names of a repository's images that were made at least this many seconds ago. */
  async listImages(repository: string, ageSeconds: number, now: Date): Promise<readonly string[]> {
    const query = { filters: JSON.stringify({ reference: [repository] }) };
    const images = await this.#read(imagesSchema, { method: 'GET', path: '/images/json', query });
    return images.filter(({ Created }) => Created + ageSeconds <= now.getTime() / 1000).flatMap(({ RepoTags }) => RepoTags ?? []);
  }

  /** Removes an image, unless a container has it. */
  async removeImage(image: string): Promise<void> {
    try {
      await this.#call({ method: 'DELETE', path: `/images/${image}` });
    } catch (error) {
      if (getStatus(error) !== 404 && getStatus(error) !== 409) throw error;
    }
  }

  /** @param archive file that "docker save" wrote. */
  loadImage(archive: string): Promise<void> {
    return this.#followProgress({ method: 'POST', path: '/images/load', query: { quiet: 'true' }, archive: createReadStream(archive) });
  }

  /** @param image with a tag or a digest. */
  pullImage(image: string): Promise<void> {
    return this.#followProgress({ method: 'POST', path: '/images/create', query: { fromImage: image } });
  }

  /** @param image with a tag. @param archive tar file of a root file system. */
  importImage(image: string, archive: Readable): Promise<void> {
    const [repo = '', tag = ''] = image.split(':');
    return this.#followProgress({ method: 'POST', path: '/images/create', query: { fromSrc: '-', repo, tag }, archive });
  }

  async #read<Answer>(schema: z.ZodType<Answer>, request: DaemonRequest): Promise<Answer> {
    return schema.parse(tryParseJson(await readAnswerText(await this.#send(request), ANSWER_MAX_BYTES)));
  }

  async #call(request: DaemonRequest): Promise<void> {
    await readAnswerText(await this.#send(request), ANSWER_MAX_BYTES);
  }

  /** Sends a request whose answer has a line of JSON for each step. Resolves when the last step is done. */
  async #followProgress(request: DaemonRequest): Promise<void> {
    for await (const line of createInterface({ input: await this.#send(request) })) {
      const step = z.object({ error: z.string() }).safeParse(tryParseJson(line));
      if (step.success) throw new Error(step.data.error);
    }
  }

  #send(request: DaemonRequest): Promise<Readable> {
    return sendRequest(this.#socket, { silenceMs: SILENCE_MS, ...request });
  }
}

function toContainerPath(id: string): string {
  return `/containers/${encodeURIComponent(id)}`;
}
