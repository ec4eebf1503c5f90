-- The pictures of the documentation, `docs/images/nvim-*.svg`: a real Neovim in a real terminal, the real server and
-- the scripted model. `cargo xtask screenshots nvim` runs this and draws what it captured.

local harness = require('harness')

local SOURCE = [[
use std::time::Duration;

/// How long to wait before the next attempt.
pub fn delay(attempt: u32) -> Duration {
    Duration::from_secs(1)
}

pub fn attempts() -> u32 {
    10
}

#[test]
fn the_first_delay_is_short() {
    assert_eq!(delay(0), Duration::from_secs(1));
}
]]

local ANSWER = [[
The delay now doubles with each attempt, up to a minute (`src/retry.rs:4`).

```rust
pub fn delay(attempt: u32) -> Duration {
    Duration::from_secs(1 << attempt.min(6))
}
```

You release on Fridays only, so this can go out **tomorrow**.]]

local MEMORY = [[
---
name: Releases
description: Releases go out on Fridays only
type: project
---

Releases go out on Fridays only.
]]

---@type harness.Options
local OPTIONS = {
  terminal = true,
  width = 110,
  files = { ['src/retry.rs'] = SOURCE },
  memories = { ['releases.md'] = MEMORY, ['MEMORY.md'] = '- [Releases](releases.md) — Fridays only\n' },
  init = 'vim.o.ruler = false',
}

local EDIT = {
  old_string = '    Duration::from_secs(1)\n',
  new_string = '    Duration::from_secs(1 << attempt.min(6))\n',
}

---@param editor harness.Editor
local function ask(editor)
  local path = editor.workspace .. '/src/retry.rs'
  editor.model:reply_tool('Read', { file_path = path })
  editor.model:reply_tool('Edit', vim.tbl_extend('error', { file_path = path }, EDIT))
  editor:open('src/retry.rs')
  editor:keys(':Reverie ask Retries are too slow. Double the delay each time.<CR>')
end

harness.test('nvim-permission', OPTIONS, function(editor)
  ask(editor)
  editor:wait_screen('Duration::from_secs(1 <<')
  editor:picture('nvim-permission')
end)

local EDITING = { settings = { permissions = { defaultMode = 'acceptEdits' } } }

harness.test('nvim-chat', vim.tbl_extend('error', OPTIONS, EDITING), function(editor)
  ask(editor)
  editor.model:reply_text(ANSWER)
  editor:wait_screen('tomorrow')
  editor:picture('nvim-chat')
end)

local STORED = vim.tbl_extend('force', OPTIONS, {
  memories = {
    ['releases.md'] = MEMORY,
    ['no-mocks.md'] = '---\nname: No mocks\ndescription: Tests run against the real store\ntype: feedback\n---\n\nOnly that.\n',
    ['plain-words.md'] = '---\nname: Plain words\ndescription: Prefers short answers\ntype: user\n---\n\nAlways.\n',
    ['backoff.md'] = '---\nname: Retry policy\ndescription: Retries double their delay\ntype: project\n---\n\nSee `src/retry.rs`.\n',
    ['MEMORY.md'] = '- [Releases](releases.md) — Fridays only\n',
  },
})

harness.test('nvim-memory', STORED, function(editor)
  editor:open('src/retry.rs')
  editor:keys(':Reverie memory<CR>')
  editor:wait_screen('Plain words')
  editor:wait_screen('◆ 1 memory')
  editor:picture('nvim-memory')
end)
