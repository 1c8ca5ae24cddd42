"use strict";
// Everything that the snapshot contains is set as text: a name cannot become markup.

const PAGE_ROWS = 50;
const MATRIX_ROWS = 100;
const SQUARES = 2000;
const TITLES = {
  overview: "Overview", hosts: "Hosts", topics: "Topics", brokers: "Brokers", groups: "Groups", quorum: "Quorum", connect: "Connect",
  schemas: "Schemas", spark: "Spark", operations: "Operations", certificates: "Certificates",
};
let data = {};
let derived = null;
let live = false; // whether a server has the snapshot, and gives newer ones

function h(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) {
      made.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
  }
  return made;
}

const number = (value) => value.toLocaleString("en-US");
const count = (amount, one, many) => `${number(amount)} ${amount === 1 ? one : many || `${one}s`}`;
const link = (route, text) => h("a", { href: `#${route}` }, text);
const brokerRoute = (id) => `brokers/${id}`;
const topicRoute = (name) => `topics/${encodeURIComponent(name)}`;
const isInternal = (name) => name.startsWith("__");

function age(seconds) {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

function bytes(amount) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  while (amount >= 1024 && at < units.length - 1) { amount /= 1024; at += 1; }
  return `${at && amount < 10 ? amount.toFixed(1) : Math.round(amount)} ${units[at]}`;
}

const SIGNS = { good: "✓", warn: "!", bad: "✕" };
const mark = (kind, text) => h("span", { class: kind }, `${SIGNS[kind]} ${text}`);

function table(label, head, rows, options = {}) {
  const numeric = new Set(options.numeric || []);
  // A value may be { kind, content }: the class of its cell, and what is in it.
  const cell = (value, at, tag) => h(tag, { class: value?.kind || (numeric.has(at) ? "number" : null), scope: tag === "th" ? "row" : null },
    value?.kind ? value.content : value);
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    h("table", { class: options.class },
      h("caption", { class: "unseen" }, label),
      h("thead", {}, h("tr", {}, head.map((text, at) => h("th", { scope: "col", class: numeric.has(at) ? "number" : null }, text)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((value, at) => cell(value, at, at ? "td" : "th")))))));
}

// Rows below a filter, a page at a time; rows are made when their page is shown.
function listing({ label, items, text, filters, head, row, numeric, size = PAGE_ROWS, name }) {
  let page = 0;
  const box = h("div", {});
  const status = h("p", { class: "quiet", role: "status" });
  const search = text && h("input", { type: "search", id: `${name}-search`, autocomplete: "off", spellcheck: "false" });
  const choice = filters && h("select", { id: `${name}-filter` }, Object.keys(filters).map((one) => h("option", {}, one)));
  const back = h("button", { type: "button", onclick: () => { page -= 1; show(); } }, "Previous page");
  const next = h("button", { type: "button", onclick: () => { page += 1; show(); } }, "Next page");
  function show() {
    const wanted = search ? search.value.trim().toLowerCase() : "";
    const test = filters ? filters[choice.value] : () => true;
    const found = items.filter((one) => test(one) && (!wanted || text(one).toLowerCase().includes(wanted)));
    const last = Math.max(0, Math.ceil(found.length / size) - 1);
    page = Math.min(Math.max(page, 0), last);
    const shown = found.slice(page * size, (page + 1) * size);
    const range = found.length ? `${number(page * size + 1)} to ${number(page * size + shown.length)} of ` : "";
    status.textContent = `${range}${number(found.length)}${found.length === items.length ? "" : ` (${number(items.length)} in all)`}`;
    back.disabled = page === 0;
    next.disabled = page === last;
    box.replaceChildren(shown.length ? table(label, head, shown.map(row), { numeric, class: name === "partitions" ? "matrix" : null }) : h("p", {}, "Nothing."));
  }
  const restart = () => { page = 0; show(); };
  if (search) search.addEventListener("input", restart);
  if (choice) choice.addEventListener("change", restart);
  show();
  const tools = [
    search && h("div", {}, h("label", { for: search.id }, "Name contains"), search),
    choice && h("div", {}, h("label", { for: choice.id }, "Show"), choice),
    items.length > size && [back, next],
  ];
  return [tools.flat().some(Boolean) ? h("div", { class: "tools" }, tools) : null, status, box];
}

function problemList(problems) {
  if (!problems || !problems.length) return null;
  return h("div", { class: "panel wrong" }, h("ul", {}, problems.map((one) => h("li", {}, one))));
}

// Why a part of the cluster is not shown, null if it is.
function missing(part, what) {
  if (!part) return h("p", {}, `The inventory has no ${what}.`);
  if (part.error) {
    return h("div", { class: "panel wrong" }, h("p", {}, mark("bad", `${what} cannot be reached`)), h("p", {}, part.error));
  }
  return null;
}

// Kafka

function partitionState(partition, minIsr) {
  const [leader, replicas, isr] = partition;
  if (leader < 0) return 3;
  if (isr.length < Math.min(minIsr || 1, replicas.length)) return 2;
  return isr.length < replicas.length ? 1 : 0;
}
const STATES = ["in sync", "under-replicated", "below min.insync.replicas", "offline"];

