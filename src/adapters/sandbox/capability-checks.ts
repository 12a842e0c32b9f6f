import { toOkFinding, type HealthCheck } from '../../kernel/health-check.ts';
import type { Finding } from './finding.ts';

/** Creates a check of something without which Muster does not work. */
export const createNeededCheck = (name: string, find: () => Promise<Finding>): HealthCheck => createCapabilityCheck(name, find, 'problem');
/** Creates a check of something that Muster can do without, at a cost that the remedy states. */
export const createUsefulCheck = (name: string, find: () => Promise<Finding>): HealthCheck => createCapabilityCheck(name, find, 'warning');

function createCapabilityCheck(name: string, find: () => Promise<Finding>, status: 'problem' | 'warning'): HealthCheck {
  return {
    name,
    async run() {
      const found = await find();
      switch (found.state) {
        case 'available':
          return toOkFinding(found.detail);
        case 'missing':
          return { status, found: found.detail, remedy: found.remedy };
      }
    },
  };
}

/** Creates a check that only templates with this provider need. @param templates their names. */
export function createProviderCheck(name: string, templates: readonly string[], find: () => Promise<Finding>): HealthCheck {
  return {
    name,
    async run() {
      const found = await find();
      if (found.state === 'available') return toOkFinding(found.detail);
      if (templates.length === 0) return toOkFinding(`not usable, and no template names it: ${found.detail}`);
      return { status: 'problem', found: `${found.detail}; templates that name it: ${templates.join(', ')}`, remedy: found.remedy };
    },
  };
}
