import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { loadConfig } from '../../src/app/configuration.ts';
import type { Config } from '../../src/config/config.ts';
import { type FileContents, writeFiles } from './grading-fixture.ts';

const AUTHOR = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@b', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@b' };
const DAY = 86_400;
const FIRST_DAY = 1_700_000_000;

/** A repository that a test makes, commit by commit, in a directory of its own. Dates are fixed, and so are the commits' ids. */
export class RepositoryFixture implements AsyncDisposable {
  readonly directory: string;
  readonly config: Config;
  readonly repository: string;
  readonly out: string;
  #commits = 0;

  private constructor(directory: string) {
    this.directory = directory;
    this.config = { ...loadConfig({ environment: { HOME: directory } }), stateDir: path.join(directory, 'state') };
    this.repository = path.join(directory, 'sums');
    this.out = path.join(directory, 'tasks');
  }

  static async make(): Promise<RepositoryFixture> {
    const fixture = new RepositoryFixture(await mkdtemp(path.join(tmpdir(), 'muster-repository-')));
    await writeFiles(fixture.repository, { LICENSE: MIT });
    await fixture.git('init', '-q', '-b', 'main');
    return fixture;
  }

  async commit(message: string, files: FileContents): Promise<void> {
    await writeFiles(this.repository, files);
    await this.git('add', '-A');
    await this.git('commit', '-q', '-m', message);
  }

  async git(...args: readonly string[]): Promise<string> {
    const date = `${FIRST_DAY + DAY * (this.#commits += 1)} +0000`;
    const environment = {
      ...AUTHOR,
      GIT_AUTHOR_DATE: date,
      GIT_COMMITTER_DATE: date,
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
    };
    const { stdout } = await promisify(execFile)('git', [...args], {
      cwd: this.repository,
      env: { PATH: process.env['PATH'], ...environment },
    });
    return stdout.trim();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.directory, { recursive: true, force: true });
  }
}

export const MIT = `MIT License

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files.
`;

/** A small library of Python, before and after its fix. */
export const SUMS = {
  before: {
    'pyproject.toml': '[project]\nname = "sums"\nversion = "0.1"\n[tool.pytest.ini_options]\ntestpaths = ["tests"]\n',
    'sums.py':
      'def add(a, b):\n    """Give the sum of two numbers."""\n    return a + b\n\n\ndef mean(numbers):\n    return sum(numbers) / len(numbers)\n',
    'tests/test_sums.py':
      'import sums\n\n\ndef test_add():\n    assert sums.add(2, 3) == 5\n\n\ndef test_mean():\n    assert sums.mean([1, 2, 3]) == 2\n',
  },
  fix: {
    'sums.py':
      'def add(a, b):\n    """Give the sum of two numbers."""\n    return a + b\n\n\ndef mean(numbers):\n    if not list(numbers):\n        return 0.0\n    return sum(numbers) / len(numbers)\n',
    'tests/test_sums.py':
      'import sums\n\n\ndef test_add():\n    assert sums.add(2, 3) == 5\n\n\ndef test_mean():\n    assert sums.mean([1, 2, 3]) == 2\n\n\ndef test_mean_of_none():\n    assert sums.mean([]) == 0\n',
  },
  message: 'Give a mean of no numbers\n\nThe mean of an empty list was an error; it is 0.0 now.',
} as const;
