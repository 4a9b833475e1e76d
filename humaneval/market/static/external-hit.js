"use strict";
// In place of Mechanical Turk's externalHIT_v1.js, with the functions that HTML written for it calls.

// A parameter of the frame's address as it stands there; `otherwise` where it is missing.
function turkGetParam(name, otherwise) {
  for (const part of location.search.slice(1).split("&")) {
    const [key, ...value] = part.split("=");
    if (key === name) return value.join("=");
  }
  return otherwise;
}

// While this file is read; later no script is the current one.
const turkMarketplace = new URL(document.currentScript.src).origin;

function turkGetSubmitToHost() {
  return decodeURIComponent(turkGetParam("turkSubmitTo", turkMarketplace));
}

// Puts the assignment's id into the form and the marketplace's address behind it; in a preview nothing can be sent.
function turkSetAssignmentID(formName, buttonName) {
  const form = document.getElementById(formName ?? "mturk_form");
  const button = document.getElementById(buttonName ?? "submitButton");
  const assignment = turkGetParam("assignmentId", "");
  const field = document.getElementById("assignmentId");
  if (field) field.value = assignment;
  if (button && assignment === "ASSIGNMENT_ID_NOT_AVAILABLE") {
    const words = "A preview: accept the HIT to send it";
    button.disabled = true;
    button.value = words;
    if (button.tagName === "BUTTON") button.textContent = words;
  }
  if (form) form.setAttribute("action", turkGetSubmitToHost() + "/mturk/externalSubmit");
}
