import { InfrastructureError } from '../../kernel/errors.ts';
import { defineSuite, createInlineLayer, parseSuite, type SuiteDefinition } from '../../orchestrator/suite/suite-definition.ts';
import type { EvaluationOrder } from './evaluation-order.ts';

/** @throws InfrastructureError `store.order` when this Muster would play another suite than the accepted one. */
export function readOrderedSuite({
  suite,
  suiteFiles,
  suiteDigest,
}: Pick<EvaluationOrder, 'suite' | 'suiteFiles' | 'suiteDigest'>): SuiteDefinition {
  const definition = defineSuite(parseSuite(createInlineLayer(suite)), suiteFiles?.digest);
  if (definition.digest === suiteDigest) return definition;
  throw new InfrastructureError(
    'store.order',
    `the suite ${suite.name} was accepted as ${suiteDigest}, and is ${definition.digest} to this version of Muster; request it again`,
  );
}
