// Fails when a module imports from a layer to its right, or reaches out of src: base <- api <- state <- logic <- views <- app.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const LAYERS = ['base', 'api', 'state', 'logic', 'views', 'app'];
const source = resolve(dirname(fileURLToPath(import.meta.url)), '../src');

function modules(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return modules(path);
    return /\.tsx?$/.test(entry.name) ? [path] : [];
  });
}

function layerOf(path) {
  return LAYERS.indexOf(relative(source, path).split('/')[0]);
}

const wrong = [];
for (const path of modules(source)) {
  const own = layerOf(path);
  if (own < 0) wrong.push(`${path}: is in no layer`);
  for (const [, target] of readFileSync(path, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'(\.[^']*)'/g)) {
    const layer = layerOf(resolve(dirname(path), target));
    if (layer < 0) wrong.push(`${relative(source, path)} imports ${target}, which is in no layer`);
    else if (layer > own)
      wrong.push(`${relative(source, path)} imports ${target}: ${LAYERS[own]} must not know ${LAYERS[layer]}`);
  }
}
for (const line of wrong) process.stderr.write(`${line}\n`);
process.exit(wrong.length === 0 ? 0 : 1);
