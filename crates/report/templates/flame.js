"use strict";
(() => {
  const boxes = [...document.querySelectorAll(".flame > svg")].map((node) => ({
    node,
    left: parseFloat(node.getAttribute("x")),
    width: parseFloat(node.getAttribute("width")),
    top: Number(node.getAttribute("y")),
  }));
  // Percentages are rounded when they are written.
  const slack = 0.001;
  const show = (chosen) => {
    const right = chosen.left + chosen.width;
    for (const box of boxes) {
      const above = box.top < chosen.top && box.left <= chosen.left + slack && box.left + box.width >= right - slack;
      const below = box.top >= chosen.top && box.left >= chosen.left - slack && box.left + box.width <= right + slack;
      box.node.style.display = above || below ? "" : "none";
      box.node.setAttribute("x", above ? "0%" : `${((box.left - chosen.left) / chosen.width) * 100}%`);
      box.node.setAttribute("width", above ? "100%" : `${(box.width / chosen.width) * 100}%`);
    }
  };
  for (const box of boxes) box.node.addEventListener("click", () => show(box));
})();
