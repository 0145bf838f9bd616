// Fails when a module imports from a layer to its right, or reaches out of src: base <- api <- state <- logic <- views <- app.
// Also fails when modules of src, tests, scripts or bench import one another in a circle; an import of a type counts.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const LAYERS = ['base', 'api', 'state', 'logic', 'views', 'app'];
const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const source = join(root, 'src');

function modules(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return modules(path);
    return /\.(tsx?|mjs)$/.test(entry.name) ? [path] : [];
  });
}

/** The paths that a module names, as it writes them: of values, of types, and of `import('…')`. */
function namedBy(path) {
  const imports = readFileSync(path, 'utf8').matchAll(/\b(?:from|import)\s*\(?\s*['"](\.[^'"]*)['"]/g);
  return [...imports].map(([, target]) => target);
}

function fileOf(path, target) {
  const stem = resolve(dirname(path), target);
  const names = [stem, `${stem}.ts`, `${stem}.tsx`, join(stem, 'index.ts'), join(stem, 'index.tsx')];
  return names.find((name) => statSync(name, { throwIfNoEntry: false })?.isFile());
}

function layerOf(path) {
  return LAYERS.indexOf(relative(source, path).split('/')[0]);
}

function wrongLayers(path) {
  const own = layerOf(path);
  const name = relative(root, path);
  if (own < 0) return [`${name}: is in no layer`];
  return namedBy(path).flatMap((target) => {
    const layer = layerOf(resolve(dirname(path), target));
    if (layer < 0) return [`${name} imports ${target}, which is in no layer`];
    return layer > own ? [`${name} imports ${target}: ${LAYERS[own]} must not know ${LAYERS[layer]}`] : [];
  });
}

/** Every module with those that it imports. */
function importsOf(paths) {
  const unknown = [];
  const imports = new Map();
  for (const path of paths) {
    const files = namedBy(path).map((target) => {
      const file = fileOf(path, target);
      if (file === undefined) unknown.push(`${relative(root, path)} imports ${target}, which is no file`);
      return file;
    });
    imports.set(
      path,
      files.filter((file) => file !== undefined),
    );
  }
  return { imports, unknown };
}

function reachedFrom(path, imports) {
  const reached = new Set();
  const open = [path];
  for (let next = open.pop(); next !== undefined; next = open.pop())
    for (const target of imports.get(next) ?? [])
      if (!reached.has(target)) {
        reached.add(target);
        open.push(target);
      }
  return reached;
}

/** The groups of modules in which each one reaches each other one: the strongly connected components with an edge. */
function circlesOf(imports) {
  const reached = new Map([...imports.keys()].map((path) => [path, reachedFrom(path, imports)]));
  const inOne = [...imports.keys()].filter((path) => reached.get(path).has(path));
  const circles = inOne.map((path) =>
    inOne.filter((other) => reached.get(path).has(other) && reached.get(other).has(path)),
  );
  return circles.filter((circle, at) => circle[0] === inOne[at]);
}

const everything = ['src', 'tests', 'scripts', 'bench'].flatMap((folder) => modules(join(root, folder)));
const { imports, unknown } = importsOf(everything);
const circles = circlesOf(imports).map((circle) => `circle: ${circle.map((path) => relative(root, path)).join(', ')}`);
const wrong = [...modules(source).flatMap(wrongLayers), ...unknown, ...circles];
for (const line of wrong) process.stderr.write(`${line}\n`);
process.exit(wrong.length === 0 ? 0 : 1);
