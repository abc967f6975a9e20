// Optimizers as people write them: a line of Python, or keys of our configuration; read, and written.

const OPTIMIZERS = { muon: 'Muon', muonh: 'MuonH', adamw: 'AdamW', adamh: 'AdamH' };
const isAdam = name => name.startsWith('adam'), isBall = name => name.endsWith('h');

/** What a call means that names no argument. Rates that have no default are asked for. */
const CALLS = [
  [/^(torch\.)?optim\.Muon$/, 'muon', { rate: 0.001, decay: 0.1, momentum: 0.95, factor: 'tall' }],
  [/^(muon\.)?(SingleDevice)?Muon(WithAuxAdam)?$/, 'muon', { rate: 0.02, decay: 0, momentum: 0.95, factor: 'tall' }], // Keller Jordan's
  [/^((torch\.)?optim\.)?AdamW$/, 'adamw', { rate: 0.001, decay: 0.01, beta1: 0.9 }],
  [/^optax\.adamw$/, 'adamw', { decay: 0.0001, beta1: 0.9 }],
  [/^(hypertransfer\.)?muon$/, 'muon', { decay: 0.1, momentum: 0.95, factor: 'none' }],
  [/^(hypertransfer\.)?adamw$/, 'adamw', { decay: 0.1, beta1: 0.9 }],
  [/^(hypertransfer\.)?muonh$|^MuonH$|^MuonHyperball$/, 'muonh', { momentum: 0.95 }],
  [/^(hypertransfer\.)?adamh$|^AdamH$/, 'adamh', { beta1: 0.9 }],
];
const NUMBERS = { lr: 'rate', learning_rate: 'rate', weight_decay: 'decay', wd: 'decay', momentum: 'momentum', b1: 'beta1', beta1: 'beta1' };
const FACTORS = ['none', 'tall', 'spectral', 'rms'], COEFFICIENTS = ['jordan', 'convergent', 'polar-express'];
const same = words => Object.fromEntries(words.map(word => [word, word]));
const WORDS = {
  adjust_lr_fn: ['factor', { original: 'tall', match_rms_adamw: 'rms', None: 'tall' }],
  shape_factor: ['factor', same(FACTORS)],
  coefficients: ['coefficients', same(COEFFICIENTS)],
};
/** Arguments that change no norm and no rate here. */
const IDLE = /^(params|muon_params|adamw_params|nesterov|eps|epsilon|b2|beta2|adamw_betas|adamw_eps|ns_\w+|momentum_start|foreach|fused|maximize|capturable|differentiable|amsgrad|master_dtype|rank|world_size)$/;
const KEYS = {
  'matrices.rate': 'rate', 'matrices.decay': 'decay', 'matrices.momentum': 'momentum', 'matrices.beta1': 'beta1', 'matrices.shape_factor': 'factor', 'matrices.coefficients': 'coefficients',
  'matrices.schedule': 'shape', 'matrices.warmup': 'warmup', 'matrices.final_ratio': 'final', steps: 'steps', network: 'norm', preset: 'network', 'matrices.direction': 'direction', 'matrices.mode': 'mode',
};
const OTHERS = /^(engine|seed|model|adamw|clip|data|validation|log|checkpoint|ranks|stop_above|from|target|matrices\.(nesterov|bf16|beta2|epsilon|gradient|init|master|grid|placebo|view|radius|zero_radius|target_decay))\b/;
const EXAMPLE = 'such as torch.optim.Muon(params, lr=0.02, weight_decay=0.1) or matrices.rate: 0.02';

function numberOf(name, text) {
  if (!/^[-+]?(\d[\d_]*\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text)) throw new Error(`${name} is '${text}'; write one number, such as 0.02`);
  return Number(text.replaceAll('_', ''));
}

function wordOf(name, text, known) {
  if (!(text in known)) throw new Error(`${name} is '${text}'; it must be one of ${Object.keys(known).join(', ')}`);
  return known[text];
}