function derive() {
  if (derived) return derived;
  const read = data.sizes && !data.sizes.error ? data.sizes : {};
  derived = { topics: [], totals: [0, 0, 0, 0], partitions: 0, brokers: new Map(), sizes: new Map(read.topics || []), hottest: read.hottest || [] };
  const kafka = data.kafka || {};
  const known = (id) => {
    if (!derived.brokers.has(id)) derived.brokers.set(id, { id, leaders: 0, replicas: 0, lost: 0, registered: false, disks: [] });
    return derived.brokers.get(id);
  };
  for (const id of kafka.expected || []) known(id);
  for (const one of kafka.brokers || []) Object.assign(known(one.id), one, { registered: true });
  for (const [name, partitions, minIsr] of kafka.topics || []) {
    const counts = [0, 0, 0, 0];
    for (const partition of partitions) {
      const state = partitionState(partition, minIsr);
      counts[state] += 1;
      derived.totals[state] += 1;
      const [leader, replicas, isr] = partition;
      for (const id of replicas) {
        const broker = known(id);
        broker.replicas += 1;
        if (id === leader) broker.leaders += 1;
        if (!isr.includes(id)) broker.lost += 1;
      }
    }
    derived.partitions += partitions.length;
    const sizes = derived.sizes.get(name);
    const size = sizes && sizes.reduce((total, one) => total + one, 0);
    derived.topics.push({ name, partitions, minIsr, counts, size, worst: counts.reduce((worst, amount, at) => (amount ? at : worst), 0) });
  }
  derived.named = new Map(derived.topics.map((one) => [one.name, one]));
  for (const disk of read.disks || []) known(disk.broker).disks.push(disk);
  derived.topics.sort((a, b) => b.worst - a.worst || (a.name < b.name ? -1 : 1));
  derived.ordered = [...derived.brokers.values()].sort((a, b) => (a.rack || "").localeCompare(b.rack || "") || a.id - b.id);
  return derived;
}

function stateText(counts) {
  const wrong = [3, 2, 1].filter((state) => counts[state]);
  if (!wrong.length) return mark("good", "all in sync");
  return wrong.map((state) => h("div", {}, mark(state === 1 ? "warn" : "bad", `${number(counts[state])} ${STATES[state]}`)));
}

const sizeOf = (name, index) => derive().sizes.get(name)?.[index];
const sizeText = (size) => (size === undefined ? "" : bytes(size));

const brokerTitle = (broker) => `Broker ${broker.id}${broker.rack ? `, rack ${broker.rack}` : ""}`;

function brokerState(broker) {
  if (!broker.registered) return mark("bad", "not registered");
  return broker.fenced ? mark("bad", "fenced") : mark("good", "registered");
}

