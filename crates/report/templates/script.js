// Values under a shared cross-hair, zoom, and hints at tables. The page is complete without it.
(function () {
  "use strict";
  var L = 54, R = 12, T = 22, B = 26, W = 520, H = 240, NS = "http://www.w3.org/2000/svg";
  var STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];
  var groups = {};
  // Three significant digits, as in the tables.
  function three(v) {
    if (v === 0) return "0";
    var decimals = Math.max(0, 2 - Number(v.toExponential(2).split("e")[1]));
    return v.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  }
  function time(ms) { return ms < 0.9995 ? Math.round(ms * 1000) + " µs" : ms < 999.5 ? three(ms) + " ms" : three(ms / 1000) + " s"; }
  function clock(s) { s = Math.floor(s); var m = Math.floor(s / 60); return m + ":" + String(s % 60).padStart(2, "0"); }
  var format = {
    ms: time, clock: clock,
    rate: function (v) { return three(v) + "/s"; },
    cores: function (v) { return three(v) + " cores"; },
    bytes: function (v) { return three(v) + " MiB"; },
    one: three,
    tail: function (v) { var p = 100 * (1 - Math.pow(10, -v)); return Number(p.toFixed(Math.max(0, Math.ceil(v) - 1))) + " % within"; }
  };
  function element(tag, className, parent) {
    var made = document.createElement(tag);
    made.className = className;
    if (parent) parent.appendChild(made);
    return made;
  }
  function drawn(tag, attributes, parent) {
    var made = document.createElementNS(NS, tag);
    Object.keys(attributes).forEach(function (name) { made.setAttribute(name, attributes[name]); });
    parent.appendChild(made);
    return made;
  }
  // Charts with the same x axis are a group: they share what is shown of it, and the cross-hair.
  function groupOf(x) {
    var key = x.join(" "), clockwise = x[2] === "clock";
    if (!groups[key]) groups[key] = { low: +x[0], high: +x[1], from: +x[0], to: +x[1], at: null, least: clockwise ? 4 : 0.2, unit: x[2], charts: [] };
    return groups[key];
  }
  function show(group, from, to) {
    var span = Math.min(Math.max(to - from, group.least), group.high - group.low);
    group.from = Math.min(Math.max(from, group.low), group.high - span);
    group.to = group.from + span;
    group.charts.forEach(function (chart) { chart.zoom(); });
  }
  function point(group, at, speaker) {
    group.at = at;
    group.charts.forEach(function (chart) { chart.point(chart === speaker); });
  }
  function prepare(svg) {
    var x = svg.dataset.x.split(" "), y = svg.dataset.y.split(" "), group = groupOf(x);
    var y0 = +y[0], y1 = +y[1], log = y[3] === "log", wide = group.high - group.low || 1;
    function pixel(v) { return L + (v - group.low) / wide * (W - L - R); }
    function shown(v) { return L + (v - group.from) / (group.to - group.from) * (W - L - R); }
    function inverse(px) { return group.from + (px - L) / (W - L - R) * (group.to - group.from); }
    function value(py) {
      var f = (H - B - py) / (H - T - B);
      return log ? y0 * Math.pow(y1 / y0, f) : y0 + f * (y1 - y0);
    }
    var lines = Array.from(svg.querySelectorAll(".line")).map(function (path) {
      var points = [], re = /[ML]([\d.]+) ([\d.]+)/g, m;
      while ((m = re.exec(path.getAttribute("d")))) points.push([group.low + (m[1] - L) / (W - L - R) * wide, +m[2]]);
      return { name: path.dataset.n, color: getComputedStyle(path).stroke, points: points };
    });
    if (!lines.length) return;
    var stops = [];
    lines.forEach(function (line) { line.points.forEach(function (p) { stops.push(p[0]); }); });
    stops.sort(function (a, b) { return a - b; });
    stops = stops.filter(function (v, i) { return !i || v - stops[i - 1] > wide / 5200; });
    var figure = svg.parentNode, axis = svg.querySelector(".axis"), tip = null, cross = null, range = null, begun = null;
    var labels = Array.from(axis.querySelectorAll(".x, .tick")), phases = Array.from(svg.querySelectorAll(".phase")), marks = Array.from(svg.querySelectorAll("text.mark"));
    var reset = element("button", "reset", svg.parentNode);
    reset.type = "button"; reset.hidden = true;
    reset.addEventListener("click", function () { show(group, group.low, group.high); svg.focus(); });
    svg.setAttribute("tabindex", "0");

    function nearest(v) {
      var best = null;
      stops.forEach(function (stop) {
        var seen = stop >= group.from - 1e-9 && stop <= group.to + 1e-9;
        if (seen && (best === null || Math.abs(stop - v) < Math.abs(best - v))) best = stop;
      });
      return best;
    }
    function ticks() {
      axis.querySelectorAll(".made").forEach(function (made) { made.remove(); });
      var whole = group.to - group.from > wide - 1e-9;
      labels.forEach(function (label) { label.style.display = whole ? "" : "none"; });
      if (whole) return;
      var at = [], texts = [];
      if (group.unit === "clock") {
        var step = STEPS.find(function (s) { return (group.to - group.from) / s <= 7; }) || 86400;
        for (var t = Math.ceil(group.from / step) * step; t <= group.to + 1e-9; t += step) { at.push(t); texts.push(clock(t)); }
      } else {
        labels.filter(function (label) { return label.matches(".x"); }).forEach(function (label) {
          at.push(group.low + (label.getAttribute("x") - L) / (W - L - R) * wide); texts.push(label.textContent);
        });
      }
      at.forEach(function (v, i) {
        if (v < group.from - 1e-9 || v > group.to + 1e-9) return;
        drawn("path", { "class": "made", d: "M" + shown(v) + " " + (H - B) + "v4" }, axis);
        drawn("text", { "class": "made x", x: shown(v), y: H - B + 17 }, axis).textContent = texts[i];
      });
    }
    function zoom() {
      var scale = wide / (group.to - group.from), whole = scale < 1 + 1e-9;
      var move = "matrix(" + scale + " 0 0 1 " + (shown(group.low) - L * scale) + " 0)";
      svg.querySelectorAll(".data > g").forEach(function (data) { data.setAttribute("transform", move); });
      phases.forEach(function (label) {
        var from = Math.max(+label.dataset.from, group.from), to = Math.min(+label.dataset.to, group.to);
        label.style.display = to - from > (group.to - group.from) / 12 ? "" : "none";
        label.setAttribute("x", shown((from + to) / 2));
      });
      marks.forEach(function (label) {
        var at = +label.dataset.at;
        label.style.display = at >= group.from && at <= group.to ? "" : "none";
        label.setAttribute("x", shown(at) + (label.matches(".before") ? -4 : 4));
      });
      reset.hidden = whole;
      reset.textContent = group.unit === "clock" ? clock(group.from) + " to " + clock(group.to) + " · show all" : "show all";
      reset.style.top = svg.getBoundingClientRect().top - figure.getBoundingClientRect().top + 26 + "px";
      ticks();
      point(group, null);
    }
    function hide() { if (tip) { tip.remove(); cross.remove(); tip = cross = null; } }
    function pointAt(speaks) {
      var at = group.at === null ? null : nearest(group.at);
      if (at === null) { hide(); return; }
      if (!tip) {
        tip = element("div", "tip", figure);
        cross = drawn("path", { "class": "cross" }, svg);
      }
      // Screen readers hear the values of the plot that has the focus, and no others.
      if (speaks) tip.setAttribute("role", "status"); else tip.removeAttribute("role");
      cross.setAttribute("d", "M" + shown(at) + " " + T + "V" + (H - B));
      tip.textContent = "";
      element("b", "", tip).textContent = format[x[2]](at);
      lines.forEach(function (line) {
        var p = line.points.find(function (p) { return Math.abs(p[0] - at) <= wide / 5200; });
        if (!p) return;
        var row = element("span", "", tip), name = element("span", "", row);
        name.textContent = line.name; name.style.color = line.color;
        element("span", "", row).textContent = format[y[2]](value(p[1]));
      });
      var box = svg.getBoundingClientRect(), around = figure.getBoundingClientRect();
      var left = shown(at) / W * box.width + box.left - around.left;
      tip.style.top = box.top - around.top + 24 + "px";
      tip.style.left = (left < box.width / 2 ? Math.min(left + 14, around.width - tip.offsetWidth - 2) : Math.max(0, left - 14 - tip.offsetWidth)) + "px";
    }
    function under(event) {
      var box = svg.getBoundingClientRect();
      return Math.min(Math.max((event.clientX - box.left) / box.width * W, L), W - R);
    }
    svg.addEventListener("pointerdown", function (event) {
      if (event.button) return;
      begun = under(event);
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", function (event) {
      var px = under(event);
      point(group, inverse(px));
      if (begun === null) return;
      if (!range && Math.abs(px - begun) > 6) range = drawn("rect", { "class": "range", y: T, height: H - T - B }, svg);
      if (range) { range.setAttribute("x", Math.min(px, begun)); range.setAttribute("width", Math.abs(px - begun)); }
    });
    function end(event) {
      if (range && event.type === "pointerup") {
        var ends = [inverse(begun), inverse(under(event))].sort(function (a, b) { return a - b; });
        show(group, ends[0], ends[1]);
      }
      if (range) range.remove();
      range = begun = null;
    }
    svg.addEventListener("pointerup", end);
    svg.addEventListener("pointercancel", end);
    svg.addEventListener("pointerleave", function () { if (begun === null) point(group, null); });
    svg.addEventListener("blur", function () { point(group, null); });
    svg.addEventListener("dblclick", function () { show(group, group.low, group.high); });
    svg.addEventListener("keydown", function (event) {
      var key = event.key, span = group.to - group.from, way = key === "ArrowLeft" ? -1 : key === "ArrowRight" ? 1 : 0;
      var middle = group.at === null ? (group.from + group.to) / 2 : group.at;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (way && event.shiftKey) {
        show(group, group.from + way * span / 4, group.from + way * span / 4 + span);
      } else if (way) {
        var index = group.at === null ? -1 : stops.indexOf(nearest(group.at));
        var next = index < 0 ? stops.indexOf(nearest(middle)) : index + way;
        if (stops[next] >= group.from - 1e-9 && stops[next] <= group.to + 1e-9) point(group, stops[next], chart);
      } else if (key === "+" || key === "=") {
        show(group, middle - span / 4, middle + span / 4);
      } else if (key === "-") {
        show(group, middle - span, middle + span);
      } else if (key === "0" || key === "Escape") {
        show(group, group.low, group.high);
      } else { return; }
      event.preventDefault();
    });
    var chart = { zoom: zoom, point: pointAt };
    group.charts.push(chart);
  }
  // A table with more columns than are seen says so.
  function hint(box) {
    box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
  }
  document.querySelectorAll(".scroll").forEach(function (box) {
    box.addEventListener("scroll", function () { hint(box); }, { passive: true });
    new ResizeObserver(function () { hint(box); }).observe(box);
  });
  document.querySelectorAll("svg.plot").forEach(prepare);
  var plots = document.querySelector(".plots");
  if (plots && document.querySelector("svg.plot[tabindex]")) {
    var how = element("p", "hint how");
    how.textContent = "Drag over a plot to zoom, double click to show all. With the keyboard: arrows, + and −, 0 to show all.";
    plots.parentNode.insertBefore(how, plots);
  }
})();
