--- Where the server's program is, and whether it fits.
local config = require('reverie.config')

local M = {}

M.advice = "Install it (`cargo install --path server/cli` in Reverie's repository) so that it is on the PATH, or set the "
  .. 'option server.path (:help reverie-server).'

---@return string? path
---@return string? problem What keeps us from running it, in words.
function M.find()
  local path = config.get().server.path
  if path == '' then
    local found = vim.fn.exepath('reverie')
    if found == '' then
      return nil, 'the program `reverie` is not on the PATH'
    end
    return found
  end
  path = vim.fs.normalize(path)
  if vim.fn.executable(path) ~= 1 then
    return nil, ('the option server.path names %s, and no program is there that may be run'):format(path)
  end
  return path
end

--- What `reverie --version` says.
---@param path string
---@return string? version
---@return string? problem
function M.version(path)
  local ran, outcome = pcall(function()
    return vim.system({ path, '--version' }, { text = true, timeout = 10000 }):wait()
  end)
  if not ran then
    return nil, ('%s does not run: %s'):format(path, outcome)
  end
  local version = (outcome.stdout or ''):match('^reverie (%S+)')
  if outcome.code ~= 0 or not version then
    return nil, ('%s does not say that it is Reverie'):format(path)
  end
  return version
end

--- Why a server of this version does not fit this plug-in.
---@param version string
---@return string?
function M.misfit(version)
  local theirs, ours = vim.version.parse(version), assert(vim.version.parse(config.version))
  if not theirs then
    return ('the server is of the version %s, which is none'):format(version)
  end
  if theirs.major ~= ours.major or theirs.minor ~= ours.minor then
    return ('the server is of version %s and the plug-in of %s'):format(version, config.version)
  end
end

return M
