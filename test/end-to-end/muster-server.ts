import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { z } from 'zod';
import { evaluationSchema, type EvaluationResource } from '../../src/faces/http/schemas/evaluation-schemas.ts';
import type { MusterCommand, MusterCommandOptions } from './muster-command.ts';
import type { Stage } from './stage.ts';

const episodeSchema = z.looseObject({ index: z.int() });

/** `./muster serve` on a port of its own. */
export class MusterServer {
  readonly command: MusterCommand;
  readonly url: string;

  private constructor(command: MusterCommand, url: string) {
    this.command = command;
    this.url = url;
  }

  static async start(stage: Stage, config: string, options: MusterCommandOptions = {}): Promise<MusterServer> {
    const command = stage.start(['serve', '--config', config], options);
    await command.until('it listens', () => command.stderr.includes('listening on'));
    const [, url] = /listening on (http:\S+?);/.exec(command.stderr) ?? [];
    if (url === undefined) throw new Error(`no address in: ${command.stderr}`);
    return new MusterServer(command, url);
  }

  /** @returns the evaluation as it was accepted, or as it was after the wait. */
  async submit(body: object, query = ''): Promise<EvaluationResource> {
    const answer = await fetch(`${this.url}/v1/evaluations${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
    return evaluationSchema.parse(await answer.json());
  }

  async find(id: string): Promise<EvaluationResource> {
    const answer = await fetch(`${this.url}/v1/evaluations/${id}`);
    return evaluationSchema.parse(await answer.json());
  }

  async untilOver(id: string): Promise<EvaluationResource> {
    let evaluation = await this.find(id);
    await this.command.until('the evaluation is over', async () => {
      evaluation = await this.find(id);
      return evaluation.state !== 'waiting' && evaluation.state !== 'running';
    });
    return evaluation;
  }

  /** Of the stored episodes, by the stream. */
  async indices(id: string): Promise<readonly number[]> {
    const answer = await fetch(`${this.url}/v1/evaluations/${id}/episodes`);
    const lines = (await answer.text()).split('\n').filter((line) => line !== '');
    return lines.map((line) => episodeSchema.parse(JSON.parse(line)).index);
  }
}

/** A suite file as a caller would send it. */
export async function suiteOf(path: string): Promise<object> {
  return Object(parse(await readFile(path, 'utf8')));
}