// One square for each replica of a broker, those that are missing in the color of a problem. With very many replicas a
// square stands for several, and has that color if one of them is missing.
function replicaPictures() {
  const { ordered, topics } = derive();
  const squares = new Map(ordered.map((one) => [one.id, []]));
  for (const { partitions } of topics) {
    for (const [leader, replicas, isr] of partitions) {
      for (const id of replicas) squares.get(id).push(isr.includes(id) ? (id === leader ? 1 : 0) : 2);
    }
  }
  const each = Math.max(1, ...[...squares.values()].map((kinds) => Math.ceil(kinds.length / SQUARES)));
  const draw = (canvas, every) => {
    const kinds = [];
    for (let at = 0; at < every.length; at += each) kinds.push(Math.max(...every.slice(at, at + each)));
    const colors = ["--fill", "--lead", "--bad"].map((name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim());
    const width = canvas.parentElement.clientWidth - 16;
    const step = kinds.length > 1000 ? 5 : kinds.length > 200 ? 8 : 12;
    const across = Math.max(1, Math.floor(width / step));
    const ratio = window.devicePixelRatio || 1;
    const height = Math.max(1, Math.ceil(kinds.length / across)) * step;
    canvas.width = across * step * ratio;
    canvas.height = height * ratio;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    canvas.style.width = `${across * step}px`;
    canvas.style.height = `${height}px`;
    colors.forEach((color, kind) => {
      context.fillStyle = color;
      kinds.forEach((one, at) => {
        if (one === kind) context.fillRect((at % across) * step, Math.floor(at / across) * step, step - 1, step - 1);
      });
    });
  };
  const figures = ordered.map((broker) => {
    const label = `${count(broker.replicas, "replica")}, ${number(broker.leaders)} of them lead, ${number(broker.lost)} missing`;
    const canvas = h("canvas", { role: "img", "aria-label": `${brokerTitle(broker)}: ${label}`, width: "1", height: "1" });
    requestAnimationFrame(() => { if (canvas.isConnected) draw(canvas, squares.get(broker.id)); });
    return h("figure", {},
      h("figcaption", {}, h("strong", {}, brokerTitle(broker)), " ", brokerState(broker), h("br"),
        `${count(broker.replicas, "replica")}, ${number(broker.leaders)} lead, `,
        broker.lost ? mark("bad", `${number(broker.lost)} missing`) : "0 missing"),
      canvas);
  });
  return [each > 1 && h("p", { class: "quiet" }, `A square stands for ${number(each)} replicas; if one of them is missing, it shows that.`),
    h("div", { class: "brokers" }, figures)];
}

const pictureKey = () => h("ul", { class: "key" },
  h("li", {}, h("b", { class: "lead" }, "L"), "leader"), h("li", {}, h("b", { class: "sync" }, "●"), "replica in sync"),
  h("li", {}, h("b", { class: "lost" }, "✕"), "replica missing (not in sync)"));

function topicsView(name) {
  const absent = missing(data.kafka, "Kafka");
  if (absent) return ["Topics", absent];
  const { topics, partitions, totals } = derive();
  if (name !== undefined) return topicView(name);
  return ["Topics",
    h("p", {}, `${count(topics.length, "topic")}, ${count(partitions, "partition")}: `, stateText(totals)),
    h("h2", {}, "Replicas of each broker"), pictureKey(), replicaPictures(),
    h("h2", {}, "All topics"),
    listing({
      name: "topics", label: "Topics", items: topics, text: (one) => one.name,
      filters: {
        "all": () => true, "with problems": (one) => one.worst > 0,
        "without internal topics": (one) => !isInternal(one.name), "internal topics": (one) => isInternal(one.name),
      },
      head: ["Topic", "Partitions", "Replicas", "Size (one replica)", "State"], numeric: [1, 2, 3],
      row: (one) => [link(topicRoute(one.name), one.name), number(one.partitions.length),
        Math.max(0, ...one.partitions.map((partition) => partition[1].length)), sizeText(one.size), stateText(one.counts)],
    })];
}

function topicView(name) {
  const { named, ordered } = derive();
  const topic = named.get(name);
  if (!topic) return ["Topics", h("p", {}, `There is no topic ${name}.`), h("p", {}, link("topics", "All topics"))];
  const using = topic.partitions.length
    ? ordered.filter((broker) => topic.partitions.some((one) => one[1].includes(broker.id))) : [];
  const place = ([leader, replicas, isr], id) => {
    if (!replicas.includes(id)) return "";
    const [kind, sign, text] = !isr.includes(id) ? ["lost", "✕", "missing"] : id === leader ? ["lead", "L", "leader"] : ["sync", "●", "in sync"];
    return { kind, content: [h("span", { "aria-hidden": "true", title: text }, sign), h("span", { class: "unseen" }, text)] };
  };
  const items = topic.partitions.map((partition, index) => ({ partition, index, state: partitionState(partition, topic.minIsr) }));
  const shown = listing({
    name: "partitions", label: `Partitions of ${name}`, items, size: MATRIX_ROWS,
    filters: items.length > 20 ? { "all": () => true, "with problems": (one) => one.state > 0 } : null,
    head: ["Partition", ...using.map((broker) => `${broker.id}${broker.rack ? ` (${broker.rack})` : ""}`), "Size", "State"],
    row: ({ partition, index, state }) => [index, ...using.map((broker) => place(partition, broker.id)), sizeText(sizeOf(name, index)),
      state ? mark(state === 1 ? "warn" : "bad", STATES[state]) : mark("good", STATES[0])],
  });
  const groups = (data.kafka.groups || []).filter((one) => Object.hasOwn(one.lags, name));
  return [`Topic ${name}`,
    h("p", {}, link("topics", "All topics")),
    h("p", {}, `${count(topic.partitions.length, "partition")}: `, stateText(topic.counts)),
    h("h2", {}, "Partitions over brokers (racks)"), pictureKey(), shown,
    h("h2", {}, "Groups"),
    groups.length ? table("Groups that read it", ["Group", "Lag"], groups.map((one) => [groupLink(one), number(sum(one.lags[name]))]), { numeric: [1] })
      : h("p", {}, "No group has read it."),
    live ? recordsOf(topic) : null];
}

// Brokers: what they lead and hold, which disks are full, where producers write most

const onDisks = (broker, key) => (broker.disks.length ? broker.disks.reduce((total, disk) => total + disk[key], 0) : undefined);
const used = (disk) => (disk.total ? (disk.total - disk.usable) / disk.total : undefined);
const percent = (part) => (part === undefined ? "" : mark(part > 0.8 ? "warn" : "good", `${Math.round(part * 100)} %`));

function diskState(disk) {
  if (disk.failed) return mark("bad", "out of use after an error");
  return disk.cordoned ? mark("warn", "cordoned: it gets no new replicas") : mark("good", "in use");
}

// Why sizes are not shown, or not all of them.
function sizesMissing() {
  const part = data.sizes;
  if (!part) return h("p", { class: "quiet" }, "Sizes were not read.");
  return part.error ? h("div", { class: "panel wrong" }, h("p", {}, mark("bad", "sizes cannot be read")), h("p", {}, part.error)) : problemList(part.errors);
}

function hottest() {
  const { named, hottest: found } = derive();
  const seconds = (data.sizes || {}).seconds;
  if (!seconds) return null;
  const row = ([name, index, rate]) => {
    const [leader, replicas] = named.get(name)?.partitions[index] || [-1, []];
    return [link(topicRoute(name), `${name}-${index}`), leader < 0 ? "" : link(brokerRoute(leader), leader), `${bytes(rate)}/s`,
      `${bytes(rate * Math.max(0, replicas.length - 1))}/s`, sizeText(sizeOf(name, index))];
  };
  return [h("h2", {}, "Where producers write most"),
    h("p", { class: "quiet" }, `By how replicas grew in ${number(seconds)} s. Leaders send as much to each of the followers; what consumers read is not in it.`),
    found.length ? table("Busiest partitions", ["Partition", "Leader", "Written", "Sent to followers", "Size"], found.map(row), { numeric: [1, 2, 3, 4] }) : h("p", {}, "No partition grew.")];
}

function brokersView(id) {
  const absent = missing(data.kafka, "Kafka");
  if (absent) return ["Brokers", absent];
  if (id !== undefined) return brokerView(id);
  const { ordered } = derive();
  return ["Brokers", sizesMissing(),
    table("Brokers", ["Broker", "Rack", "State", "Leaders", "Replicas", "Bytes", "Fullest disk"],
      ordered.map((one) => {
        const shares = one.disks.map(used).filter((part) => part !== undefined);
        return [link(brokerRoute(one.id), one.id), one.rack || "", brokerState(one), number(one.leaders), number(one.replicas),
          sizeText(onDisks(one, "bytes")), percent(shares.length ? Math.max(...shares) : undefined)];
      }), { numeric: [3, 4, 5, 6] }),
    hottest()];
}

function brokerView(id) {
  const { ordered, topics } = derive();
  const broker = ordered.find((one) => String(one.id) === id);
  const back = h("p", {}, link("brokers", "All brokers"));
  if (!broker) return ["Brokers", h("p", {}, `There is no broker ${id}.`), back];
  const items = topics.flatMap((topic) => topic.partitions.map((partition, index) => ({ topic, partition, index, size: sizeOf(topic.name, index) })))
    .filter((one) => one.partition[1].includes(broker.id)).sort((a, b) => (b.size || 0) - (a.size || 0));
  const leads = (one) => one.partition[0] === broker.id;
  const lost = (one) => !one.partition[2].includes(broker.id);
  const role = (one) => (lost(one) ? mark("bad", "missing") : leads(one) ? "leader" : "follower");
  return [brokerTitle(broker), back, h("p", {}, brokerState(broker), ` ${count(broker.replicas, "replica")}, ${number(broker.leaders)} of them lead`),
    h("h2", {}, "Disks"), sizesMissing(),
    broker.disks.map((disk) => [h("h3", {}, disk.path),
      h("p", {}, diskState(disk), disk.total ? [" ", percent(used(disk)), ` used of ${bytes(disk.total)}`] : null,
        disk.failed ? null : `; ${count(disk.replicas, "replica")} with ${bytes(disk.bytes)}`),
      disk.largest.length ? table(`Largest replicas in ${disk.path}`, ["Partition", "Size"],
        disk.largest.map(([name, index, size]) => [link(topicRoute(name), `${name}-${index}`), bytes(size)]), { numeric: [1] }) : null]),
    h("h2", {}, "Partitions"),
    listing({
      name: "held", label: `Partitions of broker ${broker.id}`, items, text: (one) => one.topic.name,
      filters: { "all": () => true, "led by it": leads, "followed by it": (one) => !leads(one), "missing": lost },
      head: ["Partition", "Role", "Size"], numeric: [2],
      row: (one) => [link(topicRoute(one.topic.name), `${one.topic.name}-${one.index}`), role(one), sizeText(one.size)],
    })];
}

// Groups

const sum = (lags) => lags.reduce((total, one) => total + (one || 0), 0);
const groupLink = (one) => link(`groups/${encodeURIComponent(one.id)}`, one.id);
const groupLag = (one) => Object.values(one.lags).reduce((total, lags) => total + sum(lags), 0);

function groupsView(id) {
  const kafka = data.kafka;
  const absent = missing(kafka, "Kafka");
  if (absent) return ["Groups", absent];
  const groups = kafka.groups || [];
  const wrong = problemList(kafka.groups_errors);
  if (id !== undefined) {
    const group = groups.find((one) => one.id === id);
    if (!group) return ["Groups", h("p", {}, `There is no group ${id}.`), h("p", {}, link("groups", "All groups"))];
    const items = Object.entries(group.lags).flatMap(([topic, lags]) => lags.map((lag, index) => ({ topic, index, lag }))).filter((one) => one.lag !== null);
    return [`Group ${id}`, h("p", {}, link("groups", "All groups")),
      lagPicture(id),
      h("p", {}, `${group.type} group, ${group.state}, ${group.members === null ? "" : `${count(group.members, "member")}, `}${count(groupLag(group), "record")} behind`),
      listing({
        name: "lags", label: `Lag of ${id}`, items, text: (one) => one.topic,
        filters: { "all": () => true, "with lag": (one) => one.lag > 0 },
        head: ["Topic", "Partition", "Lag"], numeric: [1, 2],
        row: (one) => [link(topicRoute(one.topic), one.topic), one.index, number(one.lag)],
      })];
  }
  const items = [...groups].sort((a, b) => groupLag(b) - groupLag(a) || (a.id < b.id ? -1 : 1));
  return ["Groups", wrong,
    listing({
      name: "groups", label: "Groups", items, text: (one) => one.id,
      filters: { "all": () => true, "with lag": (one) => groupLag(one) > 0, "without members": (one) => one.members === 0 },
      head: ["Group", "Type", "State", "Members", "Topics", "Lag"], numeric: [3, 4, 5],
      row: (one) => [groupLink(one), one.type, one.state, one.members === null ? "unknown" : number(one.members), Object.keys(one.lags).length, number(groupLag(one))],
    })];
}

// Charts, which the server makes of what Prometheus has.

const RANGES = { 900: "15 minutes", 3600: "1 hour", 21600: "6 hours", 86400: "1 day", 604800: "7 days", 1209600: "14 days" };
const chosen = { seconds: "3600", host: "" };

const panelFrame = (title, ...content) => h("figure", { class: "panel chart" }, h("figcaption", {}, title), content);

// The drawing is inserted as elements: a script in it would be refused by the page's policy.
function drawn(text) {
  const picture = document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);
  for (const one of picture.querySelectorAll("text[data-time]")) {
    const time = new Date(one.dataset.time * 1000);
    const options = { hour: "2-digit", minute: "2-digit", ...(Number(chosen.seconds) > 86400 ? { month: "2-digit", day: "2-digit" } : {}) };
    one.textContent = time.toLocaleString([], options);
  }
  return picture;
}

