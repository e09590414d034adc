/* exported buflensMap */
function buflensMap(root) { root.textContent = ""; }
