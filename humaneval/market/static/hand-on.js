"use strict";
// Not its own submit(): a field may have that name and would stand in its place.
HTMLFormElement.prototype.submit.call(document.getElementById("hand-on"));