function panelContent({ kind, series, total, svg }) {
  if (!series.length) return h("p", { class: "quiet" }, "No data.");
  const value = (one) => (one.bad ? mark("bad", one.value) : h("strong", {}, one.value));
  if (kind === "number") {
    return h("ul", { class: "legend large" }, series.map((one) => h("li", {}, series.length > 1 ? [h("span", { class: "quiet" }, one.name), " "] : null, value(one))));
  }
  return [drawn(svg),
    h("ul", { class: "legend" }, series.map((one, at) => h("li", {}, h("b", { class: `swatch line${at % 8}`, "aria-hidden": "true" }), `${one.name}: `, value(one)))),
    total > series.length ? h("p", { class: "quiet" }, `${series.length} of ${number(total)} series, those with the largest values`) : null];
}

async function fillPanel(box, query) {
  const [status, answer] = await ask(`api/chart?${new URLSearchParams({ seconds: chosen.seconds, ...query })}`);
  if (status === 401) { signIn(); return; }
  box.replaceChildren(box.firstChild, ...[status === 200 ? panelContent(answer) : mark("bad", answer.message)].flat(Infinity).filter(Boolean));
  box.removeAttribute("aria-busy");
}

function panelsOf(panels) {
  const found = panels.map(([title, query, kind]) => {
    const box = panelFrame(title, h("p", { class: "quiet" }, "Reading…"));
    if (kind === "number") box.classList.add("number");
    box.setAttribute("aria-busy", "true");
    return [box, query];
  });
  // A few at a time: there may be dozens.
  const rest = [...found];
  const work = async () => {
    while (rest.length) {
      const [box, query] = rest.shift();
      if (box.isConnected) await fillPanel(box, query);
    }
  };
  requestAnimationFrame(() => { for (let at = 0; at < 4; at += 1) work(); });
  const boxes = found.map(([box]) => box);
  const isNumber = (box) => box.classList.contains("number");
  return [h("div", { class: "charts numbers" }, boxes.filter(isNumber)), h("div", { class: "charts" }, boxes.filter((one) => !isNumber(one)))];
}

