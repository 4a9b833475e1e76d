"use strict";
document.getElementById("handover").submit();
