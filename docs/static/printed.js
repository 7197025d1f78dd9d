// What an example prints stands in its comments: they look like output.
"use strict";

for (const comment of document.querySelectorAll(".highlight .c1")) {
  if (comment.textContent.startsWith("# ->")) comment.classList.add("printed");
}