// Panels below what can be chosen for all of them; what is chosen holds for every view.
function charts(options, panels) {
  const box = h("div", {});
  const fill = () => box.replaceChildren(...panelsOf(panels()));
  const choice = ([label, name, values]) => {
    const select = h("select", { id: `chart-${name}`, onchange: () => { chosen[name] = select.value; fill(); } },
      Object.entries(values).map(([value, text]) => h("option", { value, selected: value === chosen[name] }, text)));
    return h("div", {}, h("label", { for: select.id }, label), select);
  };
  fill();
  return [h("div", { class: "tools" }, options.map(choice)), box];
}

const TIME = ["Time", "seconds", RANGES];

function metricsView(name) {
  const views = data.views || [];
  const view = name === undefined ? views[0] : views.find((one) => one.name === name);
  const links = h("ul", { class: "key" }, views.map((one) => h("li", {}, one === view ? h("strong", {}, one.title) : link(`metrics/${one.name}`, one.title))));
  if (!view) return ["Metrics", links, h("p", {}, views.length ? `There is no view ${name}.` : "There are no metrics.")];
  const hosts = Object.fromEntries([["", "all hosts"], ...data.hosts.map((one) => [one.name, one.name])]);
  const query = (panel) => ({ view: view.name, panel: panel.title, ...(view.hosts ? { host: chosen.host } : {}) });
  return [`Metrics: ${view.title}`, links,
    charts(view.hosts ? [TIME, ["Host", "host", hosts]] : [TIME], () => view.panels.map((one) => [one.title, query(one), one.kind]))];
}

const lagPicture = (id) => (live ? charts([TIME], () => [["Lag in records, by topic", { group: id }]]) : null);

// Records of a topic, which the server reads with the user's own credentials.
function recordsOf(topic) {
  const partition = h("input", { id: "records-partition", type: "number", min: "0", max: String(topic.partitions.length - 1), value: "0", required: true });
  const offset = h("input", { id: "records-offset", type: "text", inputmode: "numeric", pattern: "[0-9]*", autocomplete: "off" });
  const found = h("div", { role: "status" });
  const field = (label, input) => h("div", {}, h("label", { for: input.id }, label), input);
  const shown = (value) => {
    if (value === null) return h("span", { class: "quiet" }, "none");
    const notes = [value.schema === undefined ? null : `schema ${value.schema}${value.undecoded ? `: ${value.undecoded}` : ""}`,
      value.hex === undefined ? null : "not text", value.cut ? `the beginning of ${number(value.size)} bytes` : null].filter(Boolean);
    return [h("pre", {}, value.hex === undefined ? value.text : value.hex), notes.length ? h("span", { class: "quiet" }, notes.join(", ")) : null];
  };
  const submit = async (event) => {
    event.preventDefault();
    found.replaceChildren(h("p", {}, "Reading…"));
    const query = new URLSearchParams({ topic: topic.name, partition: partition.value, offset: offset.value });
    const [status, answer] = await ask(`api/records?${query}`);
    if (status === 401) { signIn(); return; }
    if (status !== 200) { found.replaceChildren(h("div", { class: "panel wrong" }, answer.message)); return; }
    found.replaceChildren(h("p", {}, `Offsets ${number(answer.first)} to ${number(answer.end)}; ${count(answer.records.length, "record")} shown`),
      answer.problem ? h("div", { class: "panel wrong" }, answer.problem) : "",
      table("Records", ["Offset", "Time", "Key", "Value"], answer.records.map((one) => [number(one.offset), new Date(one.timestamp).toLocaleString(),
        shown(one.key), [shown(one.value), one.headers.map(([name, value]) => h("div", { class: "quiet" }, `${name}: `, shown(value)))]])));
  };
  return [h("h2", {}, "Records"),
    h("form", { class: "tools", onsubmit: submit }, field("Partition", partition), field("From offset (empty: the last records)", offset),
      h("button", { type: "submit" }, "Show records")), found];
}

function alertsView() {
  const part = data.alerts;
  const absent = missing(part, "monitoring");
  if (absent) return ["Alerts", absent];
  if (!part.alerts.length) return ["Alerts", h("p", {}, mark("good", "No alert fires"))];
  return ["Alerts", listing({
    name: "alerts", label: "Alerts", items: part.alerts, text: (one) => `${one.name} ${one.where}`,
    head: ["Alert", "State", "Severity", "Where", "Since", "Summary"],
    row: (one) => [one.name, mark(one.state === "firing" ? "bad" : "warn", one.state), one.severity, one.where, new Date(one.since).toLocaleString(), one.summary],
  })];
}

// The other views

