import { Command, CommanderError } from 'commander';
import { InputError } from '../kernel/errors.ts';
import { PACKAGE_VERSION } from '../kernel/package-root.ts';
import { formatErrorReport } from './terminal/error-report.ts';
import { EXIT_CODES, getExitCode } from './terminal/exit-code.ts';
import { Interrupted } from './terminal/interruption.ts';
import { print } from './terminal/output.ts';

/**
 * All commands, in the order of `--help`. A command's modules are loaded when the command is named: all modules together take five times as
 * long to load as those of a command that only queries a server.
 */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  eval: async () => (await import('./composition/playing.ts')).COMMANDS.eval(),
  compare: async () => (await import('./composition/playing.ts')).COMMANDS.compare(),
  plan: async () => (await import('./composition/playing.ts')).COMMANDS.plan(),
  report: async () => (await import('./composition/machine.ts')).COMMANDS.report(),
  replay: async () => (await import('./composition/playing.ts')).COMMANDS.replay(),
  tune: async () => (await import('./composition/playing.ts')).COMMANDS.tune(),
  serve: async () => (await import('./composition/serving.ts')).COMMANDS.serve(),
  submit: async () => (await import('./composition/remote.ts')).COMMANDS.submit(),
  watch: async () => (await import('./composition/playing.ts')).COMMANDS.watch(),
  list: async () => (await import('./composition/remote.ts')).COMMANDS.list(),
  cancel: async () => (await import('./composition/remote.ts')).COMMANDS.cancel(),
  top: async () => (await import('./composition/remote.ts')).COMMANDS.top(),
  pool: async () => (await import('./composition/remote.ts')).COMMANDS.pool(),
  setup: async () => (await import('./composition/machine.ts')).COMMANDS.setup(),
  doctor: async () => (await import('./composition/machine.ts')).COMMANDS.doctor(),
  checkpoints: async () => (await import('./composition/machine.ts')).COMMANDS.checkpoints(),
  token: async () => (await import('./composition/serving.ts')).COMMANDS.token(),
  grant: async () => (await import('./composition/remote.ts')).COMMANDS.grant(),
  episode: async () => (await import('./composition/remote.ts')).COMMANDS.episode(),
  mcp: async () => (await import('./composition/remote.ts')).COMMANDS.mcp(),
  rollouts: async () => (await import('./composition/tasks.ts')).COMMANDS.rollouts(),
  reward: async () => (await import('./composition/remote.ts')).COMMANDS.reward(),
  task: async () => (await import('./composition/tasks.ts')).COMMANDS.task(),
  prepare: async () => (await import('./composition/tasks.ts')).COMMANDS.prepare(),
  verify: async () => (await import('./composition/tasks.ts')).COMMANDS.verify(),
};

/** Parses and runs the command, and turns any failure into a message on stderr and the process's exit code. */
export async function runMuster(args: readonly string[]): Promise<void> {
  try {
    const words = moveHelpLast(args);
    const program = await createMusterProgram(words);
    await program.parseAsync(dropHelpOfUnknown(words, program), { from: 'user' });
  } catch (error) {
    process.exitCode = await report(error);
  }
}

async function report(error: unknown): Promise<number> {
  // Commander has already printed its own message; help and version end with 0.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.done : EXIT_CODES.badInput;
  if (error instanceof Interrupted) return EXIT_CODES.interrupted;
  await print(process.stderr, formatErrorReport(error));
  return getExitCode(error);
}

const ALIASES: Readonly<Record<string, string>> = { evaluate: 'eval' };

/**
 * Creates the `muster` command, ready to parse.
 *
 * @param args the arguments to parse. The program has only the command that they begin with, or all commands if they begin with something else.
 */