/** The settings that a text names; what cannot be read is refused with a sentence. */
function readLine(text) {
  const bare = text.replace(/#.*$/gm, '').trim();
  if (!bare) throw new Error(`there is no optimizer here; write one ${EXAMPLE}`);
  for (const { 1: name, index, 0: { length } } of bare.matchAll(/([A-Za-z_][\w.]*)\s*\(/g)) {
    const call = CALLS.find(([pattern]) => pattern.test(name));
    if (call) return readCall(name, call, bare.slice(index + length));
    if (/(^|\.)(Adam|SGD|RMSprop|Adagrad|NAdam|RAdam)$/.test(name)) throw new Error(`${name} adds weight decay to the gradient, so it is none of a space; AdamW, Muon, AdamH and MuonH can be read`);
  }
  if (/^[\w.]+\s*[:=]/.test(bare)) return readKeys(bare);
  throw new Error(`'${bare.length > 40 ? bare.slice(0, 40) + '…' : bare}' is no optimizer that this page knows; write one ${EXAMPLE}`);
}

/** The text up to the bracket that closes, at its commas. */
function argumentsOf(name, text) {
  const parts = [''];
  let depth = 0;
  for (const c of text) {
    if (!depth && c === ')') return parts.map(part => part.trim()).filter(Boolean);
    depth += '([{'.includes(c) - ')]}'.includes(c);
    if (!depth && c === ',') parts.push('');
    else parts[parts.length - 1] += c;
  }
  throw new Error(`the bracket after ${name} is not closed; add a )`);
}

function readCall(name, [, optimizer, defaults], rest) {
  const made = { optimizer, ...defaults };
  argumentsOf(name, rest).forEach((part, i) => {
    const [, key, value] = /^([A-Za-z_]\w*)\s*=(?!=)\s*(.*)$/s.exec(part) ?? [];
    if (!key && i === 1) made.rate = numberOf('lr', part);
    else if (!key && i > 1) throw new Error(`'${part}' has no name; write it as weight_decay=${part} or momentum=${part}`);
    else if (key in NUMBERS) made[NUMBERS[key]] = numberOf(key, value);
    else if (key === 'betas') made.beta1 = numberOf('the first of betas', value.replace(/^[([]\s*([^,\s]*).*$/s, '$1'));
    else if (key in WORDS) made[WORDS[key][0]] = wordOf(key, value.replace(/^['"]|['"]$/g, ''), WORDS[key][1]);
    else if (key && !IDLE.test(key)) throw new Error(`${key} is no argument of ${name} that this page knows; it reads lr, weight_decay, momentum, betas and shape_factor`);
    if (key === 'wd' || key === 'muon_params') made.factor = 'rms'; // Moonlight's Muon
  });
  if (made.rate === undefined) throw new Error(`${name} has no lr; add lr=0.02`);
  if (isBall(optimizer) && made.decay > 0) throw new Error(`weight_decay is ${made.decay}, and ${OPTIMIZERS[optimizer]} has none: its norm is fixed; remove it`);
  return made;
}

/** Keys of our configuration: nested, in one line with braces, or with dots and : or =. */
function readKeys(text) {
  const made = {}, above = [];
  const flat = text.replace(/\{([^}]*)\}/g, (_, inside) => inside.split(',').map(part => '\n    ' + part.trim()).join('')).replace(/ --set /g, '\n');
  for (const line of flat.split('\n').filter(line => line.trim())) {
    const [, indent, name, value] = /^(\s*)([\w.-]+)\s*[:=]\s*(.*?)\s*$/.exec(line) ?? [];
    if (!name) throw new Error(`'${line.trim()}' is no key with a value; write it as matrices.rate: 0.02`);
    while (above.length && above.at(-1).indent >= indent.length) above.pop();
    const key = [...above.map(one => one.name), name].join('.');
    if (!value) above.push({ indent: indent.length, name });
    else if (key in KEYS) {
      if (value !== 'null') made[KEYS[key]] = value;
    } else if (!OTHERS.test(key)) throw new Error(`${key} is no key that this page reads; it reads ${Object.keys(KEYS).join(', ')}`);
  }
  const { direction = 'muon', mode = 'base', ...settings } = made;
  const stem = wordOf('matrices.direction', direction, { muon: 'muon', normuon: 'muon', adam: 'adam' }), ball = wordOf('matrices.mode', mode, { base: false, hyperball: true });
  const words = { factor: FACTORS, coefficients: COEFFICIENTS, norm: ['M1', 'M2'], network: known.map(preset => preset.name) };
  for (const [key, name] of Object.entries(KEYS)) {
    if (name in settings && name !== 'shape') settings[name] = words[name] ? wordOf(key, settings[name], same(words[name])) : numberOf(key, settings[name]);
  }
  return { ...(direction === made.direction || mode === made.mode || settings.rate !== undefined ? { optimizer: stem + (ball ? 'h' : stem === 'adam' ? 'w' : '') } : {}), ...settings };
}

/** The side as a line of Python; torch's own optimizer where it has one with this shape factor. */
function pythonLine({ optimizer, rate, decay, momentum, beta1, factor, coefficients }) {
  const own = isAdam(optimizer) ? `betas=(${beta1}, 0.95)` : `momentum=${momentum}`;
  if (optimizer === 'adamw') return `torch.optim.AdamW(params, lr=${rate}, ${own}, weight_decay=${decay})`;
  const schulz = isAdam(optimizer) || coefficients === 'jordan' ? '' : `, coefficients="${coefficients}"`;
  if (isBall(optimizer)) return `HyperTransfer([${optimizer}(params, lr=${rate}, ${own}${schulz})])`;
  if ((factor === 'tall' || factor === 'rms') && !schulz) return `torch.optim.Muon(params, lr=${rate}, weight_decay=${decay}, ${own}${factor === 'rms' ? ', adjust_lr_fn="match_rms_adamw"' : ''})`;
  return `HyperTransfer([muon(params, lr=${rate}, weight_decay=${decay}, ${own}, shape_factor="${factor}"${schulz})])`;
}

/** The same with what it needs, and the rates of its steps, to be set before each. */
function pythonLines(side) {
  const line = pythonLine(side), { rate, steps, warmup, final, shape } = side;
  return `${line.startsWith('torch') ? 'import torch\nfrom hypertransfer import Schedule' : `from hypertransfer import HyperTransfer, Schedule, ${side.optimizer}`}
optimizer = ${line}
rates = Schedule(${rate}, ${steps}, warmup=${warmup}, final_ratio=${final}, shape="${shape}").rates()`;
}

/** The side as keys of our configuration. */
function yamlLines({ optimizer, rate, decay, momentum, beta1, factor, coefficients, steps, warmup, final, shape, norm, network, width }) {
  const adam = isAdam(optimizer), ball = isBall(optimizer), lines = [
    ['direction', adam ? 'adam' : 'muon'], ['mode', ball ? 'hyperball' : 'base'], ['rate', rate], ...(ball ? [] : [['decay', decay]]), ['final_ratio', final], ['schedule', shape], ['warmup', warmup],
    ...(adam ? [['beta1', beta1]] : [['momentum', momentum], ['shape_factor', factor], ...(coefficients === 'jordan' ? [] : [['coefficients', coefficients]])]),
  ];
  return [`network: ${norm}`, ...(network ? [`preset: ${network}`] : []), ...(width ? ['model:', `  width: ${width}`] : []), `steps: ${steps}`, 'matrices:', ...lines.map(([key, value]) => `  ${key}: ${value}`)].join('\n');
}
