// Shows the values under the pointer. The page is complete without it.
(function () {
  "use strict";
  var L = 54, R = 12, T = 22, B = 26, W = 520, H = 240, NS = "http://www.w3.org/2000/svg";
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
  function prepare(svg) {
    var x = svg.dataset.x.split(" "), y = svg.dataset.y.split(" ");
    var x0 = +x[0], x1 = +x[1], y0 = +y[0], y1 = +y[1], log = y[3] === "log";
    var lines = Array.from(svg.querySelectorAll(".line")).map(function (path) {
      var points = [], re = /[ML]([\d.]+) ([\d.]+)/g, m;
      while ((m = re.exec(path.getAttribute("d")))) points.push([+m[1], +m[2]]);
      return { name: path.dataset.n, color: getComputedStyle(path).stroke, points: points };
    });
    var figure = svg.parentNode, tip = null, cross = null;
    function hide() { if (tip) { tip.remove(); cross.remove(); tip = cross = null; } }
    function value(py) {
      var f = (H - B - py) / (H - T - B);
      return log ? y0 * Math.pow(y1 / y0, f) : y0 + f * (y1 - y0);
    }
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("pointermove", function (event) {
      var box = svg.getBoundingClientRect(), px = (event.clientX - box.left) / box.width * W;
      if (px < L - 4 || px > W - R + 4 || !lines.length) { hide(); return; }
      var at = null;
      lines.forEach(function (line) { line.points.forEach(function (p) { if (at === null || Math.abs(p[0] - px) < Math.abs(at - px)) at = p[0]; }); });
      if (at === null) return;
      if (!tip) {
        tip = document.createElement("div"); tip.className = "tip"; figure.appendChild(tip);
        cross = document.createElementNS(NS, "path"); cross.setAttribute("class", "cross"); svg.appendChild(cross);
      }
      cross.setAttribute("d", "M" + at + " " + T + "V" + (H - B));
      tip.textContent = "";
      var head = document.createElement("b");
      head.textContent = format[x[2]](x0 + (at - L) / (W - L - R) * (x1 - x0));
      tip.appendChild(head);
      lines.forEach(function (line) {
        var p = line.points.find(function (p) { return Math.abs(p[0] - at) < 0.06; });
        if (!p) return;
        var row = document.createElement("span"), name = document.createElement("span"), v = document.createElement("span");
        name.textContent = line.name; name.style.color = line.color; v.textContent = format[y[2]](value(p[1]));
        row.appendChild(name); row.appendChild(v); tip.appendChild(row);
      });
      var around = figure.getBoundingClientRect();
      var left = (at / W) * box.width + box.left - around.left;
      tip.style.top = box.top - around.top + 24 + "px";
      tip.style.left = left < box.width / 2 ? left + 14 + "px" : Math.max(0, left - 14 - tip.offsetWidth) + "px";
    });
  }
  document.querySelectorAll("svg.plot").forEach(prepare);
})();
