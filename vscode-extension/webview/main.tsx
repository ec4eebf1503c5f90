/** Begins: draws the view and asks the host what there is. */

import { render } from "preact";
import { App } from "./app.tsx";
import { connect } from "./view.ts";

const root = document.getElementById("root") ?? document.body;
render(<App />, root);
connect();
