import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { loadConfig } from '../../src/app/configuration.ts';
import { type OpenTask, openTask, TaskGrader, type TakenVerdict, type VerifyOptions } from '../../src/app/grading/task-grader.ts';
import type { Config } from '../../src/config/config.ts';

/** Files of a directory by their paths. A text that begins with "#!" is executable. */
export type FilesByPath = Readonly<Record<string, string>>;
/** Where some are no text. */
export type FileContents = Readonly<Record<string, string | Uint8Array>>;

export async function writeFiles(directory: string, files: FileContents): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(directory, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content);
    if (typeof content === 'string' && content.startsWith('#!')) await chmod(file, 0o755);
  }
}

/** Tasks and submissions in a directory of their own, graded in real sandboxes of this machine. */
export class GradingFixture implements AsyncDisposable {
  readonly directory: string;
  readonly config: Config;
  readonly grader: TaskGrader;
  #made = 0;

  private constructor(directory: string, environment: Readonly<Record<string, string>>) {
    this.directory = directory;
    this.config = { ...loadConfig({ environment: { HOME: directory, ...environment } }), stateDir: path.join(directory, 'state') };
    this.grader = new TaskGrader(this.config);
  }

  /** @param environment variables that set something of the configuration. */
  static async open(environment: Readonly<Record<string, string>> = {}): Promise<GradingFixture> {
    return new GradingFixture(await mkdtemp(path.join(tmpdir(), 'muster-tasks-')), environment);
  }

  /** @returns its path. */
  async written(files: FileContents): Promise<string> {
    const directory = path.join(this.directory, `d${(this.#made += 1)}`);
    await mkdir(directory);
    await writeFiles(directory, files);
    return directory;
  }

  async task(files: FileContents): Promise<OpenTask> {
    return openTask(await this.written(files));
  }

  async verdict(task: OpenTask, submission: FilesByPath | string, options: VerifyOptions = {}): Promise<TakenVerdict> {
    const directory = typeof submission === 'string' ? submission : await this.written(submission);
    return this.grader.verify(task, directory, options, AbortSignal.timeout(120_000));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.grader[Symbol.asyncDispose]();
    await rm(this.directory, { recursive: true });
  }
}

/** What every task here has. */
export const TASK: FilesByPath = {
  'task.toml':
    'schema_version = "1.4"\n[task]\nname = "test/task"\n[verifier]\ntimeout_sec = 60\n[environment]\nnetwork_mode = "no-network"\n',
  'instruction.md': 'Do it.\n',
};

/** Sorting numbers: a driver that imports the candidate, drawn cases, a golden model. */
export const SORT_TASK: FilesByPath = {
  ...TASK,
  'environment/sort.py': 'def sort_numbers(numbers):\n    return numbers\n',
  'muster.toml': `
[execute]
kind = "cases"
command = ["/usr/bin/python3", "-I", "/driver/main.py"]
driver = "driver"
generator = { command = ["/usr/bin/python3", "-I", "/tests/draw.py"], cases = 4 }
seconds = 5
[golden]
command = ["/usr/bin/python3", "-I", "/tests/golden.py"]
[compare]
mode = "canonical"
form = "json"
`,
  'tests/driver/main.py': `import json, sys
numbers = json.load(sys.stdin)
sys.path.insert(0, "/app")
from sort import sort_numbers
print(json.dumps(sort_numbers(numbers)))
`,
  'tests/draw.py': `import json, os, random
draw = random.Random(os.environ["MUSTER_SEED"])
for _ in range(int(os.environ["MUSTER_CASES"])):
    print(json.dumps({"stdin": json.dumps([draw.randrange(-99, 99) for _ in range(draw.randrange(2, 30))])}))
`,
  'tests/golden.py': 'import json, sys\nprint(json.dumps(sorted(json.load(sys.stdin))))\n',
  'solution/sort.py': 'def sort_numbers(numbers):\n    return sorted(numbers)\n',
};