function quorumView() {
  const title = "Quorum";
  const kafka = data.kafka;
  const found = [];
  if (data.zookeeper) {
    found.push(h("h2", {}, "ZooKeeper"), missing(data.zookeeper, "ZooKeeper") || [
      problemList(data.zookeeper.problems),
      table("Members of ZooKeeper", ["Member", "Mode"], Object.entries(data.zookeeper.modes || {}))]);
  }
  const absent = missing(kafka, "Kafka");
  if (absent) return [title, absent, ...found];
  if (kafka.quorum_error) found.unshift(h("div", { class: "panel wrong" }, mark("bad", "The quorum does not answer"), h("p", {}, kafka.quorum_error)));
  const features = Object.entries(kafka.features || {});
  if (kafka.quorum) {
    const { leader, epoch, voters, observers } = kafka.quorum;
    const row = (role) => (one) => [one.id, one.id === leader ? `${role}, leader` : role, number(one.lag),
      one.behind_ms === null ? "unknown" : `${number(one.behind_ms)} ms`];
    found.unshift(h("p", {}, leader < 0 ? mark("bad", "no controller is active") : `Active controller ${leader}, epoch ${epoch}`),
      table("Replicas of the metadata", ["Node", "Role", "Records behind", "Time behind"],
        [...voters.map(row("voter")), ...observers.map(row("observer"))], { numeric: [2, 3] }));
  } else if (!kafka.quorum_error) {
    found.unshift(h("p", {}, `Kafka keeps its metadata in ZooKeeper; the active controller is broker ${kafka.controller}.`));
  }
  if (features.length) {
    found.push(h("h2", {}, "Finalized features"), table("Finalized features", ["Feature", "Level"], features, { numeric: [1] }));
  }
  return [title, ...found];
}

function hostsView() {
  const state = (host) => (host.units ? units(host) : host.answers ? mark("good", "answers") : null);
  const units = (host) => (host.units || []).map((one) => h("div", {}, mark(one.active === "active" ? "good" : "bad", `${one.name} ${one.active}`)));
  const disks = (host) => (host.disks || []).map((one) => h("div", {}, `${one.path}: ${bytes(one.free)} of ${bytes(one.total)} free`));
  return ["Hosts", listing({
    name: "hosts", label: "Hosts", items: data.hosts || [], text: (one) => one.name,
    filters: {
      "all": () => true,
      "with problems": (one) => one.error || (one.units || []).some((unit) => unit.active !== "active"),
    },
    head: ["Host", "Groups", "Versions", "Services", "Data"],
    row: (host) => [[host.name, host.address !== host.name && h("div", { class: "quiet" }, host.address), host.rack && h("div", { class: "quiet" }, `rack ${host.rack}`)],
      host.groups.join(", "), host.products.map((one) => h("div", {}, `${one.title} ${one.version}`)),
      host.error ? [mark("bad", "cannot be reached"), h("div", { class: "quiet" }, host.error)]
        : [state(host), (host.pending || []).map((unit) => h("div", {}, mark("warn", `${unit} waits for a restart`)))],
      disks(host)],
  })];
}

function connectView() {
  const part = data.connect;
  const absent = missing(part, "Kafka Connect");
  if (absent) return ["Connect", absent];
  const kind = (state) => mark(state === "RUNNING" ? "good" : state === "FAILED" ? "bad" : "warn", state);
  return ["Connect", problemList(part.problems),
    h("p", {}, `Workers that are ready: ${(part.workers || []).join(", ") || "none"}`),
    listing({
      name: "connectors", label: "Connectors", items: Object.entries(part.states || {}), text: (one) => one[0],
      head: ["Connector", "State", "Tasks"],
      row: ([name, one]) => [name, kind(one.connector),
        Object.entries(one.tasks).map(([task, state]) => h("div", {}, `${task} `, kind(state)))],
    })];
}

function schemasView() {
  const part = data.registry;
  const absent = missing(part, "schema registry");
  if (absent) return ["Schemas", absent];
  return ["Schemas", problemList(part.problems),
    h("p", {}, `Instances that answer: ${(part.instances || []).join(", ") || "none"}`),
    listing({ name: "subjects", label: "Subjects", items: part.subjects || [], text: (one) => one, head: ["Subject"], row: (one) => [one] })];
}

const rate = (value) => (value === undefined ? "" : number(Math.round(value * 10) / 10));
const seconds = (value) => (value === undefined ? "" : `${rate(value)} s`);
const whole = (value) => (value === undefined ? "" : number(Math.round(value)));

function sparkView() {
  const part = data.spark;
  const absent = missing(part, "Spark");
  if (absent) return ["Spark", absent];
  const jobs = data.jobs;
  return ["Spark", problemList(part.problems),
    h("p", {}, `Active master: ${part.active || "none"}; standing by: ${(part.standby || []).join(", ") || "none"}`),
    live ? h("p", {}, link("metrics/streams", "Charts of the streams")) : null,
    h("h2", {}, "Workers"),
    (part.nodes || []).length ? table("Workers", ["Worker", "State", "Cores used", "Memory used"],
      part.nodes.map((one) => [one.host, mark(one.state === "ALIVE" ? "good" : "bad", one.state), `${one.cores_used} of ${one.cores}`,
        `${bytes(one.memory_used * 1048576)} of ${bytes(one.memory * 1048576)}`]), { numeric: [2, 3] }) : h("p", {}, "None."),
    h("h2", {}, "Applications"),
    (part.applications || []).length ? table("Applications", ["Application", "State", "Cores", "Started"],
      part.applications.map((one) => [one.name, one.state, one.cores, new Date(one.started).toLocaleString()]), { numeric: [2] }) : h("p", {}, "None."),
    part.streams && [h("h2", {}, "Streams"), part.streams.length ? table("Streaming queries",
      ["Application", "Query", "Rows in per second", "Rows processed per second", "Last micro-batch", "Rows of state"],
      part.streams.map((one) => [one.application, one.query, rate(one.input), rate(one.processed), seconds(one.batch), whole(one.state)]),
      { numeric: [2, 3, 4, 5] }) : h("p", {}, "None.")],
    jobs && [h("h2", {}, "Jobs"), jobs.error ? missing(jobs, "Jobs") : [problemList(jobs.problems),
      table("Jobs", ["Job", "State", "Restarts", "Last micro-batch"], Object.entries(jobs.jobs).map(([name, one]) => [name,
        one.late ? mark("bad", one.state ? `${one.state}, late` : "late") : mark(one.state === "failed" ? "bad" : "good", one.state || "in time"),
        one.restarts === undefined ? "" : number(one.restarts),
        one.checkpoint_age === null ? "" : `${age(one.checkpoint_age)} before this page`]), { numeric: [2] })]]];
}

