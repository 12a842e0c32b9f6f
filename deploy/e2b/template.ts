import { fileURLToPath } from 'node:url';
import { Template, type TemplateBuilder } from 'e2b';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
/** The same Python as on this machine, 3.11 or newer. */
const PYTHON = '3.12';
const USER = 'muster';

/**
 * The template of sandboxes at E2B: Python, the packages that the runner imports in the versions of runner/requirements.txt, and the
 * runner. The program runs as an unprivileged user without sudo. Root owns the files in /muster.
 */
export function musterTemplate(): TemplateBuilder {
  return (
    Template({ fileContextPath: PROJECT, fileIgnorePatterns: ['**/__pycache__', '**/.mypy_cache', '**/.ruff_cache'] })
      .fromPythonImage(PYTHON)
      .setUser('root')
      // For workspaces: bubblewrap, which confines their programs, and the tools that agents need.
      .aptInstall(['bubblewrap', 'git'], { noInstallRecommends: true })
      .copy('runner/requirements.txt', '/muster/requirements.txt', { user: 'root' })
      .runCmd('pip install --no-cache-dir --requirement /muster/requirements.txt')
      .copy('runner', '/muster/runner', { user: 'root' })
      .runCmd(['mkdir -p /muster/inbox', 'chown -R root:root /muster', 'chmod -R a+rX,go-w /muster'])
      .runCmd(`useradd --create-home --shell /bin/bash ${USER}`)
      .setUser(USER)
      .setWorkdir('/tmp')
  );
}
