import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type GradingTool, PYTEST_INSIDE } from '../../agents/grading/grading-sandboxes.ts';
import { InfrastructureError } from '../../kernel/errors.ts';
import { PACKAGE_ROOT } from '../../kernel/package-root.ts';
import type { Mount } from '../../pool/ports/template.ts';

/** What a tool for tests is, on this machine. @throws InfrastructureError `tool.missing` when it has not been installed. */
export async function findToolMount(tool: GradingTool): Promise<Mount> {
  if (typeof tool === 'object') return tool;
  switch (tool) {
    case 'pytest': {
      const source = join(PACKAGE_ROOT, '.tools', 'pytest');
      try {
        await stat(source);
      } catch (cause) {
        throw new InfrastructureError(
          'tool.missing',
          `pytest is not installed in ${source}; run npm run setup in a checkout, or install the package anew`,
          { cause },
        );
      }
      return { source, target: PYTEST_INSIDE };
    }
  }
}