function operationsView() {
  const absent = missing(data.operations || {}, "Prometheus");
  if (absent) return ["Operations", absent];
  const found = data.operations || [];
  if (!found.length) return ["Operations", h("p", {}, "No host has a record of a rolling operation.")];
  const kinds = { finished: "good", running: "warn", stopped: "bad" };
  return ["Operations", found.map((one) => [
    h("h2", {}, `${one.what || "operation"} `, mark(kinds[one.state] || "warn", one.state)),
    table("Record of the operation", ["", ""], [
      ["Started", `${one.started} by ${one.who}`], ["Last written", `${age(one.age)} before this page`],
      ...(one.command ? [["Command", h("code", {}, one.command)]] : []),
      ["Verdict of the ledger", one.verdict ? mark({ PASS: "good", FAIL: "bad" }[one.verdict] || "warn", one.verdict) : "none: it has no run with prove=true"],
      ["Plan", (one.plan || []).join(", ") || "none"], ["Done", (one.done || []).join(", ") || "none"],
      ["Left", (one.left || []).join(", ") || "none"], ...(one.reason ? [["Reason", one.reason]] : []), ["Kept on", one.hosts.join(", ")],
    ])])];
}

function certificatesView() {
  const absent = missing(data.certificates || {}, "Prometheus");
  if (absent) return ["Certificates", absent];
  const items = [...(data.certificates || [])].sort((a, b) => (a.wrong ? -1 : a.days) - (b.wrong ? -1 : b.days));
  if (!items.length) return ["Certificates", h("p", {}, "No service has a certificate that could be read.")];
  return ["Certificates", listing({
    name: "certificates", label: "Certificates", items, text: (one) => `${one.host} ${one.place}`,
    head: ["Host", "Certificate", "Valid for"],
    row: (one) => [one.host, one.place, one.wrong ? mark("bad", one.wrong)
      : mark(one.days < 2 ? "bad" : one.days < 30 ? "warn" : "good", count(Math.floor(one.days), "day"))],
  })];
}

function parts() {
  const kafka = data.kafka;
  const { totals, partitions, topics } = derive();
  const rows = [
    ["quorum", "Kafka", kafka, () => `${count((kafka.brokers || []).length, "broker")}, ${count(topics.length, "topic")}, ${count(partitions, "partition")}, ${number(totals[3])} offline, ${number(totals[1] + totals[2])} under-replicated`],
    ["quorum", "ZooKeeper", data.zookeeper, () => count(Object.keys(data.zookeeper.modes || {}).length, "member")],
    ["connect", "Kafka Connect", data.connect, () => `${count((data.connect.workers || []).length, "worker")}, ${count(Object.keys(data.connect.states || {}).length, "connector")}`],
    ["schemas", "Schema registry", data.registry, () => `${count((data.registry.instances || []).length, "instance")}, ${count((data.registry.subjects || []).length, "subject")}`],
    ["spark", "Spark", data.spark, () => `${count((data.spark.workers || []).length, "worker")}, ${count((data.spark.applications || []).length, "application")}`],
    ["spark", "Spark jobs", data.jobs, () => count(Object.keys(data.jobs.jobs || {}).length, "job")],
    ["hosts", "HDFS", data.hdfs, () => `${count((data.hdfs.datanodes || []).length, "DataNode")}, ${data.hdfs.free_percent} % free`],
    ["hosts", "PostgreSQL", data.postgresql, () => "its server and replication slots"],
  ];
  return rows.filter((one) => one[2]);
}

const list = (part) => (Array.isArray(part) ? part : []);

function hostsState(hosts, lost) {
  if (lost.length) return mark("bad", `${number(lost.length)} cannot be reached`);
  return hosts.every((one) => one.units || one.answers) ? mark("good", "all answer") : mark("warn", "unknown");
}

