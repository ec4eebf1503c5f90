-- Runs a file of tests against the Neovim that runs this: it starts itself anew for each of them.
--
-- target/rigs/nvim/0.12/bin/nvim --clean --headless -l tests/nvim/run.lua FILE [PART OF A TEST'S NAME]
--
-- REVERIE_BUILD is the folder of the server and of the scripted model; target/debug if it is not set.
local file, filter = arg[1], arg[2] or ''
local here = assert(vim.uv.fs_realpath(vim.fs.dirname(assert(debug.getinfo(1, 'S')).source:sub(2))))
local root = vim.fs.dirname(vim.fs.dirname(here))
local build = vim.env.REVERIE_BUILD or (root .. '/target/debug')
package.path = ('%s/?.lua;%s'):format(here, package.path)

local fine, outcome = xpcall(function()
  local places = {
    nvim = vim.v.progpath,
    root = root,
    server = build .. '/reverie',
    model = build .. '/scripted-model',
  }
  for _, name in ipairs({ 'server', 'model' }) do
    assert(vim.uv.fs_stat(places[name]), places[name] .. ' is missing: `cargo xtask nvim` builds it')
  end
  local harness = require('harness')
  dofile(file)
  return harness.run(places, filter)
end, debug.traceback)
if not fine then
  io.stdout:write(outcome, '\n')
end
os.exit(fine and outcome == 0 and 0 or 1)
