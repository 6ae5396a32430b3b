// The report's page: tables and charts from the JSON of the run.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const page = document.getElementById("page");
  page.textContent = "";
  const metrics = {
    server_cpu_per_handshake_ns: { name: "server CPU per handshake", short: "server CPU", lower: true, show: time },
    handshakes_per_s: { name: "handshakes per second", short: "rate", lower: false, show: (v) => digits(v) + "/s" },
    total_p50_ns: { name: "latency p50", short: "p50", lower: true, show: time },
    total_p99_ns: { name: "latency p99", short: "p99", lower: true, show: time },
    visit_ns: { name: "first visit", short: "visit", lower: true, show: time },
  };
  const cells = data.cells.filter((c) => c.status === "measured");
  const factors = data.plan.factors.filter((f) => f.levels.length > 1);
  const seen = Object.keys(metrics).filter((m) => cells.some((c) => c[m] && c[m].n > 0));

  // ---- words and numbers
  function digits(v) {
    if (v === null || v === undefined || !isFinite(v)) return "?";
    const a = Math.abs(v);
    if (a >= 99.95) return Math.round(v).toLocaleString("en-US");
    if (a >= 9.995) return v.toFixed(1);
    if (a >= 0.9995) return v.toFixed(2);
    return a === 0 ? "0" : v.toPrecision(3);
  }
  function time(ns) {
    if (ns === null || ns === undefined || !isFinite(ns)) return "?";
    const a = Math.abs(ns);
    if (a >= 0.9995e9) return digits(ns / 1e9) + " s";
    if (a >= 0.9995e6) return digits(ns / 1e6) + " ms";
    if (a >= 0.9995e3) return digits(ns / 1e3) + " µs";
    return digits(ns) + " ns";
  }
  const count = (v) => (Number.isInteger(v) ? v.toLocaleString("en-US") : digits(v));
  const ratio = (v) => (v < 10 ? v.toFixed(3) : digits(v));
  const percent = (f) => (f === 0 || f === 1 ? 100 * f : (100 * f).toFixed(f > 0.1 && f < 0.99 ? 1 : 2)) + "%";
  const bounds = (e, show) => (e && e.low !== null ? show(e.low) + " to " + show(e.high) : "");
  const p = (v) => (v < 0.001 ? "< 0.001" : v.toFixed(3));

  // ---- the page's elements
  function el(tag, attributes, ...children) {
    const e = document.createElement(tag);
    for (const [k, v] of Object.entries(attributes || {})) {
      if (k === "class") e.className = v;
      else if (k.startsWith("on")) e[k] = v;
      else e.setAttribute(k, v);
    }
    for (const c of children.flat(Infinity)) if (c !== null && c !== undefined) e.append(c);
    return e;
  }
  function section(title, note, ...controls) {
    const s = el("section", {}, el("div", { class: "head" }, el("h2", {}, title), el("div", {}, controls)));
    if (note) s.append(el("p", { class: "faint" }, note));
    page.append(s);
    return s;
  }
  // table makes a table of rows; a column is {head, of, n, value}: value is what
  // the CSV gets.
  // The button for it stands in the head of the section once.
  function table(into, name, columns, rows, classOf, place, all) {
    const body = rows.map((r) => el("tr", { class: classOf ? classOf(r) : "" }, columns.map((c) => {
      const v = c.of(r);
      return el("td", { class: (c.n ? "n " : "") + (c.cls ? c.cls(r) : "") }, v instanceof Array ? v : String(v));
    })));
    (place || into).append(el("div", { class: "scroll" }, el("table", {},
      el("thead", {}, el("tr", {}, columns.map((c) => el("th", { class: c.n ? "n" : "", scope: "col" }, c.head)))), el("tbody", {}, body))));
    const text = () => [columns.flatMap((c) => (c.csv ? c.csv.map((x) => x[0]) : [c.head])),
      ...(all || rows).map((r) => columns.flatMap((c) => (c.csv ? c.csv.map((x) => x[1](r)) : [c.value ? c.value(r) : c.of(r)])))]
      .map((line) => line.map(quote).join(",")).join("\r\n") + "\r\n";
    const head = into.querySelector(".head > div");
    if (!head.querySelector(".csv")) head.append(el("button", { type: "button", class: "csv", title: "download this table", onclick: () => save(`${data.plan.name}-${name}.csv`, text()) }, "CSV"));
  }
  function quote(v) {
    const s = v === null || v === undefined ? "" : String(v);
    return /[",\r\n]/.test(s) ? '"' + s.replaceAll('"', '""') + '"' : s;
  }
  function save(name, text) {
    const link = el("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  const withInterval = (e, show) => [show(e.median), el("span", { class: "i" }, bounds(e, show))];

  // ---- charts: drawn again when colours or width change
  const charts = [];
  function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim(); }
  const palette = () => matchMedia("(prefers-color-scheme: dark)").matches && !printing
    ? ["#6cb2f2", "#f0995a", "#7bd0a3", "#d59cf0", "#e8d06a", "#ef8a9d", "#8fb3bd", "#b9c46c", "#c7a27c", "#9aa6b2"]
    : ["#1f6fbf", "#c25a12", "#2c8a5a", "#8a45b5", "#a58a10", "#c23a55", "#40707d", "#6f7d1e", "#8a5f35", "#5d6876"];
  let printing = false;
  function chart(into, height, option) {
    const box = el("div", { class: "chart", style: `height:${height}px` });
    into.append(box);
    const c = { box, option, title: into.querySelector("h2").textContent, drawn: echarts.init(box, null, { renderer: "svg", width: box.clientWidth || 800, height }) };
    charts.push(c);
    draw(c);
    return c;
  }
  function draw(c) {
    const narrow = c.box.clientWidth < 560;
    const ink = colour("ink"), faint = colour("faint"), line = colour("line");
    const axis = { axisLabel: { color: faint }, axisLine: { lineStyle: { color: line } }, splitLine: { lineStyle: { color: line } }, nameTextStyle: { color: faint } };
    const option = c.option({ narrow, ink, faint, line, axis, palette: palette() });
    option.animation = false;
    option.color = option.color || palette();
    option.textStyle = { color: ink, fontFamily: getComputedStyle(document.body).fontFamily };
    option.aria = { enabled: true, label: { description: c.title + ", drawn. The figures are in the tables of this page." } };
    if (option.tooltip) Object.assign(option.tooltip, { backgroundColor: colour("panel"), borderColor: line, textStyle: { color: ink, fontSize: 12.5 }, confine: true });
    c.drawn.setOption(option, true);
  }
  function redraw() {
    for (const c of charts) { c.drawn.resize({ width: c.box.clientWidth || 720 }); draw(c); }
  }
  addEventListener("resize", redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("beforeprint", () => { printing = true; redraw(); });
  addEventListener("afterprint", () => { printing = false; redraw(); });
  function choice(label, options, change) {
    return el("select", { "aria-label": label, onchange: (e) => change(e.target.value) }, options.map(([v, text]) => el("option", { value: v }, text)));
  }
  const levelsOf = (c, except) => factors.filter((f) => f.name !== except).map((f) => c.factors[f.name]).join(", ");
  const shortName = (c) => factors.map((f) => c.factors[f.name]).join(", ") || c.id;
  // A legend of many names gets its lines above the grid.
  function legend(o, names, width) {
    const perLine = Math.max(1, Math.floor(width / (Math.max(...names.map((n) => n.length)) * 7 + 50)));
    const lines = Math.ceil(names.length / perLine);
    return { option: { data: names, textStyle: { color: o.faint }, top: 0, left: 0, icon: "roundRect", itemWidth: 14, itemHeight: 8 }, top: lines * 24 + 16 };
  }

  // ---- first screen: what, where, and what to know before
  page.append(el("h1", {}, `${data.plan.title}`));
  if (data.plan.question) page.append(el("p", {}, data.plan.question));
  page.append(el("p", { class: "faint" }, data.place));
  const e = data.environment;
  const facts = [
    ["Fit to measure", e.schema ? (e.fit ? "yes" : "no, see the notes") : "not judged"],
    ["CPU", `${e.cpu}, ${e.cpus} CPUs`], ["CPU features", e.features.join(", ")], ["System", `${e.kernel}, ${e.arch}`],
    ["Frequency", e.frequency_max_hz ? `${digits(e.frequency_hz / 1e9)} of ${digits(e.frequency_max_hz / 1e9)} GHz, governor ${e.governor}` : "not shown by the kernel"], ["Clock", e.clock_source || "not seen"],
    ["Steal", e.steal_percent === null ? "not seen" : `${e.steal_percent.toFixed(1)}% in the middle turn`],
    ["Virtual", e.hypervisor || "no"], ["Memory", digits(e.memory_bytes / 2 ** 30) + " GiB"],
    ["Software", [...e.software.map((s) => `${s.name} ${s.version}${s.library ? " with " + s.library : ""}`), e.go_version].join("; ")],
    ["Measured", `${data.started.slice(0, 19).replace("T", " ")}, ${data.rounds} of ${data.plan.rounds} rounds`],
  ];
  page.append(el("div", { class: "first" },
    el("div", { class: "box warn" }, el("h2", {}, "Before you read the figures"),
      data.caveats.length ? el("ul", {}, data.caveats.map((c) => el("li", {}, c))) : el("p", {}, "Nothing stands out."),
      data.plan.published ? [el("h2", { style: "margin-top:10px" }, "Published"), el("p", {}, data.plan.published)] : null),
    el("div", { class: "box" }, el("h2", {}, "Environment"), el("dl", {}, facts.map(([k, v]) => [el("dt", {}, k), el("dd", {}, v)])))));

  const says = (x, metric) => x.verdict === "higher" || x.verdict === "lower"
    ? ((x.verdict === "lower") === metrics[metric].lower ? "good" : "bad") : "none";

  effects();
  tableOfCells();
  heatMap();
  contributions();
  interactions();
  latency();
  saturation();
  course();
  parts();
  machine();
  waterfall();
  details();
  page.append(el("footer", {}, "Made by Shakedown. Charts by Apache ECharts, Apache License 2.0. This page needs no network."));
  redraw(); // a scroll bar may have come since the first chart was drawn

  function effects() {
    if (!data.effects.length) return;
    let metric = seen.find((m) => data.effects.some((x) => x.metric === m));
    let given = false;
    const s = section("Effects", "The ratio of a level to the first level of its factor, paired within rounds, with its 95% interval. Left of 1: less, right of 1: more. Blue is better, orange worse, grey no difference detected.",
      choice("metric", seen.filter((m) => data.effects.some((x) => x.metric === m)).map((m) => [m, metrics[m].name]), (v) => { metric = v; update(); }), " ",
      el("button", { type: "button", onclick: (ev) => { given = !given; ev.target.textContent = given ? "main effects" : "given each level"; update(); } }, "given each level"), " ");
    const rows = () => data.effects.filter((x) => x.metric === metric && (given || !x.given));
    const label = (x) => (x.given ? x.given : `${x.factor}: ${x.from} → ${x.to}`);
    const c = chart(s, 300, (o) => {
      const list = rows().slice().reverse();
      const left = o.narrow ? 130 : 300;
      const values = list.flatMap((x) => [x.ratio, x.low, x.high]).filter((v) => v > 0);
      const low = Math.min(1, ...values), high = Math.max(1, ...values), margin = Math.max(1.03, Math.pow(high / low, 0.06));
      return {
        grid: { left, right: 24, top: 10, bottom: 34 },
        tooltip: { formatter: (q) => { const x = list[q.dataIndex]; return `${label(x)}<br>ratio <b>${ratio(x.ratio)}</b> (${x.low === null ? "no interval" : ratio(x.low) + " to " + ratio(x.high)})<br>p ${p(x.p)}, ${x.rounds} rounds: ${x.verdict}`; } },
        xAxis: { type: high / low > 6 ? "log" : "value", logBase: 2, min: low / margin, max: high * margin, ...o.axis, axisLabel: { color: o.faint, showMinLabel: false, showMaxLabel: false, formatter: (v) => digits(v), hideOverlap: true } },
        yAxis: { type: "category", data: list.map(label), ...o.axis, axisLabel: { color: o.ink, width: left - 14, overflow: "break", fontSize: 12, lineHeight: 14, interval: 0 }, axisTick: { show: false } },
        series: [
          { type: "custom", itemStyle: {}, data: list.map((x, i) => [x.low ?? x.ratio, x.high ?? x.ratio, i]), encode: { x: [0, 1], y: 2 },
            renderItem: (_, api) => {
              const i = api.value(2), a = api.coord([api.value(0), i]), b = api.coord([api.value(1), i]), col = colour(says(list[i], metric));
              const stroke = { stroke: col, lineWidth: 2, fill: "none" };
              return { type: "group", children: [
                { type: "line", shape: { x1: a[0], y1: a[1], x2: b[0], y2: b[1] }, style: stroke },
                { type: "line", shape: { x1: a[0], y1: a[1] - 5, x2: a[0], y2: a[1] + 5 }, style: stroke },
                { type: "line", shape: { x1: b[0], y1: b[1] - 5, x2: b[0], y2: b[1] + 5 }, style: stroke }] };
            } },
          { type: "scatter", symbolSize: 10, data: list.map((x, i) => ({ value: [x.ratio, i], itemStyle: { color: colour(says(x, metric)) } })),
            markLine: { silent: true, symbol: "none", label: { show: false }, lineStyle: { color: o.faint, type: "solid" }, data: [{ xAxis: 1 }] } },
        ],
      };
    });
    const holder = el("div");
    s.append(holder);
    function update() {
      const h = Math.max(130, rows().length * 30 + 54);
      c.box.style.height = h + "px";
      c.drawn.resize({ height: h });
      draw(c);
      holder.textContent = "";
      table(s, "effects", columns, data.effects.filter((x) => x.metric === metric), (x) => (x.given ? "" : "main"), holder, data.effects);
    }
    const columns = [
      { head: "effect", of: (x) => label(x), value: (x) => `${x.factor}: ${x.from} -> ${x.to}`, cls: (x) => (x.given ? "given" : "") },
      { head: "given", of: (x) => (x.given ? "" : "all others"), value: (x) => x.given },
      { head: "metric", of: (x) => metrics[x.metric].short, value: (x) => x.metric },
      { head: "ratio", n: true, of: (x) => ratio(x.ratio), value: (x) => x.ratio },
      { head: "95% interval", n: true, of: (x) => (x.low === null ? "–" : ratio(x.low) + " to " + ratio(x.high)), csv: [["low", (x) => x.low], ["high", (x) => x.high]] },
      { head: "p", n: true, of: (x) => p(x.p), value: (x) => x.p },
      { head: "rounds", n: true, of: (x) => x.rounds },
      { head: "verdict", of: (x) => x.verdict, cls: (x) => says(x, x.metric) },
    ];
    update();
    s.classList.add("long");
  }

  function tableOfCells() {
    const s = section("Cells", "Medians over rounds, below them the 95% interval. Latency counts from the planned instant until the handshake is complete.");
    const estimate = (head, key, show) => ({ head, n: true, of: (c) => (c[key] && c[key].n ? withInterval(c[key], show) : "–"),
      csv: [[key, (c) => c[key].median], [key + "_low", (c) => c[key].low], [key + "_high", (c) => c[key].high]] });
    const columns = [{ head: "cell", of: (c) => c.id }, ...factors.map((f) => ({ head: f.name, of: (c) => c.factors[f.name] })),
      { head: "status", of: (c) => c.status, csv: [["status", (c) => c.status], ["reason", (c) => c.reason || ""]], cls: (c) => (c.status === "measured" ? "" : "bad") },
      estimate("server CPU", "server_cpu_per_handshake_ns", time), estimate("rate", "handshakes_per_s", (v) => digits(v) + "/s"),
      estimate("p50", "total_p50_ns", time), estimate("p99", "total_p99_ns", time)];
    if (seen.includes("visit_ns")) columns.push(estimate("first visit", "visit_ns", time));
    columns.push(
      { head: "resumed", n: true, of: (c) => (c.resumption ? [percent(c.resumption.k / c.resumption.n), el("span", { class: "i" }, percent(c.resumption.low) + " to " + percent(c.resumption.high))] : "–"),
        csv: [["resumed", (c) => c.resumption && c.resumption.k], ["offered", (c) => c.resumption && c.resumption.n]] },
      { head: "bytes out / in", n: true, of: (c) => (c.received_bytes ? `${c.sent_bytes} / ${c.received_bytes}` : "–"), csv: [["sent_bytes", (c) => c.sent_bytes], ["received_bytes", (c) => c.received_bytes]] },
      estimate("memory", "server_memory_bytes", (v) => digits(v / 1e6) + " MB"),
      { head: "handshakes", n: true, of: (c) => c.handshakes.toLocaleString("en-US"), value: (c) => c.handshakes },
      { head: "failed", n: true, of: (c) => c.failures },
      { head: "limited by", of: (c) => Object.entries(c.limited_by).sort((a, b) => b[1] - a[1]).map(([k, n]) => (n < c.rounds ? `${k} (${n} of ${c.rounds})` : k)).join(", ") });
    table(s, "cells", columns, data.cells);
    s.classList.add("long");
  }

  function heatMap() {
    if (cells.length < 2 || !seen.length) return;
    let metric = seen[0];
    const across = factors.slice(-Math.ceil(factors.length / 2)), down = factors.slice(0, factors.length - across.length);
    const combine = (list) => list.reduce((all, f) => all.flatMap((a) => f.levels.map((l) => [...a, l])), [[]]).map((l) => l.join(", "));
    const xs = combine(across), ys = down.length ? combine(down) : [""];
    const s = section("Heat map", null, choice("metric", seen.map((m) => [m, metrics[m].name]), (v) => { metric = v; draw(c); }));
    const c = chart(s, 58 + 46 * ys.length, (o) => {
      const points = cells.filter((x) => x[metric].n).map((x) => [xs.indexOf(across.map((f) => x.factors[f.name]).join(", ")), ys.indexOf(down.map((f) => x.factors[f.name]).join(", ")), x[metric].median, x]);
      const values = points.map((q) => q[2]);
      const low = Math.min(...values), high = Math.max(...values);
      const left = down.length ? (o.narrow ? 80 : 150) : 10;
      return {
        grid: { left, right: 10, top: 8, bottom: 44 },
        tooltip: { formatter: (q) => `${q.data.cell.name}<br>${metrics[metric].name} <b>${metrics[metric].show(q.data.cell[metric].median)}</b><br>${bounds(q.data.cell[metric], metrics[metric].show)}` },
        xAxis: { type: "category", data: xs, ...o.axis, axisLabel: { color: o.ink, width: (c0(s) - left) / xs.length - 6, overflow: "break", interval: 0, fontSize: o.narrow ? 10 : 12 }, axisTick: { show: false } },
        yAxis: { type: "category", data: ys, inverse: true, ...o.axis, axisLabel: { color: o.ink, width: left - 12, overflow: "break" }, axisTick: { show: false } },
        visualMap: { show: false, min: low, max: high === low ? low + 1 : high, dimension: 2, inRange: { color: [colour("heat-0"), colour("heat-1")] } },
        series: [{ type: "heatmap", data: points.map((q) => ({ value: q.slice(0, 3), cell: q[3], label: { color: (q[2] - low) / (high - low || 1) > 0.55 ? colour("ground") : o.ink } })),
          label: { show: true, fontSize: o.narrow ? 10 : 12.5, formatter: (q) => metrics[metric].show(q.value[2]) }, itemStyle: { borderColor: colour("ground"), borderWidth: 2 } }],
      };
    });
  }
  function c0(s) { return s.clientWidth || 800; }

  function contributions() {
    if (!data.contributions.length) return;
    const s = section("From the worst cell to the best", "One change at a time, in both orders. A change that brings more in one order than in the other interacts with the rest.");
    const metricsHere = [...new Set(data.contributions.map((c) => c.metric))];
    for (const m of metricsHere) {
      const list = data.contributions.filter((c) => c.metric === m);
      s.append(el("p", {}, el("b", {}, metrics[m].name), `: ${list[0].worst} → ${list[0].best}, ${ratio(list[0].total.ratio)} times`, list[0].total.low === null ? "" : ` (${ratio(list[0].total.low)} to ${ratio(list[0].total.high)})`));
    }
    table(s, "contributions", [
      { head: "metric", of: (r) => metrics[r.c.metric].short, value: (r) => r.c.metric }, { head: "order", of: (r) => r.c.order },
      { head: "change", of: (r) => `${r.s.factor}: ${r.s.from} → ${r.s.to}` },
      { head: "ratio", n: true, of: (r) => (r.s.missing ? "–" : ratio(r.s.ratio)), value: (r) => r.s.ratio },
      { head: "95% interval", n: true, of: (r) => (r.s.low === null ? r.s.missing || "–" : ratio(r.s.low) + " to " + ratio(r.s.high)), csv: [["low", (r) => r.s.low], ["high", (r) => r.s.high]] },
      { head: "of the way", n: true, of: (r) => Math.round(100 * r.s.share) + "%", value: (r) => r.s.share },
      { head: "verdict", of: (r) => r.s.verdict, cls: (r) => says(r.s, r.c.metric) },
    ], data.contributions.flatMap((c) => c.steps.map((s) => ({ c, s }))));
  }

  function interactions() {
    if (!data.interactions.length) return;
    const s = section("Interactions", "How many times larger the effect of the first change is when the second was made, too. 1: none.");
    table(s, "interactions", [
      { head: "metric", of: (i) => metrics[i.metric].short, value: (i) => i.metric },
      { head: "change", of: (i) => `${i.factor_a}: ${i.from_a} → ${i.to_a}` }, { head: "with", of: (i) => `${i.factor_b}: ${i.from_b} → ${i.to_b}` },
      { head: "ratio", n: true, of: (i) => ratio(i.ratio), value: (i) => i.ratio },
      { head: "95% interval", n: true, of: (i) => (i.low === null ? "–" : ratio(i.low) + " to " + ratio(i.high)), csv: [["low", (i) => i.low], ["high", (i) => i.high]] },
      { head: "p", n: true, of: (i) => p(i.p), value: (i) => i.p }, { head: "verdict", of: (i) => i.verdict },
    ], data.interactions);
  }

  function latency() {
    const list = cells.filter((c) => c.total.length);
    if (!list.length) return;
    const s = section("Latency", "From the planned instant until the handshake is complete: the quantile on the axis below, the median over rounds of its time.");
    chart(s, 400, (o) => {
      const names = list.map(shortName), lg = legend(o, names, c0(s));
      return {
        legend: lg.option, grid: { left: 64, right: 20, top: lg.top, bottom: 44 },
        tooltip: { trigger: "axis", formatter: (qs) => `p${digits(100 * (1 - 1 / qs[0].value[0]))}<br>` + qs.map((q) => `${q.marker}${q.seriesName} <b>${time(q.value[1])}</b>`).join("<br>") },
        xAxis: { type: "log", min: 1, name: "quantile", nameLocation: "middle", nameGap: 28, ...o.axis,
          axisLabel: { color: o.faint, formatter: (v) => ({ 1: "0%", 10: "90%", 100: "99%", 1000: "99.9%", 10000: "99.99%" }[v] || "") } },
        yAxis: { type: "log", ...o.axis, axisLabel: { color: o.faint, formatter: time } },
        series: list.map((c) => ({ name: shortName(c), type: "line", showSymbol: false, lineWidth: 2,
          data: c.total.filter((q) => q.q < 1 && q.at_ns > 0 && 1 / (1 - q.q) <= Math.max(10, c.handshakes / c.rounds)).map((q) => [1 / (1 - q.q), q.at_ns]) })),
      };
    });
  }

  function saturation() {
    for (const curve of data.curves) {
      const s = section(`Over ${curve.factor}`, "Full lines: handshakes per second. Broken lines: latency p99.");
      chart(s, 380, (o) => {
        const names = curve.series.map((x) => x.name || curve.factor), lg = legend(o, names, c0(s));
        const xs = curve.series.flatMap((x) => x.points.map((q) => q.x));
        return {
          legend: lg.option, grid: { left: 64, right: 70, top: lg.top + 14, bottom: 44 },
          tooltip: { trigger: "item", formatter: (q) => `${q.seriesName}, ${count(q.value[0])} ${curve.unit}<br><b>${q.value[2]}</b>` },
          xAxis: { type: Math.max(...xs) / Math.max(Math.min(...xs), 1e-9) > 20 ? "log" : "value", name: curve.unit, nameLocation: "middle", nameGap: 28, ...o.axis, axisLabel: { color: o.faint, formatter: count } },
          yAxis: [{ type: "value", name: "per second", min: 0, ...o.axis, axisLabel: { color: o.faint, formatter: count } },
            { type: "log", name: "p99", ...o.axis, splitLine: { show: false }, axisLabel: { color: o.faint, formatter: time } }],
          series: curve.series.flatMap((x, i) => [
            { name: x.name || curve.factor, type: "line", symbolSize: 7, color: o.palette[i % o.palette.length], data: x.points.map((q) => [q.x, q.handshakes_per_s, digits(q.handshakes_per_s) + "/s"]) },
            { name: x.name || curve.factor, type: "line", yAxisIndex: 1, symbolSize: 5, lineStyle: { type: "dashed" }, color: o.palette[i % o.palette.length], data: x.points.map((q) => [q.x, q.total_p99_ns, "p99 " + time(q.total_p99_ns)]) }]),
        };
      });
    }
  }

  function course() {
    const list = cells.filter((c) => c.slices.length);
    if (!list.length) return;
    const s = section("In the course of a turn", "Medians over rounds. Full lines: share of handshakes that resumed. Broken lines: latency p99. The vertical line is the rotation of the ticket key.");
    const at = list.flatMap((c) => c.slices.filter((x) => x.rotated).map((x) => x.at_ns / 1e9))[0];
    chart(s, 380, (o) => {
      const names = list.map(shortName), lg = legend(o, names, c0(s));
      const width = list[0].slices.length > 1 ? list[0].slices[1].at_ns / 2e9 : 0;
      return {
        legend: lg.option, grid: { left: 56, right: 70, top: lg.top + 14, bottom: 44 },
        tooltip: { trigger: "item", formatter: (q) => `${q.seriesName} at ${digits(q.value[0])} s<br><b>${q.value[2]}</b>` },
        xAxis: { type: "value", name: "s", nameLocation: "middle", nameGap: 28, ...o.axis },
        yAxis: [{ type: "value", min: 0, max: 1, name: "resumed", ...o.axis, axisLabel: { color: o.faint, formatter: (v) => Math.round(100 * v) + "%" } },
          { type: "value", min: 0, name: "p99", ...o.axis, splitLine: { show: false }, axisLabel: { color: o.faint, formatter: time } }],
        series: list.flatMap((c, i) => [
          { name: shortName(c), type: "line", symbolSize: 7, color: o.palette[i], data: c.slices.map((x) => [x.at_ns / 1e9 + width, x.handshakes ? x.resumed / x.handshakes : 0, x.handshakes ? percent(x.resumed / x.handshakes) + " resumed" : "none"]),
            markLine: at === undefined ? undefined : { silent: true, symbol: "none", label: { show: false }, lineStyle: { color: o.faint, type: "solid" }, data: [{ xAxis: at }] } },
          { name: shortName(c), type: "line", yAxisIndex: 1, symbolSize: 5, lineStyle: { type: "dashed" }, color: o.palette[i], data: c.slices.map((x) => [x.at_ns / 1e9 + width, x.p99_ns, "p99 " + time(x.p99_ns)]) }]),
      };
    });
    table(s, "course", [
      { head: "cell", of: (r) => r.c.name }, { head: "at", n: true, of: (r) => digits(r.x.at_ns / 1e9) + " s", value: (r) => r.x.at_ns },
      { head: "handshakes", n: true, of: (r) => r.x.handshakes }, { head: "resumed", n: true, of: (r) => (r.x.handshakes ? percent(r.x.resumed / r.x.handshakes) : "–"), value: (r) => r.x.resumed },
      { head: "p99", n: true, of: (r) => time(r.x.p99_ns), value: (r) => r.x.p99_ns }, { head: "server CPU", n: true, of: (r) => time(r.x.server_cpu_per_handshake_ns), value: (r) => r.x.server_cpu_per_handshake_ns },
      { head: "", of: (r) => (r.x.rotated ? "key rotated before" : "") },
    ], list.flatMap((c) => c.slices.map((x) => ({ c, x }))));
    s.classList.add("long");
  }

  function parts() {
    if (!data.decomposition.length) return;
    const s = section("Server CPU per handshake in its parts", "Signature and key exchange at what the operations cost by themselves, measured in the same run; the rest is what is left.");
    const list = data.decomposition.slice().reverse();
    const name = (d) => { const c = data.cells.find((x) => x.id === d.cell); return shortName(c); };
    chart(s, 90 + 30 * list.length, (o) => {
      const left = o.narrow ? 110 : 240;
      return {
        legend: { textStyle: { color: o.faint }, top: 0, left: 0 }, grid: { left, right: 20, top: 34, bottom: 30 },
        tooltip: { trigger: "axis", axisPointer: { type: "shadow" }, formatter: (qs) => `${qs[0].name}<br>` + qs.map((q) => `${q.marker}${q.seriesName} <b>${time(q.value)}</b>`).join("<br>") },
        xAxis: { type: "value", ...o.axis, axisLabel: { color: o.faint, formatter: time, hideOverlap: true } },
        yAxis: { type: "category", data: list.map(name), ...o.axis, axisLabel: { color: o.ink, width: left - 12, overflow: "break", interval: 0, fontSize: 12, lineHeight: 14 }, axisTick: { show: false } },
        series: [["signature", "signature_ns", 1], ["key exchange", "exchange_ns", 2], ["rest", "rest_ns", 9]].map(([n, key, i]) => ({ name: n, type: "bar", stack: "all", color: o.palette[i], data: list.map((d) => Math.max(0, d[key])) })),
      };
    });
    table(s, "parts", [
      { head: "cell", of: (d) => d.name }, ...[["whole", "server_cpu_per_handshake_ns"], ["signature", "signature_ns"], ["key exchange", "exchange_ns"], ["rest", "rest_ns"]].map(([head, key]) => ({ head, n: true, of: (d) => time(d[key]), value: (d) => d[key] })),
      { head: "note", of: (d) => d.note },
    ], data.decomposition);
    if (data.agreement.length) {
      const t = section("Does the difference agree with the signatures?", "Pairs of cells that differ in the certificate alone: what one costs more than the other, beside the difference of the signatures measured apart. A ratio of 1 is full agreement.");
      table(t, "agreement", [{ head: "dearer", of: (a) => a.from }, { head: "cheaper", of: (a) => a.to }, { head: "measured", n: true, of: (a) => time(a.measured_ns), value: (a) => a.measured_ns },
        { head: "signatures", n: true, of: (a) => time(a.primitives_ns), value: (a) => a.primitives_ns }, { head: "ratio", n: true, of: (a) => ratio(a.ratio), value: (a) => a.ratio }], data.agreement);
    }
    const t = section("Operations by themselves", data.primitives.length ? data.primitives[0].source : null);
    table(t, "operations", [{ head: "operation", of: (x) => x.name }, { head: "library", of: (x) => x.library },
      { head: "CPU", n: true, of: (x) => withInterval(x.cpu_ns, time), csv: [["cpu_ns", (x) => x.cpu_ns.median], ["low", (x) => x.cpu_ns.low], ["high", (x) => x.cpu_ns.high]] }, { head: "n", n: true, of: (x) => x.cpu_ns.n }], data.primitives);
  }

  function machine() {
    if (!e.primitives?.length) return;
    const s = section("What this machine can", `Operations of the load's program, ${e.primitives[0].n} rounds before the run, as shakedown host measures them. openssl speed is beside those it was asked about, by the CPU time of one thread.`);
    const openssl = (p) => p.threads === 1 && e.openssl_speed.find((x) => x.name === p.name)?.per_s;
    table(s, "machine", [{ head: "operation", of: (p) => p.name }, { head: "threads", n: true, of: (p) => String(p.threads) },
      { head: "per s", n: true, of: (p) => withInterval({ ...p, median: p.per_s }, digits), csv: [["per_s", (p) => p.per_s], ["low", (p) => p.low], ["high", (p) => p.high]] },
      { head: "MB/s", n: true, of: (p) => (p.bytes_per_s ? digits(p.bytes_per_s / 1e6) : ""), value: (p) => p.bytes_per_s ?? "" },
      { head: "openssl speed, per s", n: true, of: (p) => (openssl(p) ? digits(openssl(p)) : ""), value: (p) => openssl(p) || "" }], e.primitives);
    if (e.cautions.length) s.append(el("ul", { class: "faint" }, e.cautions.map((c) => el("li", {}, c))));
  }

  function waterfall() {
    const list = cells.filter((c) => c.waterfall.length).slice().reverse();
    if (!list.length) return;
    const words = { connected: "TCP connected", server_hello: "ServerHello", server_flight: "server's flight complete", finished: "our Finished", complete: "complete", ticket: "ticket", response: "response" };
    const phases = [...new Set(list.flatMap((c) => c.waterfall.map((m) => m.phase)))].sort((a, b) => Object.keys(words).indexOf(a) - Object.keys(words).indexOf(b));
    const s = section("One handshake on the idle server", "Until each phase, the median over rounds; without load and without added distance. The client verifies the chain.");
    chart(s, 100 + 28 * list.length, (o) => {
      const left = o.narrow ? 110 : 240, lg = legend(o, phases.map((x) => words[x]), c0(s));
      return {
        legend: lg.option, grid: { left, right: 20, top: lg.top, bottom: 30 },
        tooltip: { trigger: "axis", axisPointer: { type: "shadow" }, formatter: (qs) => `${qs[0].name}<br>` + list[qs[0].dataIndex].waterfall.map((m) => `${words[m.phase]} at <b>${time(m.at_ns)}</b>`).join("<br>") },
        xAxis: { type: "value", ...o.axis, axisLabel: { color: o.faint, formatter: time, hideOverlap: true } },
        yAxis: { type: "category", data: list.map(shortName), ...o.axis, axisLabel: { color: o.ink, width: left - 12, overflow: "break", interval: 0, fontSize: 12, lineHeight: 14 }, axisTick: { show: false } },
        series: phases.map((phase) => ({ name: words[phase], type: "bar", stack: "all", data: list.map((c) => {
          const marks = c.waterfall.slice().sort((a, b) => a.at_ns - b.at_ns), i = marks.findIndex((m) => m.phase === phase);
          return i < 0 ? 0 : marks[i].at_ns - (i ? marks[i - 1].at_ns : 0);
        }) })),
      };
    });
  }

  function details() {
    const s = section("Each cell in full", null);
    for (const c of data.cells) {
      s.append(el("details", {}, el("summary", {}, `${c.id}: ${c.name || c.server}`), el("dl", {}, [
        ["status", c.reason ? `${c.status}: ${c.reason}` : c.status], ["server", `${c.server} ${JSON.stringify(c.spec)}`], ["load", JSON.stringify(c.load)],
        ["confirmed", c.confirmed.join("; ")], ["observed", c.observed.join("; ")], ["limit", c.limit_evidence.join("; ")], ["failures", c.failures ? `${c.failures}: ${c.failure}` : "none"],
        ["by round", Object.entries(c.by_round).map(([m, v]) => `${metrics[m].short}: ${v.map(metrics[m].show).join(", ")}`).join("; ")],
      ].filter(([, v]) => v).map(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]))));
    }
    s.append(el("details", {}, el("summary", {}, "The plan"), el("pre", {}, data.plan.text)));
    s.append(el("details", {}, el("summary", {}, "The environment"), el("pre", {}, JSON.stringify(data.environment, null, 2))));
    s.classList.add("long");
  }
})();