function overviewView() {
  const hosts = data.hosts || [];
  const lost = hosts.filter((one) => one.error);
  const firing = ((data.alerts || {}).alerts || []).filter((one) => one.state === "firing");
  const state = (part) => (part.error ? mark("bad", "cannot be reached") : (part.problems || []).length ? mark("bad", "not healthy") : mark("good", "healthy"));
  const all = parts();
  const problems = [
    ...firing.map((one) => `alert ${one.name}${one.where ? ` of ${one.where}` : ""} fires: ${one.summary}`),
    ...lost.map((one) => `host ${one.name} cannot be reached: ${one.error}`),
    ...(data.alerts?.error ? [`alerts and metrics cannot be read: ${data.alerts.error}`] : []),
    ...all.flatMap(([, title, part]) => (part.error ? [`${title} cannot be reached: ${part.error}`] : (part.problems || []).map((one) => `${title}: ${one}`))),
    ...(data.kafka && !data.kafka.error && data.kafka.quorum_error ? [`Kafka: the quorum does not answer: ${data.kafka.quorum_error}`] : []),
    ...list(data.certificates).filter((one) => one.wrong || one.days < 30).map((one) => `certificate ${one.place} on ${one.host} ${one.wrong || `ends in ${count(Math.floor(one.days), "day")}`}`),
    ...list(data.operations).slice(0, live ? 1 : undefined).filter((one) => one.state === "stopped").map((one) => `${one.what} stopped: ${one.reason}`),
  ];
  return ["Overview",
    problems.length ? [h("p", {}, mark("bad", count(problems.length, "problem"))), problemList(problems)] : h("p", {}, mark("good", "No problem was found")),
    h("h2", {}, "Parts"),
    table("Parts of the cluster", ["Part", "State", "Contents"], [
      [link("hosts", "Hosts"), hostsState(hosts, lost), count(hosts.length, "host")],
      ...all.map(([view, title, part, contents]) => [link(view, title), state(part), part.error ? "" : contents()])]),
    data.kafka && !data.kafka.error ? [h("h2", {}, "Brokers"),
      table("Brokers", ["Broker", "Address", "Rack", "State", "Leaders", "Replicas", "Missing"],
        derive().ordered.map((one) => [link(brokerRoute(one.id), one.id), one.registered ? `${one.host}:${one.port}` : "", one.rack || "", brokerState(one), number(one.leaders), number(one.replicas),
          one.lost ? mark("bad", number(one.lost)) : "0"]), { numeric: [4, 5, 6] }),
      h("p", { class: "quiet" }, `Cluster ${data.kafka.cluster_id}`)] : null];
}

const VIEWS = {
  alerts: alertsView, metrics: metricsView,
  overview: overviewView, hosts: hostsView, topics: topicsView, brokers: brokersView, groups: groupsView, quorum: quorumView, connect: connectView,
  schemas: schemasView, spark: sparkView, operations: operationsView, certificates: certificatesView,
};

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

function show(moveFocus) {
  const [view, ...rest] = window.location.hash.slice(1).split("/");
  const known = Object.hasOwn(VIEWS, view) ? view : "overview";
  const unknown = view && known !== view;
  const [title, ...content] = VIEWS[known](rest.length ? decoded(rest.join("/")) : undefined);
  const heading = h("h1", { tabindex: "-1" }, title);
  const main = document.getElementById("main");
  main.replaceChildren(...[heading, unknown && h("p", {}, "There is no such view."), ...content].flat(Infinity).filter(Boolean));
  for (const one of document.querySelectorAll("#views a")) {
    if (one.getAttribute("href") === `#${known}`) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
  document.title = `${title} - ${data.name || "Millrace"}`;
  if (moveFocus) { window.scrollTo(0, 0); heading.focus(); }
}

function use(snapshot) {
  data = snapshot;
  derived = null;
  document.getElementById("name").textContent = data.name || "Millrace";
  document.getElementById("made").textContent = data.made ? `as of ${new Date(data.made * 1000).toLocaleString()}` : "";
}

function navigation() {
  const shown = Object.entries(data.alerts ? { overview: "Overview", alerts: "Alerts", metrics: "Metrics", ...TITLES } : TITLES);
  document.getElementById("views").replaceChildren(...shown.map(([view, title]) => h("li", {}, link(view, title))));
}

// With a server: the snapshot comes from it, for users who have signed in.

async function ask(path, body) {
  try {
    const answer = await fetch(path, body === undefined ? {} : {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
    });
    return [answer.status, await answer.json()];
  } catch {
    return [0, { message: "The console does not answer." }];
  }
}

function signIn(message) {
  data = {};
  document.getElementById("views").replaceChildren();
  document.getElementById("made").replaceChildren();
  const user = h("input", { id: "user", autocomplete: "username", autocapitalize: "none", spellcheck: "false", required: true });
  const password = h("input", { id: "password", type: "password", autocomplete: "current-password", required: true });
  const status = h("p", { role: "alert", class: "bad" }, message || "");
  const button = h("button", { type: "submit" }, "Sign in");
  const submit = async (event) => {
    event.preventDefault();
    button.disabled = true;
    status.textContent = "";
    const [code, answer] = await ask("api/sign-in", { user: user.value, password: password.value });
    button.disabled = false;
    if (code === 200) { await load(true); return; }
    status.textContent = answer.message;
    password.value = "";
    password.focus();
  };
  document.title = "Sign in";
  document.getElementById("main").replaceChildren(h("h1", {}, "Sign in"),
    h("p", {}, "With your name and password for Kafka, or those of a user of this console."),
    h("form", { class: "sign-in", onsubmit: submit }, h("label", { for: "user" }, "Name"), user, h("label", { for: "password" }, "Password"), password, button),
    status);
  user.focus();
}

async function load(moveFocus) {
  const [status, answer] = await ask("api/snapshot");
  if (status === 401) { signIn(); return; }
  if (status !== 200) {
    document.getElementById("made").replaceChildren(mark("bad", answer.message), " ", refreshButton());
    return;
  }
  use(answer);
  navigation();
  const leave = async () => { await ask("api/sign-out", {}); signIn(); };
  document.getElementById("made").append(" ", refreshButton(), " ", h("button", { type: "button", onclick: leave }, "Sign out"));
  show(moveFocus);
}

const refreshButton = () => h("button", { type: "button", id: "refresh", onclick: async () => { await load(false); document.getElementById("refresh")?.focus(); } }, "Refresh");

function start() {
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the fragment of the address is the view
    document.getElementById("main").focus();
  });
  const signedIn = () => !live || data.made;
  window.addEventListener("hashchange", () => { if (signedIn()) show(true); });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (signedIn()) show(false); });
  const snapshot = JSON.parse(document.getElementById("snapshot").textContent);
  if (snapshot) {
    use(snapshot);
    navigation();
    show(false);
  } else {
    live = true;
    load(false);
  }
}

start();
