import type { Mutation } from './candidate.ts';

/** A node of a syntax tree, as Tree-sitter names them. */
export interface SyntaxNode {
  readonly type: string;
  readonly text: string;
  readonly startIndex: number;
  readonly endIndex: number;
  readonly startPosition: { readonly row: number };
  readonly isNamed: boolean;
  readonly hasError: boolean;
  readonly parent: SyntaxNode | null;
  readonly previousNamedSibling: SyntaxNode | null;
  readonly children: readonly (SyntaxNode | null)[];
  childForFieldName(name: string): SyntaxNode | null;
}

const OPERATORS: ReadonlyMap<string, string> = new Map([
  ['<', '<='],
  ['<=', '<'],
  ['>', '>='],
  ['>=', '>'],
  ['==', '!='],
  ['!=', '=='],
  ['===', '!=='],
  ['!==', '==='],
  ['+', '-'],
  ['-', '+'],
  ['*', '+'],
  ['%', '+'],
  ['&&', '||'],
  ['||', '&&'],
]);
const NUMBERS: ReadonlySet<string> = new Set(['number', 'int_literal', 'integer_literal', 'number_literal']);
const FUNCTIONS: ReadonlySet<string> = new Set([
  'function_declaration',
  'generator_function_declaration',
  'method_definition',
  'method_declaration',
  'function_item',
  'function_definition',
]);
/** Functions that are values: what they are assigned to names them. */
const VALUES: ReadonlySet<string> = new Set(['function_expression', 'arrow_function']);
/** Syntax around a function on its line; its documentation comes before that. */
const WRAPPERS: ReadonlySet<string> = new Set([
  'export_statement',
  'template_declaration',
  'variable_declarator',
  'lexical_declaration',
  'assignment_expression',
  'expression_statement',
]);
const MOST_NODES = 400_000;
const MOST_DOCUMENTATION = 2000;

/** The text from `start` to `end` is replaced. */
interface Replacement {
  readonly kind: Mutation['kind'];
  readonly start: number;
  readonly end: number;
  readonly by: string;
}

/**
 * Yields small ways to break the functions of a file: an operator, a constant, a removed branch or call. The results may not be buildable.
 *
 * @param root of a tree of the text, whose offsets count in UTF-16.
 */
export function* mutateSyntax(path: string, text: string, root: SyntaxNode): Generator<Mutation> {
  const inlineTests = text.search(/^\s*#\[cfg\(test\)\]/m);
  const open: { readonly node: SyntaxNode; readonly within: SyntaxNode | undefined }[] = [{ node: root, within: undefined }];
  for (let seen = 0; open.length > 0 && seen < MOST_NODES; seen += 1) {
    const next = open.pop();
    if (next === undefined) return;
    const { node } = next;
    if (inlineTests !== -1 && node.startIndex >= inlineTests) continue;
    const isFunction = FUNCTIONS.has(node.type) || (VALUES.has(node.type) && (next.within === undefined || nameFunction(node) !== ''));
    const within = isFunction ? node : next.within;
    const replaced = within === undefined ? undefined : findReplacement(node);
    if (replaced !== undefined && within !== undefined) yield describe(path, text, within, node, replaced);
    // Code that a preprocessor evaluates does not run.
    const skipped = node.type.startsWith('preproc_') ? node.childForFieldName('condition') : null;
    for (const child of node.children.toReversed())
      if (child !== null && child.startIndex !== skipped?.startIndex) open.push({ node: child, within });
  }
}

function findReplacement(node: SyntaxNode): Replacement | undefined {
  if (node.hasError) return undefined;
  if (node.type === 'binary_expression') {
    const operator = node.childForFieldName('operator');
    const by = operator === null ? undefined : OPERATORS.get(operator.type);
    return operator === null || by === undefined ? undefined : { kind: 'operator', start: operator.startIndex, end: operator.endIndex, by };
  }
  if (NUMBERS.has(node.type) && /^(0|[1-9]\d{0,8})$/.test(node.text))
    return { kind: 'constant', start: node.startIndex, end: node.endIndex, by: `${Number(node.text) + 1}` };
  if (node.type === 'if_statement' || node.type === 'if_expression') return skipBranch(node);
  if (node.type !== 'expression_statement') return undefined;
  const call = node.children.find((child) => child?.isNamed === true);
  const isCall = call !== undefined && call !== null && call.type === 'call_expression';
  return isCall ? { kind: 'call', start: call.startIndex, end: call.endIndex, by: '' } : undefined;
}

function skipBranch(node: SyntaxNode): Replacement | undefined {
  const condition = node.childForFieldName('condition');
  if (condition === null || node.childForFieldName('alternative') !== null || /let/.test(condition.type)) return undefined;
  const { startIndex: start, endIndex: end } = condition;
  // C has no word for it without a header; the others keep their own parentheses.
  if (condition.type === 'condition_clause') return { kind: 'branch', start, end, by: '(0)' };
  return { kind: 'branch', start, end, by: condition.type === 'parenthesized_expression' ? '(false)' : 'false' };
}

function describe(path: string, text: string, within: SyntaxNode, node: SyntaxNode, { kind, start, end, by }: Replacement): Mutation {
  const mutated = `${text.slice(0, start)}${by}${text.slice(end)}`;
  return {
    path,
    function: nameFunction(within),
    kind,
    line: node.startPosition.row + 1,
    text: mutated,
    documentation: readDocumentation(within),
  };
}

/** C has the name in what declares the function. */
function nameFunction(node: SyntaxNode): string {
  const name = node.childForFieldName('name');
  if (name !== null) return name.text;
  const { parent } = node;
  const assigned = VALUES.has(node.type) ? (parent?.childForFieldName('name') ?? parent?.childForFieldName('left') ?? null) : null;
  if (assigned !== null) return assigned.text.length <= 100 ? assigned.text : '';
  let declarator = node.childForFieldName('declarator');
  for (let inner = declarator; inner !== null; inner = inner.childForFieldName('declarator')) declarator = inner;
  return declarator !== null && declarator.text.length <= 100 ? declarator.text : '';
}

/** Reads the comments right before a function. */
function readDocumentation(node: SyntaxNode): string {
  let outer = node;
  while (outer.parent !== null && WRAPPERS.has(outer.parent.type)) outer = outer.parent;
  const comments: string[] = [];
  for (let before = outer.previousNamedSibling; before !== null; before = before.previousNamedSibling) {
    if (before.type === 'attribute_item') continue;
    if (!before.type.endsWith('comment')) break;
    comments.unshift(before.text);
  }
  const lines = comments.join('\n').split('\n');
  return lines
    .map((line) => line.replace(/^\s*(\/\*+|\*+\/|\*|\/\/[/!]?)\s?/, '').replace(/\s*\*+\/\s*$/, ''))
    .join('\n')
    .trim()
    .slice(0, MOST_DOCUMENTATION);
}
