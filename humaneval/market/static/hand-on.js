"use strict";
// Not form.submit(): a field may have that name and would hide the method.
HTMLFormElement.prototype.submit.call(document.getElementById("hand-on"));
