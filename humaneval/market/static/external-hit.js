"use strict";
// Replaces Mechanical Turk's externalHIT_v1.js, with the functions that HTML written for it calls.

// A parameter of the frame's address, not decoded; `otherwise` if it is missing.
function turkGetParam(name, otherwise) {
  for (const part of location.search.slice(1).split("&")) {
    const [key, ...value] = part.split("=");
    if (key === name) return value.join("=");
  }
  return otherwise;
}

// Read now: later there is no current script.
const turkMarketplace = new URL(document.currentScript.src).origin;

function turkGetSubmitToHost() {
  return decodeURIComponent(turkGetParam("turkSubmitTo", turkMarketplace));
}

// Puts the assignment's id and the marketplace's address into the form. A preview cannot be sent.
function turkSetAssignmentID(formName, buttonName) {
  const form = document.getElementById(formName ?? "mturk_form");
  const button = document.getElementById(buttonName ?? "submitButton");
  const assignment = turkGetParam("assignmentId", "");
  const field = document.getElementById("assignmentId");
  if (field) field.value = assignment;
  if (button && assignment === "ASSIGNMENT_ID_NOT_AVAILABLE") {
    const words = "Preview: accept the HIT to submit";
    button.disabled = true;
    button.value = words;
    if (button.tagName === "BUTTON") button.textContent = words;
  }
  if (form) form.setAttribute("action", turkGetSubmitToHost() + "/mturk/externalSubmit");
}
