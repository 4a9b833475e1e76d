"use strict";
// The page around the frame then asks the marketplace what became of the work.
top.postMessage("submitted", "*");