export async function createMusterProgram(args: readonly string[] = []): Promise<Command> {
  const program = new Command('muster')
    .version(PACKAGE_VERSION, '-V, --version')
    .description('Evaluates reinforcement-learning checkpoints on hundreds of isolated sandboxes.')
    .showHelpAfterError('(--help lists what there is)')
    .showSuggestionAfterError()
    .configureHelp({ showGlobalOptions: true })
    .hook('preAction', (_, command) => refuseEmpty(command))
    .exitOverride();
  for (const compose of chooseCommands(args)) program.addCommand(await compose());
  passSettingsOn(program);
  program.configureOutput({ outputError: (text, write) => write(pointElsewhere(text, program)) });
  return program;
}

const HELP_FLAGS: ReadonlySet<string> = new Set(['--help', '-h']);

/** Turns `help A B` into `A B --help`. */
function moveHelpLast(args: readonly string[]): readonly string[] {
  return args[0] === 'help' ? [...args.slice(1), '--help'] : args;
}

/** Commander answers the help of a command that does not exist with all commands. Without the flag it says which one was meant. */
function dropHelpOfUnknown(args: readonly string[], program: Command): readonly string[] {
  const words = args.filter((word) => !HELP_FLAGS.has(word));
  let command = program;
  for (const word of words) {
    if (word.startsWith('-') || command.commands.length === 0) return args;
    const inner = command.commands.find((each) => each.name() === word || each.aliases().includes(word));
    if (inner === undefined) return word === 'help' ? args : words;
    command = inner;
  }
  return args;
}

const UNKNOWN_COMMAND = /^error: unknown command '(.+)'\n/;
/** A flag of more commands than this does not tell which command was meant. */
const MOST_PLACES = 3;

/** Names a matching subcommand or flag of another command rather than a command with a similar spelling. */
function pointElsewhere(text: string, program: Command): string {
  const word = UNKNOWN_COMMAND.exec(text)?.[1];
  const places = program.commands.flatMap((command) => [
    ...command.commands.filter((inner) => inner.name() === word).map((inner) => `muster ${command.name()} ${inner.name()}`),
    ...command.options.filter(({ long }) => long === `--${word}`).map(({ long }) => `muster ${command.name()} ${long}`),
  ]);
  if (places.length === 0 || places.length > MOST_PLACES) return text;
  return `error: unknown command '${word}'; did you mean ${places.join(', or ')}?\n`;
}

/** An empty value is nearly always an unset shell variable; as a path it would mean the working directory. */
function refuseEmpty(command: Command): void {
  for (const { long, attributeName } of command.options.map((option) => ({ long: option.long, attributeName: option.attributeName() }))) {
    const value: unknown = command.getOptionValue(attributeName);
    if (value === '' || (Array.isArray(value) && value.includes(''))) throw createEmptyError(long ?? attributeName);
  }
  command.args.forEach((value, position) => {
    if (value === '') throw createEmptyError(command.registeredArguments[position]?.name() ?? `argument ${position + 1}`);
  });
}

function createEmptyError(name: string): InputError {
  return new InputError('flag.empty', `${name}: expected a value, got an empty text; is a shell variable not set?`);
}

function chooseCommands([first = '']: readonly string[]): readonly (() => Promise<Command>)[] {
  const name = ALIASES[first] ?? first;
  const named = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  return named === undefined ? Object.values(COMMANDS) : [named];
}

/** The explanation of commands whose first argument stands by itself while all else has a flag. */
const FORMS: Readonly<Record<string, string>> = {
  eval: 'the suite stands by itself, and each checkpoint has a --checkpoint before it: muster eval SUITE -c A -c B',
  compare: 'the suite stands by itself, and checkpoints have their flags: muster compare SUITE --baseline A --candidate B',
  verify: 'the task stands by itself, and the submission has its flag: muster verify TASK --submission DIRECTORY',
};

const IS_OF_FORM = /too many arguments|missing required argument|unknown option '--suite/;

/** Commander passes settings only to commands that are created from a command, not to those that are added later. */
function passSettingsOn(command: Command): void {
  for (const inner of command.commands) {
    inner.copyInheritedSettings(command);
    const form = FORMS[inner.name()];
    if (form !== undefined)
      inner.configureOutput({ outputError: (text, write) => write(IS_OF_FORM.test(text) ? `${text}(${form})\n` : text) });
    passSettingsOn(inner);
  }
}
