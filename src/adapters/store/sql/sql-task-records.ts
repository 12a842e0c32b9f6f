import { z } from 'zod';
import { soundnessSchema, type Soundness } from '../../../agents/grading/soundness.ts';
import {
  UndefinedTaskError,
  type Baseline,
  type DefinedTask,
  type JudgedTask,
  type TaskDefinition,
  type TaskRecords,
} from '../../../agents/arena/task-records.ts';
import { parseTaskDigest, parseTaskId, type TaskDigest } from '../../../agents/tasks/task-ids.ts';
import { parseDigest } from '../../../kernel/ids.ts';
import { readNumber, readText } from './schema/columns.ts';
import { guard, toStep, type Row, type Step } from './schema/database.ts';
import { sql, type Sql } from './schema/statement.ts';
import { SqlAdapter } from './schema/sql-adapter.ts';

const aboutSchema = z.strictObject({ description: z.string(), keywords: z.array(z.string()) });
const baselineSchema = z.strictObject({ reward: z.number().nullable(), cpuSeconds: z.number(), steps: z.number(), seed: z.string() });

export class SqlTaskRecords extends SqlAdapter implements TaskRecords {
  async define({ digest, id, description, keywords, verifier }: TaskDefinition): Promise<void> {
    const now = this.clock.date().getTime();
    const about = JSON.stringify({ description, keywords });
    await this.database.transact([
      toStep(
        sql`INSERT INTO played_tasks (digest, id, about, defined_at) VALUES (${digest}, ${id}, ${about}, ${now}) ON CONFLICT DO NOTHING`,
      ),
      toStep(sql`INSERT INTO task_verifiers (task, verifier, defined_at) VALUES (${digest}, ${verifier}, ${now}) ON CONFLICT DO NOTHING`),
    ]);
  }

  async find(digest: TaskDigest): Promise<DefinedTask | undefined> {
    const [row] = await this.database.query(sql`
      SELECT t.digest, t.id, t.about, t.defined_at, v.verifier FROM played_tasks t JOIN task_verifiers v ON v.task = t.digest
      WHERE t.digest = ${digest} ORDER BY v.defined_at DESC, v.verifier LIMIT 1`);
    return row && readDefinedTask(row);
  }

  async keepBaseline(judged: JudgedTask, baseline: Baseline): Promise<Baseline> {
    const { task, verifier } = judged;
    const { reward, cpuSeconds, steps, seed } = baseline;
    await this.#keep(
      judged,
      sql`INSERT INTO task_baselines (task, verifier, baseline)
          VALUES (${task}, ${verifier}, ${JSON.stringify({ reward, cpuSeconds, steps, seed })}) ON CONFLICT DO NOTHING`,
    );
    return (await this.findBaseline(judged)) ?? baseline;
  }

  async findBaseline({ task, verifier }: JudgedTask): Promise<Baseline | undefined> {
    const [row] = await this.database.query(sql`SELECT baseline FROM task_baselines WHERE task = ${task} AND verifier = ${verifier}`);
    return row && baselineSchema.parse(JSON.parse(readText(row, 'baseline')));
  }

  async keepSoundness(judged: JudgedTask, report: Soundness): Promise<void> {
    const { task, verifier } = judged;
    await this.#keep(
      judged,
      sql`INSERT INTO task_soundness (task, verifier, report, at)
          VALUES (${task}, ${verifier}, ${JSON.stringify(report)}, ${this.clock.date().getTime()})
          ON CONFLICT (task, verifier) DO UPDATE SET report = excluded.report, at = excluded.at`,
    );
  }

  async findSoundness({ task, verifier }: JudgedTask): Promise<Soundness | undefined> {
    const [row] = await this.database.query(sql`SELECT report FROM task_soundness WHERE task = ${task} AND verifier = ${verifier}`);
    return row && soundnessSchema.parse(JSON.parse(readText(row, 'report')));
  }

  async #keep(judged: JudgedTask, insertion: Sql): Promise<void> {
    const { task, verifier } = judged;
    const isDefined: Step = guard(sql`SELECT task FROM task_verifiers WHERE task = ${task} AND verifier = ${verifier}`);
    if ((await this.database.transact([isDefined, toStep(insertion)])) === undefined) throw new UndefinedTaskError(judged);
  }
}

function readDefinedTask(row: Row): DefinedTask {
  return {
    digest: parseTaskDigest(readText(row, 'digest')),
    id: parseTaskId(readText(row, 'id')),
    ...aboutSchema.parse(JSON.parse(readText(row, 'about'))),
    verifier: parseDigest(readText(row, 'verifier')),
    definedAt: new Date(readNumber(row, 'defined_at')),
  };
}
