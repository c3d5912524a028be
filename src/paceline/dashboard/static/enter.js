// Where reading needs the token: from the address, from before, or typed in.
import { enter, keepToken, takeToken, token } from "./token.js";

const form = document.getElementById("enter");
const said = document.getElementById("said");

async function attempt() {
  if (!token()) return;
  said.textContent = "Asking.";
  if (await enter()) {
    location.reload();
    return;
  }
  said.textContent = "That is not the token of this start of the dashboard. Its terminal has the right one.";
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  keepToken(form.elements.token.value.trim());
  attempt();
});
takeToken();
attempt();
