"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const one = (selector, within = document) => within.querySelector(selector);
  const info = JSON.parse(one("#info").textContent);
  const isTwo = info.runs.length > 1;
  const kinds = info.runs[0].fields;

  const add = (parent, name, text = "", className = "") => {
    const element = parent.appendChild(document.createElement(name));
    element.textContent = text;
    if (className) element.className = className;
    return element;
  };
  const toggled = (list, item) => (list.includes(item) ? list.filter((other) => other !== item) : [...list, item]);

  // --- What is shown, which the address holds, except images
  const start = () => structuredClone({
    entries: info.runs[0].starts,
    epochs: info.runs.map((run) => run.epoch),
    changes: info.runs.map(() => ({})),
    layers: info.runs.map(() => ""), // names of the layers that are shown
    maps: info.runs.map(() => 0), // numbers of the heads in the choice of a layer
  });

  const isNumbers = (value) => Array.isArray(value) && value.length > 0 && value.every(Number.isFinite);
  const fits = { text: (value) => typeof value === "string", series: isNumbers, image: () => true };

  // An address that was cut, or that is about other runs, shows the start.
  const readAddress = () => {
    try {
      const stored = JSON.parse(decodeURIComponent(location.hash.slice(1)));
      const whole = { ...start(), ...stored, entries: { ...start().entries, ...stored.entries } };
      const hasEpochs = info.runs.every((run, n) => run.epochs.includes(whole.epochs[n]));
      if (hasEpochs && Object.entries(kinds).every(([name, kind]) => fits[kind](whole.entries[name]))) return whole;
    } catch { /* no JSON */ }
    return start();
  };

  let state = start();
  let addressTimer = null;
  const writeAddress = () => {
    clearTimeout(addressTimer);
    addressTimer = setTimeout(() => {
      const content = JSON.stringify(state, (name, value) => (kinds[name] === "image" ? undefined : value));
      history.replaceState(null, "", `#${encodeURIComponent(content)}`);
    }, 200);
  };

  // --- The server
  class Refused extends Error {}
  const away = one(".away");

  const ask = async (path, body, signal) => {
    const headers = { "Content-Type": "application/json" };
    const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal });
    away.hidden = true;
    if (answer.ok) return answer;
    const problem = await answer.json().catch(() => ({}));
    throw new Refused(problem.error ?? `The server answered with ${answer.status}.`);
  };

  // --- Fields: each function returns one that shows a value
  const textField = (root, give) => {
    const box = one("textarea", root);
    box.addEventListener("input", () => give(box.value));
    return (text) => { box.value = text; };
  };

  const imageField = (root, give) => {
    const take = (file) => {
      const reader = new FileReader();
      reader.addEventListener("load", () => give(reader.result));
      if (file) reader.readAsDataURL(file);
    };
    one("input", root).addEventListener("change", (event) => take(event.target.files[0]));
    for (const name of ["dragover", "dragleave", "drop"]) addEventListener(name, (event) => {
      event.preventDefault();
      root.classList.toggle("over", name === "dragover");
      if (name === "drop") take(event.dataTransfer.files[0]);
    });
    return (address) => { one("img", root).src = address; };
  };

  const seriesField = (root, give) => {
    const [chart, box] = [one("svg", root), one("textarea", root)];
    const left = 76; // of the lines, which labels need
    let values = [];
    let scale = [0, 1]; // lowest and highest value of the chart
    let isDragged = false;
    let chosen = 0; // the point that keys move
    const dots = () => all("[role=slider]", chart);
    const height = () => chart.clientHeight - 20;
    // Writes numbers only, no text.
    const render = () => {
      const forecasts = slots.map(({ forecast }) => forecast.map(Number));
      const shown = [...values, ...forecasts.flat()];
      const [low, high] = [Math.min(...shown), Math.max(...shown)];
      const margin = 0.1 * (high - low) || Math.abs(high) / 10 || 1;
      if (!isDragged) scale = [low - margin, high + margin];
      const width = chart.clientWidth - left;
      const count = values.length + Math.max(...forecasts.map((forecast) => forecast.length));
      const x = (n) => left + ((n + 0.5) * width) / count;
      const y = (value) => 10 + height() * (1 - (value - scale[0]) / (scale[1] - scale[0]));
      const label = (part) => {
        const value = scale[0] + part * (scale[1] - scale[0]);
        return `<line x1="${left}" x2="${left + width}" y1="${y(value)}" y2="${y(value)}"/>`
          + `<text x="${left - 8}" y="${y(value) + 4}">${Number(value.toPrecision(3))}</text>`;
      };
      const line = (list, first, name) =>
        `<polyline class="${name}" points="${list.map((value, n) => `${x(first + n)},${y(value)}`).join(" ")}"/>`;
      const future = (forecast, n) => line([values.at(-1), ...forecast], values.length - 1, `forecast-${n}`)
        + forecast.map((value, m) => `<circle class="forecast-${n}" cx="${x(values.length + m)}" cy="${y(value)}" r="2.5"/>`).join("");
      const dot = (value, n) => `<circle cx="${x(n)}" cy="${y(value)}" r="4.5" role="slider" tabindex="${n === chosen ? 0 : -1}"`
        + ` aria-orientation="vertical" aria-label="value ${n + 1} of ${values.length}" aria-valuenow="${value}"/>`;
      const isFocused = chart.contains(document.activeElement);
      chosen = Math.min(chosen, values.length - 1);
      const parts = [[0.1, 0.5, 0.9].map(label), line(values, 0, "known"), forecasts.map(future), values.map(dot)];
      chart.innerHTML = parts.flat().join("");
      if (isFocused) dots()[chosen].focus({ preventScroll: true });
      if (document.activeElement !== box) box.value = values.join(" ");
    };
    const set = (list) => give(list.map((value) => Number(value.toPrecision(6))));
    const move = (by, isAll) => set(values.map((value, n) => (isAll || n === chosen ? value + by : value)));
    chart.addEventListener("pointerdown", (event) => {
      if (!dots().includes(event.target)) return;
      event.preventDefault();
      event.target.focus();
      chart.setPointerCapture(event.pointerId);
      isDragged = true;
    });
    chart.addEventListener("pointermove", (event) => {
      if (!isDragged) return;
      const share = 1 - (event.clientY - chart.getBoundingClientRect().top - 10) / height();
      move(scale[0] + share * (scale[1] - scale[0]) - values[chosen], event.shiftKey);
    });
    chart.addEventListener("lostpointercapture", () => { isDragged = false; });
    chart.addEventListener("focusin", (event) => { chosen = dots().indexOf(event.target); });
    chart.addEventListener("keydown", (event) => {
      const steps = { ArrowUp: 1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
      if (steps) move((steps * (scale[1] - scale[0])) / 100, event.shiftKey);
      else if (["ArrowLeft", "ArrowRight"].includes(event.key)) dots()[chosen + (event.key === "ArrowLeft" ? -1 : 1)]?.focus();
      else return;
      event.preventDefault();
    });
    one(".longer", root).addEventListener("click", () => set([values[0], ...values]));
    one(".shorter", root).addEventListener("click", () => set(values.length > 1 ? values.slice(1) : values));
    box.addEventListener("input", () => {
      const list = box.value.split(/[\s,;]+/).filter(Boolean).map(Number);
      box.setAttribute("aria-invalid", !isNumbers(list));
      if (isNumbers(list)) set(list);
    });
    addEventListener("resize", render);
    return (list) => {
      values = list.map(Number);
      render();
    };
  };

  // --- Slots: one per run
  class Slot {
    constructor(root, number) {
      const part = (selector) => one(selector, root);
      Object.assign(this, { root, number, part, where: part(".where"), answer: null, forecast: [] });
      this.chosen = null; // the word that can be changed: { side: "rows" | "columns", n }
      this.listen();
    }

    get request() {
      return { slot: this.number, epoch: state.epochs[this.number], entries: state.entries, changes: this.changes };
    }
    get changes() { return state.changes[this.number]; }
    get layers() { return this.answer?.layers ?? []; }
    // The last layer is the one that is closest to the output.
    get layer() { return this.layers.find(({ name }) => name === state.layers[this.number]) ?? this.layers.at(-1); }
    get change() { return { heads: [], hidden: [], rows: {}, ...this.changes[this.layer?.name] }; }
    words(side) {
      const panel = this.part(".where [role=tabpanel]:not([hidden])") ?? this.where;
      return all(`dd.${side === "rows" ? "translation" : "source"} .word`, panel);
    }
    // Returns where a word is; nothing if an element isn't a word.
    find(element) {
      const side = ["rows", "columns"].find((name) => this.words(name).includes(element));
      return side && { side, n: this.words(side).indexOf(element) };
    }

    // Asks one question at a time; after the answer the newest one.
    predict() {
      this.isOutdated = true;
      this.work ??= this.predictNewest().finally(() => { this.work = null; });
      return this.work;
    }

    async predictNewest() {
      clearTimeout(this.retry);
      this.root.classList.add("waiting");
      while (this.isOutdated) {
        this.isOutdated = false;
        let answer = null;
        try {
          answer = await (await ask("predict", this.request)).json();
        } catch (error) {
          this.fail(error);
          if (!away.hidden) this.retry = setTimeout(() => this.predict(), 2000);
        }
        this.root.classList.toggle("stale", !answer);
        if (answer) this.show(answer);
      }
      this.root.classList.remove("waiting");
    }

    fail(error) {
      if (error instanceof Refused) this.part(".messages").textContent = error.message;
      else if (error.name !== "AbortError") away.hidden = false;
    }

    show(answer) {
      const focused = this.where.contains(document.activeElement) ? document.activeElement : null;
      const [focus, lit] = [focused, one(".lit", this.where)].map((element) => this.find(element));
      this.answer = answer;
      this.forecast = answer.forecast ?? [];
      this.part(".messages").textContent = answer.messages.join(" ");
      for (const [name, html] of [[".likely", answer.table], [".where", answer.maps]]) {
        this.part(name).innerHTML = html;
        attach(this.part(name));
      }
      all("[role=tab]", this.where)[this.layers.indexOf(this.layer)]?.click();
      all(".choice select", this.where).forEach((choice) => {
        choice.selectedIndex = Math.min(state.maps[this.number], choice.options.length - 1);
        if (choice.selectedIndex) choice.dispatchEvent(new Event("change"));
      });
      // A map of an image is over the image.
      for (const picture of all(".maps img", this.where)) all("canvas", picture.closest(".maps")).forEach((canvas) => {
        const frame = add(canvas.parentElement, "div", "", "over");
        frame.style.backgroundImage = `url(${picture.src})`;
        canvas.replaceWith(frame);
        frame.append(canvas);
      });
      this.decorate();
      const same = focused?.id ? document.getElementById(focused.id) : focus && this.words(focus.side)[focus.n];
      same?.focus({ preventScroll: true });
      if (lit) this.words(lit.side)[lit.n]?.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
      slots.forEach((slot) => slot.writeOutput());
      showFields();
    }

    // Words that the other output doesn't have are marked.
    writeOutput() {
      const output = this.part(".output");
      const other = isTwo ? slots[1 - this.number].answer?.output : this.answer?.score?.output;
      const others = new Set(other?.split(/\s+/));
      output.replaceChildren();
      for (const word of (this.answer?.output ?? "").split(/(\s+)/)) {
        if (other === undefined || others.has(word) || !word.trim()) output.append(word);
        else add(output, "mark", word);
      }
    }

    // Shows what is changed, and what can be changed of the shown layer and the chosen word.
    decorate() {
      this.listChanges();
      this.sayScore();
      const { layer, change } = this;
      for (const name of [".heads", ".word-bar", ".tools"]) this.part(name).hidden = !layer;
      this.part(".changes").hidden = !layer && !this.part(".list li");
      if (!layer) return;
      const [toggles, isSingle] = [this.part(".toggles"), layer.heads === 1];
      if (toggles.children.length !== layer.heads) {
        toggles.replaceChildren();
        for (let n = 1; n <= layer.heads; n++) add(toggles, "button", isSingle ? "attention" : `head ${n}`);
      }
      [...toggles.children].forEach((button, n) => button.setAttribute("aria-pressed", !change.heads.includes(n)));
      for (const name of [".off", ".on"]) this.part(name).hidden = isSingle;
      const [rows, columns] = [this.words("rows"), this.words("columns")];
      rows.forEach((word, n) => word.classList.toggle("set-word", layer.rows[n] in change.rows));
      columns.forEach((word, n) => word.classList.toggle("hidden-word", change.hidden.includes(layer.columns[n])));
      // A series has no words; it has one row.
      if (!columns.length) this.chosen = { side: "rows", n: 0 };
      const { side, n } = this.chosen ?? {};
      const place = layer[side]?.[n];
      const [isRow, isColumn] = ["rows", "columns"].map((name) => side === name && place !== undefined);
      this.part(".word-bar").hidden = !layer.columns.length;
      this.part(".hide").hidden = !isColumn;
      this.part(".hide").textContent = change.hidden.includes(place) ? "show it again" : "hide it";
      this.part(".even").hidden = this.part(".only").hidden = !isRow;
      const first = columns.length ? "look only at …" : "hide or show a value …";
      this.part(".only").replaceChildren(...[first, ...layer.column_words].map((word) => new Option(word)));
      const word = (isRow ? layer.row_words : layer.column_words)[n];
      this.part(".word-bar .label").textContent = columns.length && place !== undefined ? `“${word}”` : "";
    }

    listChanges() {
      const list = this.part(".list ul");
      list.replaceChildren();
      for (const [name, { heads = [], hidden = [], rows = {} }] of Object.entries(this.changes)) {
        const layer = this.layers.find((other) => other.name === name);
        const word = (words, places, place) => {
          const n = layer?.[places].indexOf(Number(place)) ?? -1;
          return n < 0 ? `place ${Number(place) + 1}` : `“${layer[words][n]}”`;
        };
        const column = (place) => word("column_words", "columns", place);
        const item = (text, change) => {
          const whole = this.layers.length > 1 ? `${text} in ${name}` : text;
          const button = add(add(list, "li", whole), "button", "×");
          button.setAttribute("aria-label", `undo: ${whole}`);
          button.addEventListener("click", () => {
            this.set(change, name);
            this.part(".list button")?.focus();
          });
        };
        const what = layer?.heads === 1 ? () => "attention" : (head) => `head ${head + 1}`;
        heads.forEach((head) => item(`${what(head)} off`, { heads: toggled(heads, head) }));
        hidden.forEach((place) => item(`${column(place)} hidden`, { hidden: toggled(hidden, place) }));
        for (const [row, place] of Object.entries(rows)) {
          const { [row]: _, ...others } = rows;
          const where = place === null ? "evenly" : `only at ${column(place)}`;
          item(`${word("row_words", "rows", row)} looks ${where}`, { rows: others });
        }
      }
      this.part(".list").hidden = !list.children.length;
    }

    sayScore() {
      const { kind, before, now, output } = this.answer?.score ?? {};
      const number = (value) => value.toPrecision(3).replace("-", "−");
      const subject = output === undefined ? "the output without changes" : `“${output}”`;
      this.part(".score").textContent = kind === undefined ? "" : kind !== "log probability"
        ? `The changes move the output by ${number(now)} (${kind}).`
        : `Log probability of ${subject}: ${number(before)} without changes, ${number(now)} with them.`;
    }

    // Changes a layer and predicts again.
    set(change, name = this.layer?.name ?? "") {
      this.changes[name] = { heads: [], hidden: [], rows: {}, ...this.changes[name], ...change };
      this.decorate();
      writeAddress();
      this.predict();
    }

    setRow(place) {
      this.set({ rows: { ...this.change.rows, [this.layer.rows[this.chosen.n]]: place } });
    }

    listen() {
      const click = (selector, action) => this.part(selector).addEventListener("click", action);
      const choose = ({ target }) => {
        const tab = this.layers[all("[role=tab]", this.where).indexOf(target)];
        if (tab && tab.name !== state.layers[this.number]) {
          state.layers[this.number] = tab.name;
          this.chosen = null;
          writeAddress();
        } else if (this.find(target)) this.chosen = this.find(target);
        else return;
        this.decorate();
      };
      for (const name of ["focusin", "click"]) this.where.addEventListener(name, choose);
      this.where.addEventListener("change", (event) => {
        state.maps[this.number] = event.target.selectedIndex;
        this.decorate();
        writeAddress();
      });
      this.part(".only").addEventListener("change", ({ target }) => {
        const place = this.layer.columns[target.selectedIndex - 1];
        if (!this.words("columns").length) this.set({ hidden: toggled(this.change.hidden, place) });
        else this.setRow(place);
      });
      click(".toggles", ({ target }) => {
        const head = [...this.part(".toggles").children].indexOf(target);
        if (head >= 0) this.set({ heads: toggled(this.change.heads, head) });
      });
      click(".off", () => this.set({ heads: [...Array(this.layer.heads).keys()] }));
      click(".on", () => this.set({ heads: [] }));
      click(".hide", () => this.set({ hidden: toggled(this.change.hidden, this.layer.columns[this.chosen.n]) }));
      click(".even", () => this.setRow(null));
      click(".undo", () => {
        state.changes[this.number] = {};
        this.set({});
      });
      click(".what", () => this.measure("heads", "What heads do"));
      click(".rank", () => this.measure("rank", "What each head is worth"));
      click(".cancel", () => this.measuring.abort());
      click(".save", ({ target }) => { if (target.dataset.format) this.save(target.dataset.format); });
    }

    // Shows a table that takes a while. Each line of the answer is JSON, the last one has the table.
    async measure(path, title) {
      this.measuring?.abort();
      const { signal } = (this.measuring = new AbortController());
      const [progress, bar] = [".progress", "progress"].map(this.part);
      const heading = `${title}, epoch ${this.request.epoch}`;
      bar.removeAttribute("value");
      progress.hidden = false;
      try {
        const reader = (await ask(path, this.request, signal)).body.pipeThrough(new TextDecoderStream()).getReader();
        for (let [text, isDone] = ["", false]; !isDone;) {
          const part = await reader.read();
          [text, isDone] = [text + (part.value ?? "\n"), part.done];
          const { done, total, html } = JSON.parse(text.split("\n").at(-2) || "{}"); // the last whole line
          if (total) [bar.max, bar.value] = [total, done];
          if (html !== undefined) this.showTable(heading, html);
        }
      } catch (error) {
        this.fail(error);
      }
      if (this.measuring.signal === signal) progress.hidden = true;
    }

    showTable(heading, html) {
      const result = this.part(".result");
      result.innerHTML = html;
      attach(result);
      const head = add(result, "div", "", "row");
      result.prepend(head);
      add(head, "h3", heading);
      add(head, "button", "close", "link").addEventListener("click", () => result.replaceChildren());
    }

    async save(format) {
      try {
        const answer = await ask("save", { ...this.request, layer: this.layer.name, format });
        const link = document.createElement("a");
        link.href = URL.createObjectURL(await answer.blob());
        link.download = `attention.${format}`;
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 10000);
      } catch (error) {
        this.fail(error);
      }
    }
  }

  const slots = [];
  all(".slot").forEach((root, number) => slots.push(new Slot(root, number)));
  const predictAll = () => Promise.all(slots.map((slot) => slot.predict()));

  const fields = all("[data-field]").map((root) => {
    const name = root.dataset.field;
    const show = { text: textField, image: imageField, series: seriesField }[kinds[name]](root, (value) => {
      state.entries[name] = value;
      show(value);
      writeAddress();
      predictAll();
    });
    return () => show(state.entries[name]);
  });
  const showFields = () => fields.forEach((show) => show());

  // --- Epochs: the slider has those of the longest run; the other one moves in proportion
  const [range, said, play] = ["input", "output", ".play"].map((selector) => one(`.epochs ${selector}`));
  const longest = info.runs.reduce((best, run) => (run.epochs.length > best.epochs.length ? run : best));
  const last = longest.epochs.length - 1;

  const showEpochs = () => {
    const labels = info.runs.map(({ epochs, notes }, n) => {
      const note = notes[epochs.indexOf(state.epochs[n])];
      return `epoch ${state.epochs[n]} of ${epochs.at(-1)}${note ? ` · ${note}` : ""}`;
    });
    range.value = longest.epochs.indexOf(state.epochs[info.runs.indexOf(longest)]);
    said.textContent = isTwo ? state.epochs.map((epoch) => `epoch ${epoch}`).join(" and ") : labels[0];
    range.setAttribute("aria-valuetext", said.textContent);
    all(".slot .at").forEach((element, n) => { element.textContent = labels[n]; });
  };
  const moveTo = (place) => {
    state.epochs = info.runs.map(({ epochs }) => epochs[Math.round((place / last) * (epochs.length - 1))]);
    showEpochs();
    writeAddress();
    return predictAll();
  };

  let playing = null; // what is compared to know whether it was stopped
  const setPlaying = (now) => {
    playing = now;
    play.textContent = now ? "❚❚" : "▶";
    play.setAttribute("aria-label", now ? "stop" : "play the epochs");
  };
  play.addEventListener("click", async () => {
    if (playing) return setPlaying(null);
    const mine = {};
    setPlaying(mine);
    const first = range.valueAsNumber === last ? 0 : range.valueAsNumber + 1;
    for (let place = first; playing === mine && place <= last; place++) {
      await Promise.all([moveTo(place), new Promise((done) => { setTimeout(done, 400); })]);
    }
    if (playing === mine) setPlaying(null);
  });
  range.addEventListener("input", () => {
    setPlaying(null);
    moveTo(range.valueAsNumber);
  });

  const showAddress = () => {
    state = readAddress();
    showFields();
    showEpochs();
    predictAll();
  };
  addEventListener("hashchange", showAddress);
  showAddress();
})();
