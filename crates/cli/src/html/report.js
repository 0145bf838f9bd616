
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const page = document.getElementById('page');

  // --- small helpers; text goes in as text only ---
  function add(parent, tag, text, className) {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    parent.append(element);
    return element;
  }
  const digits = (value) => {
    if (value === 0) return '0';
    const places = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
    return value.toLocaleString('en-US', { minimumFractionDigits: Math.min(places, 3), maximumFractionDigits: Math.min(places, 3) });
  };
  function duration(ns) {
    if (!ns) return '0';
    if (ns < 1e3) return `${ns} ns`;
    const [scale, unit] = ns < 999.5e3 ? [1e3, 'µs'] : ns < 999.5e6 ? [1e6, 'ms'] : [1e9, 's'];
    return `${digits(ns / scale)} ${unit}`;
  }
  const percent = (part) => (Number.isFinite(part) ? `${digits(part * 100)} %` : '–');
  const count = (value) => value.toLocaleString('en-US');
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  function section(title, note) {
    const element = add(page, 'section');
    add(element, 'h2', title);
    if (note) add(element, 'p', note);
    return element;
  }

  // --- head, figures, losses ---
  function head() {
    const header = add(page, 'header');
    add(header, 'h1', data.title);
    const { about } = data;
    const when = about.started_at > 0 && about.started_at < 2.5e11 ? new Date(about.started_at * 1000).toISOString().slice(0, 19) + 'Z' : '';
    const what = about.command || about.pids.map((pid) => `process ${pid}`).join(', ');
    add(header, 'p', what);
    add(header, 'p', [when, about.host, `Linux ${about.kernel}`, about.cpu, `Dwell ${about.version}`].filter(Boolean).join(' · '));
    const notes = data.summary.notes || [];
    const alarms = [...notes.slice(0, data.warnings), ...data.losses.map((loss) => `${count(loss.count)}: ${loss.doc}`)];
    if (alarms.length > 0) {
      const banner = add(page, 'div', undefined, 'banner');
      banner.setAttribute('role', 'note');
      alarms.forEach((alarm) => add(banner, 'p', alarm));
    }
    notes.slice(data.warnings).forEach((note) => add(header, 'p', `· ${note}`));
  }

  function figures() {
    const summary = data.summary;
    const grid = add(page, 'div', undefined, 'figures');
    const figure = (title, value, under) => {
      const cell = add(grid, 'div');
      add(cell, 'span', title);
      add(cell, 'b', value);
      add(cell, 'span', under);
    };
    const several = (number, what) => `${count(number)} ${what}${number === 1 ? '' : what.endsWith('s') ? 'es' : 's'}`;
    figure('Elapsed Time', duration(summary.elapsed_ns), `${several(summary.threads, 'thread')}, ${several(summary.processes, 'process')}`);
    figure('CPU Time', duration(summary.cpu_ns), `${digits(summary.avg_running)} threads running on average`);
    figure('CPU Utilization', percent(summary.cpu_utilization), `of ${summary.target_concurrency} CPUs`);
    figure('Wait Time', duration(summary.wait_ns), `${count(summary.wait_count)} waits`);
    figure('Idle Workers', duration(summary.idle_ns), 'part of the wait time');
    figure('Spin Time', duration(summary.spin_ns), 'CPU time burnt waiting');
    figure('Overhead Time', duration(summary.overhead_ns), 'CPU time of the runtime');
    figure('Preemption Wait', duration(summary.preemption_ns), 'ready, in the run queue');
  }

  // The root causes of waits.
  function causes() {
    const causes = data.summary.explanation;
    const element = section('Where the time went');
    if (causes.length === 0) add(element, 'p', 'No thread was held up by another for long.');
    const cards = add(element, 'div', undefined, 'cards');
    for (const cause of causes) {
      const card = add(cards, 'article', undefined, 'card');
      add(card, 'h3', cause.cause);
      for (const chain of (cause.chains || []).slice(0, 2)) add(card, 'p', chain);
      add(card, 'p', cause.advice, 'advice');
    }
  }

  // What the causes do not tell.
  function findings() {
    const found = data.summary.findings;
    if (found.length === 0) return;
    const element = section('What else is wrong');
    const cards = add(element, 'div', undefined, 'cards');
    for (const finding of found) {
      const card = add(cards, 'article', undefined, 'card');
      const title = add(card, 'h3', `${finding.title}: ${finding.subject}`);
      add(title, 'span', `about ${duration(finding.cost_ns)}`);
      add(card, 'p', finding.evidence);
      if (finding.location) add(add(card, 'p', 'at '), 'code', finding.location);
      add(card, 'p', finding.advice, 'advice');
    }
  }

  // --- tables ---
  const PATHS = ['source', 'first_wait_at'];
  const CLASSES = ['idle', 'poor', 'ok', 'ideal', 'over'];
  function cell(row, kind, value, scale, isPath) {
    const element = add(row, 'td', undefined, kind === 'text' ? 'text' : '');
    if (value === null || value === undefined) return;
    if (kind === 'by_class') {
      const bar = add(element, 'div', undefined, 'bar');
      const parts = CLASSES.filter((name) => value[name] > 0);
      bar.title = parts.map((name) => `${name} ${duration(value[name])}`).join(', ');
      for (const name of parts) {
        const part = add(bar, 'i');
        part.style.width = `${(100 * value[name]) / scale}%`;
        part.style.background = `var(--class-${name})`;
      }
      return;
    }
    const words = { ns: duration, count, fraction: percent, real: digits };
    element.textContent = words[kind] ? words[kind](value) : String(value);
    if (value === 0) element.className = 'zero';
    if (kind === 'text') element.title = String(value);
    // Of a path, what tells it apart; all of it on hover.
    if (isPath) element.textContent = String(value).replace(/[^ (]*\//g, '');
  }

  function table(parent, { columns, rows }) {
    if (rows.length === 0) return void add(parent, 'p', 'None.');
    const element = add(add(parent, 'div', undefined, 'table'), 'table');
    const heading = add(add(element, 'thead'), 'tr');
    const isId = (column) => column.id === 'tid' || column.id === 'pid';
    for (const column of columns) {
      const cell = add(heading, 'th', column.title, { text: 'text', by_class: 'bars' }[column.kind] ?? '');
      cell.scope = 'col';
      cell.title = column.help;
    }
    const sum = (value) => CLASSES.reduce((all, name) => all + (value?.[name] ?? 0), 0);
    const scales = columns.map((column, index) =>
      column.kind === 'by_class' ? Math.max(1, ...rows.map((row) => sum(row[index]))) : 0);
    const body = add(element, 'tbody');
    for (const row of rows) {
      const line = add(body, 'tr');
      columns.forEach((column, index) => cell(line, isId(column) ? 'id' : column.kind, row[index], scales[index], PATHS.includes(column.id)));
    }
  }

  function legend(parent, entries) {
    const element = add(parent, 'div', undefined, 'legend');
    for (const [name, title] of entries) {
      const entry = add(element, 'span');
      add(entry, 'i').style.background = `var(--${name})`;
      entry.append(title);
    }
  }

  function histograms() {
    const element = section('Utilization');
    const two = add(element, 'div', undefined, 'two');
    const draw = (title, times) => {
      const box = add(two, 'div', undefined, 'histogram');
      add(box, 'h3', title);
      const most = Math.max(1, ...times);
      const whole = times.reduce((sum, ns) => sum + ns, 0) || 1;
      times.slice(0, 33).forEach((ns, threads) => {
        const row = add(box, 'div');
        add(row, 'span', threads === 32 && times.length > 33 ? '32…' : threads);
        add(add(row, 'span'), 'u').style.width = `${(100 * ns) / most}%`;
        add(row, 'span', percent(ns / whole)).title = duration(ns);
      });
    };
    draw('Time by number of running threads', data.summary.histogram_cpu || []);
    draw('Time by number of threads that ran or could', data.summary.histogram_concurrency || []);
  }

  // --- flame graph ---
  function flame() {
    const graph = data.flame;
    const left = graph.idle_ns > 0 ? ` ${duration(graph.idle_ns)} of idle workers' waits are left out.` : '';
    const element = section('Where threads ran and waited', `CPU and wait time by call stack, ${duration(graph.total_ns)} in all.${left}`);
    if (graph.parent.length === 0) return;
    const tools = add(element, 'div', undefined, 'tools');
    const search = add(tools, 'input');
    search.type = 'search';
    search.placeholder = 'Search functions';
    search.setAttribute('aria-label', 'Search functions');
    const reset = add(tools, 'button', 'Whole graph');
    const line = add(tools, 'span', 'Click a box to zoom in.', 'line');
    const stage = add(element, 'div', undefined, 'flame');
    legend(element, [['running', 'mostly running'], ['condition', 'half and half'], ['lock', 'mostly waiting']]);

    const { parent, total, name, names } = graph;
    const size = parent.length;
    const depth = new Array(size).fill(0);
    const offset = new Array(size).fill(0);
    const used = new Array(size).fill(0);
    let roots = 0;
    for (let i = 0; i < size; i++) {
      const up = parent[i];
      if (up < 0) { offset[i] = roots; roots += total[i]; }
      else { depth[i] = depth[up] + 1; offset[i] = offset[up] + used[up]; used[up] += total[i]; }
    }
    let focus = -1;
    let wanted = '';
    const within = (i, ancestor) => { while (i > ancestor) i = parent[i]; return i === ancestor; };
    const shade = (i) => {
      const wait = graph.wait_share[i];
      const state = wait > 0.66 ? 'lock' : wait > 0.33 ? 'condition' : 'running';
      return `color-mix(in srgb, var(--${state}) 62%, #f4f1ea)`;
    };
    function draw() {
      stage.replaceChildren();
      const [start, whole] = focus < 0 ? [0, graph.total_ns || 1] : [offset[focus], total[focus]];
      let deepest = 0;
      for (let i = 0; i < size; i++) {
        const above = focus >= 0 && within(focus, i) && i !== focus;
        if (focus >= 0 && !above && !within(i, focus)) continue;
        const width = above ? 1 : total[i] / whole;
        if (width < 0.0007) continue;
        const text = names[name[i]];
        const box = add(stage, 'button', width > 0.02 ? text : '');
        box.style.left = `${above ? 0 : (100 * (offset[i] - start)) / whole}%`;
        box.style.width = `${100 * width}%`;
        box.style.top = `${18 * depth[i]}px`;
        box.style.background = shade(i);
        if (above) box.classList.add('above');
        if (wanted && text.toLowerCase().includes(wanted)) box.classList.add('found');
        const words = `${text}: ${duration(total[i])}, ${percent(total[i] / graph.total_ns)} (self ${duration(graph.self_ns[i])}, waiting ${percent(graph.wait_share[i])})`;
        box.title = words;
        box.setAttribute('aria-label', words);
        box.addEventListener('mouseenter', () => { line.textContent = words; });
        box.addEventListener('focus', () => { line.textContent = words; });
        box.addEventListener('click', () => { focus = focus === i ? -1 : i; draw(); });
        deepest = Math.max(deepest, depth[i]);
      }
      stage.style.height = `${18 * (deepest + 1)}px`;
    }
    search.addEventListener('input', () => { wanted = search.value.trim().toLowerCase(); draw(); });
    reset.addEventListener('click', () => { focus = -1; draw(); });
    draw();
  }

  // --- timeline ---
  function timeline() {
    const { bands, states, from, to, threads, width } = data.timeline;
    const shown = threads > bands.length ? `The ${bands.length} of ${threads} threads with most context switches.` : '';
    const element = section('Timeline', shown);
    if (bands.length === 0) return;
    const line = add(add(element, 'div', undefined, 'tools'), 'span', ' ', 'line');
    const frame = add(element, 'div', undefined, 'timeline');
    const canvas = add(frame, 'canvas');
    const used = new Set(bands.flatMap((band) => band.state));
    legend(element, states.filter(([id], index) => used.has(index) && id !== 'absent'));
    const [label, row, axis] = [170, 20, 22];
    const at = (x) => from + ((to - from) * x) / width;
    function step() {
      const rough = (to - from) / 8;
      const power = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
      return power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
    }
    function draw() {
      const room = Math.max(600, frame.clientWidth);
      const scale = (room - label) / width;
      const height = axis + row * bands.length;
      const ratio = window.devicePixelRatio || 1;
      canvas.width = room * ratio;
      canvas.height = height * ratio;
      canvas.style.width = `${room}px`;
      canvas.style.height = `${height}px`;
      const context = canvas.getContext('2d');
      context.scale(ratio, ratio);
      context.font = '11px system-ui, sans-serif';
      context.textBaseline = 'middle';
      const [ink, faint, rule] = [color('ink'), color('faint'), color('line')];
      const fills = states.map(([id]) => color(id));
      for (let time = Math.ceil(from / step()) * step(); time <= to; time += step()) {
        const x = label + ((time - from) / (to - from || 1)) * (room - label);
        context.fillStyle = rule;
        context.fillRect(x, axis - 4, 1, height);
        context.fillStyle = faint;
        context.fillText(duration(time), Math.min(x + 3, room - 46), axis / 2);
      }
      bands.forEach((band, index) => {
        const y = axis + index * row;
        for (let i = 0; i < band.state.length; i++) {
          if (states[band.state[i]][0] === 'absent') continue;
          const x = label + band.start[i] * scale;
          context.fillStyle = fills[band.state[i]];
          context.fillRect(x, y + 3, Math.max(0.6, label + band.end[i] * scale - x), row - 6);
        }
        context.fillStyle = color('card');
        context.fillRect(0, y, label - 4, row);
        context.fillStyle = ink;
        context.fillText(band.label.length > 24 ? `${band.label.slice(0, 23)}…` : band.label, 8, y + row / 2);
      });
    }
    canvas.addEventListener('mousemove', (event) => {
      const box = canvas.getBoundingClientRect();
      const band = bands[Math.floor((event.clientY - box.top - axis) / row)];
      const x = ((event.clientX - box.left - label) / (box.width - label)) * width;
      if (!band || x < 0) return void (line.textContent = ' ');
      const index = band.end.findIndex((end) => end >= x);
      const state = index >= 0 && band.start[index] <= x ? states[band.state[index]][1] : 'Absent';
      line.textContent = `${duration(Math.round(at(x)))}   ${band.label}: ${state}`;
    });
    draw();
    window.addEventListener('resize', draw);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  }

  head();
  figures();
  causes();
  findings();
  const objects = section('Most waited for', 'Synchronization objects; waits of idle workers rank last.');
  table(objects, data.objects);
  legend(objects, CLASSES.map((name) => [`class-${name}`, `${name} CPU utilization meanwhile`]));
  timeline();
  flame();
  const said = [
    ['tasks', 'Tasks', 'What the program says that it does, and what its threads did meanwhile.'],
    ['frames', 'Frames', 'Turns of work that come again and again.'],
    ['counters', 'Counters', 'The values that the program gave its counters.'],
    ['correlation', 'Counters at long waits', 'Counters that tell the long waits on an object from the short ones.'],
  ];
  for (const [id, title, note] of said) {
    if (data[id]) table(section(title, note), data[id]);
  }
  table(section('Hotspots', 'CPU time by function.'), data.hotspots);
  histograms();
  table(section('Threads'), data.threads);
  const notes = (data.summary.notes || []).slice(data.warnings);
  const footer = add(page, 'footer');
  notes.forEach((note) => add(footer, 'p', note));
})();
