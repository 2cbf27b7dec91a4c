
"use strict";
// Makes what is inside `root` work: tables, tabs, sliders and what moves with them.
const attach = (() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const content = (element) =>
    JSON.parse(element.querySelector(":scope > script[type='application/json']").textContent);
  const bytes = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));

  // Moves along a row of elements of which one has the focus.
  const step = (event, elements, now) => {
    const keys = { ArrowRight: now + 1, ArrowDown: now + 1, ArrowLeft: now - 1, ArrowUp: now - 1 };
    keys.Home = 0;
    keys.End = elements.length - 1;
    if (!(event.key in keys)) return null;
    event.preventDefault();
    return Math.min(Math.max(keys[event.key], 0), elements.length - 1);
  };

  // Tables

  const number = (text) => {
    const match = text.replace(/,/g, "").match(/[-+]?\d+(\.\d+)?(e[-+]?\d+)?/i);
    return match ? Number(match[0]) : NaN;
  };

  const sorted = (table, column, upward) => {
    const cells = (row) => row.cells[column].textContent.trim();
    const rows = [...table.tBodies[0].rows];
    const right = table.tHead.rows[0].cells[column].classList.contains("number");
    const isNumber = right && rows.some((row) => !isNaN(number(cells(row))));
    const way = upward ? 1 : -1;
    return rows.sort((a, b) => {
      const [one, other] = [cells(a), cells(b)];
      if (!isNumber) return way * one.localeCompare(other, undefined, { numeric: true });
      const [x, y] = [number(one), number(other)];
      if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y); // what has none comes last
      return way * (x - y);
    });
  };

  const attachSorting = (button) => {
    button.addEventListener("click", () => {
      const head = button.closest("th");
      const table = head.closest("table");
      const upward = head.getAttribute("aria-sort") !== "ascending";
      all("th", table).forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", upward ? "ascending" : "descending");
      table.tBodies[0].append(...sorted(table, head.cellIndex, upward));
    });
  };

  // Tabs

  const attachTabs = (tabs) => {
    const buttons = all(":scope > [role=tablist] > [role=tab]", tabs);
    const panels = all(":scope > [role=tabpanel]", tabs);
    const choose = (chosen) => {
      buttons.forEach((button, n) => {
        button.setAttribute("aria-selected", n === chosen);
        button.tabIndex = n === chosen ? 0 : -1;
        panels[n].hidden = n !== chosen;
      });
    };
    buttons.forEach((button, n) => {
      button.addEventListener("click", () => choose(n));
      button.addEventListener("keydown", (event) => {
        const next = step(event, buttons, n);
        if (next === null) return;
        choose(next);
        buttons[next].focus();
      });
    });
    choose(0);
  };

  // What moves with a slider

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).split(",").map(Number);

  // Weights from -1 to 1, of their largest size.
  const shares = (data) => {
    const whole = bytes(data.weights);
    if (!data.signed) return Float32Array.from(whole, (step) => step / 255);
    return Float32Array.from(new Int8Array(whole), (step) => step / 127);
  };

  // Draws weights as a map: the greater a weight, the less transparent; weights below 0 in red.
  const paint = (canvas, weights, rows, columns) => {
    canvas.width = columns;
    canvas.height = rows;
    const context = canvas.getContext("2d");
    const picture = context.createImageData(columns, rows);
    const colours = [colour("--weight"), colour("--below")];
    for (let place = 0; place < rows * columns; place++) {
      const weight = weights[place];
      picture.data.set([...colours[Number(weight < 0)], Math.round(255 * Math.abs(weight))], 4 * place);
    }
    context.putImageData(picture, 0, 0);
  };

  const strips = (part) => {
    const data = content(part);
    const weights = shares(data);
    const paths = all(".bars", part);
    const wide = 1 / data.steps;
    return (epoch) => paths.forEach((path, strip) => {
      const first = (epoch * paths.length + strip) * data.steps;
      const bar = (n) => `M${(n + 0.1) * wide} 1V${1 - 0.6 * Math.abs(weights[first + n])}h${0.8 * wide}V1z`;
      path.setAttribute("d", Array.from({ length: data.steps }, (_, n) => bar(n)).join(""));
    });
  };

  const maps = (part) => {
    const data = content(part);
    const weights = shares(data);
    const canvases = all("canvas", part);
    const size = data.rows * data.columns;
    return (epoch) => canvases.forEach((canvas, n) => {
      const first = (epoch * canvases.length + n) * size;
      paint(canvas, weights.subarray(first, first + size), data.rows, data.columns);
    });
  };

  const sentence = (part, chosen) => {
    const data = content(part);
    const [source, reference, target] = ["source", "reference", "translation"].map((name) =>
      part.querySelector(`dd.${name}`));
    const [readout, canvas] = [part.querySelector(".readout"), part.querySelector("canvas")];
    let [frame, weights] = [null, null];
    const words = (line) => all(".word", line);
    const most = () => frame.most?.[chosen()] ?? 1; // the largest weight, where texts are shaded
    const write = (line, tokens) => line.replaceChildren(...tokens.flatMap((token) => {
      const word = document.createElement("span");
      const note = Object.hasOwn(data.unknown, token) ? data.unknown[token] : "";
      word.className = note ? "word unknown" : "word";
      if (note) word.title = note;
      word.textContent = token;
      return [word, " "];
    }));
    const weight = (t, s) => {
      const [rows, columns] = [frame.tokens.length, data.source.length];
      return weights[(chosen() * rows + t) * columns + s] * (frame.scale ?? most());
    };
    const clear = () => {
      all(".word", part).forEach((word) => {
        word.classList.remove("lit", "gold");
        word.style.background = "";
      });
      if ("most" in frame) words(source).forEach((other, s) => light(other, weight(0, s)));
      readout.textContent = "";
    };
    const light = (word, value) => {
      const share = 0.85 * Math.min(1, Math.abs(value) / (most() || 1));
      word.style.background = `rgba(var(${value < 0 ? "--below" : "--weight"}), ${share.toFixed(3)})`;
    };
    const say = (word, what, pairs) => {
      const size = ([, value]) => Math.abs(value);
      const known = pairs.filter((pair) => size(pair) >= 0.01 * most() && size(pair))
        .sort((a, b) => size(b) - size(a)).slice(0, 4);
      const text = known.map(([name, value]) => `${name} ${value.toFixed(most() < 0.2 ? 3 : 2)}`).join(", ");
      const note = word.title ? ` (${word.title})` : "";
      readout.textContent = `${word.textContent}${note} ${what} ${text || "nowhere"}`;
    };
    const gold = (pairs) => pairs.forEach(([line, n]) => words(line)[n]?.classList.add("gold"));
    // Only of a right translation is it known which words belong together.
    const isRight = () => frame.tokens.slice(0, -1).join(" ") === data.reference.join(" ");
    const at = {
      translation: (t, word) => {
        words(source).forEach((other, s) => light(other, weight(t, s)));
        say(word, "looks at", data.source.map((name, s) => [name, weight(t, s)]));
        if (isRight()) gold(data.links.filter((link) => link[1] === t).map((link) => [source, link[0]]));
      },
      source: (s, word) => {
        words(target).forEach((other, t) => light(other, weight(t, s)));
        say(word, "is looked at by", frame.tokens.map((name, t) => [name, weight(t, s)]));
        gold(data.links.filter((link) => link[0] === s).map((link) => [reference, link[1]]));
      },
      reference: (r, word) => {
        const linked = data.links.filter((link) => link[1] === r);
        gold(linked.map((link) => [source, link[0]]));
        const names = linked.map((link) => data.source[link[0]]).join(", ");
        readout.textContent = data.links.length ? `${word.textContent} belongs to ${names || "no word"}` : "";
      },
    };
    const show = (word) => {
      const line = word.closest("dd");
      clear();
      word.classList.add("lit");
      at[line.className](words(line).indexOf(word), word);
    };
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect();
      const row = Math.floor(((event.clientY - box.top) / box.height) * frame.tokens.length);
      const word = words(target)[row];
      if (word && !word.classList.contains("lit")) show(word);
    });
    part.addEventListener("pointerover", (event) => {
      if (event.target.classList.contains("word")) show(event.target);
    });
    // Of a clicked word the weights stay.
    const rest = () => (part.contains(document.activeElement) ? show(document.activeElement) : clear());
    part.addEventListener("pointerleave", rest);
    part.addEventListener("focusin", (event) => {
      if (event.target.classList.contains("word")) show(event.target);
    });
    part.addEventListener("focusout", clear);
    part.addEventListener("keydown", (event) => {
      const line = event.target.closest("dd");
      if (!line) return;
      const row = words(line);
      const next = ["ArrowUp", "ArrowDown"].includes(event.key) ? null : step(event, row, row.indexOf(event.target));
      if (next === null) return;
      row.forEach((word, n) => { word.tabIndex = n === next ? 0 : -1; });
      row[next].focus();
    });
    const reachable = (line) => words(line).forEach((word, n) => { word.tabIndex = n ? -1 : 0; });
    [source, reference].forEach(reachable);
    return (epoch) => {
      const lit = part.querySelector(".lit");
      const [line, place] = lit ? [lit.closest("dd"), words(lit.closest("dd")).indexOf(lit)] : [null, 0];
      frame = data.frames[epoch];
      weights = shares(frame);
      write(target, frame.tokens);
      const size = frame.tokens.length * data.source.length;
      const own = weights.subarray(chosen() * size, (chosen() + 1) * size);
      paint(canvas, own, frame.tokens.length, data.source.length);
      reachable(target);
      words(target).forEach((word, t) => word.classList.toggle("new",
        epoch > 0 && data.frames[epoch - 1].tokens[t] !== frame.tokens[t]));
      clear();
      if (line && words(line)[place]) show(words(line)[place]);
    };
  };

  const attachSlider = (slider) => {
    const said = JSON.parse(slider.dataset.said);
    const control = slider.querySelector(".control");
    const [input, output, play] = ["input", "output", ".play"].map((name) => control.querySelector(name));
    const parts = [];
    const move = (epoch) => {
      input.value = epoch;
      input.setAttribute("aria-valuetext", said[epoch]);
      output.textContent = said[epoch];
      parts.forEach((part) => part(epoch));
    };
    all(".strips", slider).forEach((part) => parts.push(strips(part)));
    all(".maps", slider).forEach((part) => parts.push(maps(part)));
    all(".sentences", slider).forEach((group) => {
      const choice = group.querySelector(".choice select");
      const chosen = () => (choice ? Number(choice.value) : 0);
      all(".sentence", group).forEach((part) => parts.push(sentence(part, chosen)));
      choice?.addEventListener("change", () => move(Number(input.value)));
    });
    let timer = null;
    const stop = () => {
      clearInterval(timer);
      timer = null;
      play.textContent = "▶";
      play.setAttribute("aria-label", "play the epochs");
    };
    play.addEventListener("click", () => {
      if (timer !== null) return stop();
      play.textContent = "❚❚";
      play.setAttribute("aria-label", "stop");
      if (Number(input.value) === said.length - 1) move(0);
      timer = setInterval(() => {
        if (Number(input.value) < said.length - 1) move(Number(input.value) + 1);
        else stop();
      }, 400);
    });
    input.addEventListener("input", () => {
      if (timer !== null) stop();
      move(Number(input.value));
    });
    move(Number(input.value));
  };

  addEventListener("beforeprint", () => {
    all("details").forEach((each) => { each.open = true; });
  });

  return (root) => {
    all("th button", root).forEach(attachSorting);
    all(".tabs", root).forEach(attachTabs);
    all(".slider", root).forEach(attachSlider);
  };
})();
attach(document);
