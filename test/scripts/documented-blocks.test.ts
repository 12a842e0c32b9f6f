import { glob, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { agentSchema } from '../../src/agents/acting/agent.ts';
import { musterTaskSchema } from '../../src/agents/tasks/muster-schema.ts';
import { configSchema } from '../../src/app/configuration.ts';
import { createMusterProgram } from '../../src/cli/program.ts';
import { batchSchema } from '../../src/faces/client/batch/batch-file.ts';
import { KnownSettings } from '../../src/kernel/documents/known-settings.ts';
import { isMapping } from '../../src/kernel/documents/path.ts';
import { formatProblemLine, listProblems } from '../../src/kernel/documents/problems.ts';
import { parseTomlLayer } from '../../src/kernel/documents/toml-layer.ts';
import { parseYamlLayer } from '../../src/kernel/documents/yaml-layer.ts';
import { suiteSchema } from '../../src/orchestrator/suite/suite.ts';

const ROOT = path.join(import.meta.dirname, '../..');
/** The pages that users read. first-hour.md quotes mistakes of users. */
const PAGES = ['README.md', 'CONTRIBUTING.md', 'docs/*.md', 'examples/**/README.md', 'clients/**/README.md'];

interface Block {
  readonly where: string;
  readonly language: string;
  readonly text: string;
}

async function readPages(): Promise<readonly { readonly page: string; readonly text: string }[]> {
  const names = await Array.fromAsync(glob(PAGES, { cwd: ROOT, exclude: ['**/node_modules/**', '**/.venv*/**'] }));
  const read = names
    .filter((page) => page !== 'docs/first-hour.md')
    .map(async (page) => ({ page, text: await readFile(path.join(ROOT, page), 'utf8') }));
  return await Promise.all(read);
}

const pages = await readPages();
const blocks: readonly Block[] = pages.flatMap(({ page, text }) =>
  Array.from(text.matchAll(/^( *)```(\w*)\n(.*?)^ *```$/gms), ({ index, 1: indent = '', 2: language = '', 3: body = '' }) => ({
    where: `${page}:${text.slice(0, index).split('\n').length}`,
    language,
    text: body.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  })),
);
const of = (language: string): readonly Block[] => blocks.filter((block) => block.language === language);

describe('every block of the documentation', () => {
  it('with a muster command has flags, values and arguments that the command takes', async () => {
    const wrong: string[] = [];
    const commands = of('sh').flatMap(({ where, text }) => listCommands(text).map((words) => ({ where, words })));
    for (const { where, words } of commands) {
      const complaint = await findComplaint(words);
      if (complaint !== undefined) wrong.push(`${where}: muster ${words.join(' ')}: ${complaint}`);
    }
    expect(wrong).toEqual([]);
    expect(commands.length).toBeGreaterThan(60);
  });

  it('and every sentence with a muster command names existing flags and commands', async () => {
    const named = pages.flatMap(({ page, text }) =>
      Array.from(text.matchAll(/`(?:\.\/)?muster ([a-z][^`…|]*)`/g), ([, words = '']) => ({ page, words: splitWords(words)[0] ?? [] })),
    );
    const wrong: string[] = [];
    for (const { page, words } of named) {
      const complaint = await findComplaint(words);
      // A sentence leaves out what it is not about, and writes N for a number.
      if (complaint !== undefined && /unknown|too many/.test(complaint)) wrong.push(`${page}: muster ${words.join(' ')}: ${complaint}`);
    }
    expect(wrong).toEqual([]);
    expect(named.length).toBeGreaterThan(60);
  });

  it('in YAML or TOML is a valid suite, agent, batch, task or configuration, or a part of one', () => {
    const wrong = [...of('yaml'), ...of('toml')].flatMap(({ where, language, text }) => {
      const { value } = language === 'toml' ? parseTomlLayer(where, text, 'x') : parseYamlLayer(where, text, 'x');
      const schema = language === 'toml' ? musterTaskSchema : findSchema(value);
      return schema === undefined ? [] : listWrong(where, schema, placePart(value));
    });
    expect(wrong).toEqual([]);
  });

  it('in JSON is one document or one on each line', () => {
    const isJson = (text: string): boolean => {
      try {
        JSON.parse(text);
        return true;
      } catch (error) {
        if (error instanceof SyntaxError) return false;
        throw error;
      }
    };
    const wrong = of('json').filter(({ text }) => !isJson(text) && !text.trim().split('\n').every(isJson));
    expect(wrong).toEqual([]);
  });
});

describe('every example in the help', () => {
  it('has flags, values and arguments that the command takes', async () => {
    const wrong: string[] = [];
    const examples = listAll(await createMusterProgram()).flatMap((command) => listCommands(readExamples(command)));
    for (const words of examples) {
      const complaint = await findComplaint(words);
      if (complaint !== undefined) wrong.push(`muster ${words.join(' ')}: ${complaint}`);
    }
    expect(wrong).toEqual([]);
    expect(examples.length).toBeGreaterThan(15);
  });
});

/** The lines of a command's help that are commands. */
function readExamples(command: Command): string {
  const parts: string[] = [];
  command.configureOutput({ writeOut: (text) => void parts.push(text) }).outputHelp();
  const lines = parts
    .join('')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n');
  return lines.filter((line) => /^ *muster /.test(line)).join('\n');
}

/** Words of each command of Muster in a script: what stands before it, behind it and beside it are other programs. */
function listCommands(script: string): readonly (readonly string[])[] {
  const lines = script.replaceAll(/\\\n\s*/g, ' ').split('\n');
  return lines
    .flatMap((line) => splitWords(line))
    .flatMap((words) => {
      const at = words.findIndex((word) => /^(?:[^\s=]*\/)?muster(?:-eval)?$/.test(word));
      const isRun = at >= 0 && words.slice(0, at).every((word) => /^(?:\w+=.*|npx|if|env|setpriv|systemd-run|-.*)$/.test(word));
      return isRun && at + 1 < words.length && !words.includes('…') ? [words.slice(at + 1)] : [];
    });
}

/** The commands of a line of shell, each as its words. What a variable holds is some word. */
function splitWords(line: string): readonly (readonly string[])[] {
  const commands: string[][] = [[]];
  const tokens = line.replaceAll(/\$\(|(?<=\w)\)$/g, ' ; ').matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"#;&|<>]|(?<=\S)#)+|[#;&|<>]+/g);
  let isSkipped = false;
  for (const [token] of tokens) {
    if (token.startsWith('#')) break;
    if (/^[;&|]+$/.test(token)) commands.push([]);
    else if (/^[<>]+$/.test(token)) isSkipped = true;
    else if (isSkipped) isSkipped = false;
    else commands.at(-1)?.push(token.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2'));
  }
  return commands;
}

/** What the program says of a command line, which is not carried out. */
async function findComplaint(words: readonly string[]): Promise<string | undefined> {
  const program = await createMusterProgram(words);
  for (const command of listAll(program)) {
    command.configureOutput({ writeErr: () => undefined, writeOut: () => undefined });
    if (command.commands.length === 0) command.action(() => undefined);
  }
  try {
    await program.parseAsync(words, { from: 'user' });
    return undefined;
  } catch (error) {
    return String(error);
  }
}

function listAll(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(listAll)];
}

/** By the keys at the top. Undefined for what is another program's, and for a block of comments. */
function findSchema(value: unknown): z.ZodType | undefined {
  if (!isMapping(value) || 'scrape_configs' in value) return undefined;
  if ('suites' in value && 'checkpoints' in value) return batchSchema;
  if ('agent' in value && !('stop' in value)) return agentSchema;
  const isSuite = Object.keys(value).every((key) => key in suiteSchema.shape || key === 'wrappers');
  return isSuite ? suiteSchema : configSchema;
}

/** A block that begins further within a document is put in its place. */
function placePart(value: unknown): unknown {
  if (!isMapping(value)) return value;
  if ('wrappers' in value) return { environment: { entry: 'gymnasium:CartPole-v1', ...value } };
  if ('kubernetes' in value) return { templates: { local: { provider: 'kubernetes', ...value } } };
  return value;
}

/** What stands there and should not. What is left out is elsewhere in the whole document. */
function listWrong(where: string, schema: z.ZodType, value: unknown): readonly string[] {
  const { error } = schema.safeParse(value);
  if (error === undefined) return [];
  return listProblems(error, value, new KnownSettings(schema))
    .filter(({ isAbsence }) => !isAbsence)
    .map((problem) => formatProblemLine(where, problem));
}
