import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { createMusterProgram } from '../../src/cli/program.ts';

interface Leaf {
  readonly words: readonly string[];
  readonly command: Command;
}

function leaves(command: Command, words: readonly string[] = []): readonly Leaf[] {
  if (command.commands.length === 0) return [{ words, command }];
  return command.commands.flatMap((inner) => leaves(inner, [...words, inner.name()]));
}

/** What the program says, and its code: commander would end the process with 1 unless each command passes its errors on. */
async function complaint(args: readonly string[]): Promise<string> {
  const program = await createMusterProgram(args);
  let text = '';
  for (const command of [program, ...descendants(program)]) command.configureOutput({ writeErr: (part) => (text += part) });
  await expect(program.parseAsync([...args], { from: 'user' })).rejects.toMatchObject({ name: 'CommanderError' });
  return text;
}

function descendants(command: Command): readonly Command[] {
  return command.commands.flatMap((inner) => [inner, ...descendants(inner)]);
}

const program = await createMusterProgram();
const all = leaves(program);

describe('a mistyped flag is named, whatever else is missing', () => {
  const names = program.commands.flatMap((command) => [command.name()].concat(command.aliases()));
  test('a start with the name of a command loads only that command', async () => {
    expect(names).toContain('evaluate');
    for (const name of names) expect((await createMusterProgram([name])).commands).toHaveLength(1);
  });

  test('of all commands', () => expect(all.map(({ words }) => words.join(' '))).toContain('token create'));

  const flagsOf = (command: Command): readonly string[] =>
    command.options.flatMap(({ long }) => (long === undefined || long === null ? [] : [long]));
  const withFlags = all.filter(({ command }) => flagsOf(command).length > 0);

  test('only commands without settings have no flag', () => {
    expect(all.filter((leaf) => !withFlags.includes(leaf)).map(({ words }) => words.join(' '))).toEqual(['task new']);
  });

  test.each(withFlags.map(({ words, command }) => [words.join(' '), words, command] as const))('muster %s', async (_, words, command) => {
    for (const flag of flagsOf(command)) {
      const mistyped = `${flag.slice(0, 4)}${flag.slice(5)}q`;
      expect(await complaint([...words, mistyped])).toMatch(
        new RegExp(`^error: unknown option '${mistyped}'\n\\(Did you mean (one of )?(--\\S+, )*${flag}[,?]`),
      );
    }
  });
});

test.each([
  [['tune', 'suite.yaml'], '--checkpoint'],
  [['compare', 'suite.yaml', '--candidate', 'x'], '--baseline'],
  [['compare', 'suite.yaml', '--baseline', 'x'], '--candidate'],
  [['token', 'create', 'pipeline'], '--role'],
])('%j asks for the flag that is missing', async (args, flag) => {
  expect(await complaint(args)).toMatch(new RegExp(`^error: required option '-\\w, ${flag} <\\w+>' not specified\n`));
});
