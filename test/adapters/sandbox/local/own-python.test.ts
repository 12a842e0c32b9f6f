import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findOwnPython } from '../../../../src/adapters/sandbox/local/template/own-python.ts';
import { PACKAGE_ROOT } from '../../../../src/kernel/package-root.ts';

const PACKAGE = '/nonexistent/node_modules/muster-eval';

it.each([
  ['a checkout has its own', PACKAGE_ROOT, {}, join(PACKAGE_ROOT, '.venv/bin/python'), 'npm run setup'],
  ['a package has that of the user', PACKAGE, { XDG_DATA_HOME: '/data' }, '/data/muster/python/bin/python', 'muster setup'],
  [
    '… in the home directory',
    PACKAGE,
    { XDG_DATA_HOME: 'relative' },
    join(homedir(), '.local/share/muster/python/bin/python'),
    'muster setup',
  ],
  ['the one that started Muster goes first', PACKAGE_ROOT, { MUSTER_PYTHON: process.execPath }, process.execPath, '-m pip install'],
  [
    'one that is not there is blamed on the variable',
    PACKAGE_ROOT,
    { MUSTER_PYTHON: '/no/python' },
    '/no/python',
    'MUSTER_PYTHON names it',
  ],
])('python: auto, %s', (_, root, environment, path, remedy) => {
  expect(findOwnPython(root, environment)).toMatchObject({ path, remedy: expect.stringContaining(remedy) });
});
